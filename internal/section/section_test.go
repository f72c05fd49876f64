package section

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// The text takes the place of what stood between the marks, and nothing else changes.
func TestReplace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "doc.md")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a <!-- other:begin -->kept<!-- other:end --> b <!-- figures:begin -->old<!-- figures:end --> c")
	for range 2 { // the second time like the first
		if err := Replace(file, "figures", "new\n"); err != nil {
			t.Fatal(err)
		}
		want := "a <!-- other:begin -->kept<!-- other:end --> b <!-- figures:begin -->\nnew\n<!-- figures:end --> c"
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			t.Fatalf("%q, %v", text, err)
		}
	}
	for _, text := range []string{"", "<!-- figures:begin -->", "<!-- figures:end --><!-- figures:begin -->"} {
		write(text)
		if err := Replace(file, "figures", "new"); err == nil || !strings.Contains(err.Error(), "<!-- figures:begin -->") {
			t.Errorf("%q: %v", text, err)
		}
		if now, err := os.ReadFile(file); err != nil || string(now) != text {
			t.Errorf("%q was changed to %q, %v", text, now, err)
		}
	}
	if err := Replace(filepath.Join(t.TempDir(), "none"), "figures", ""); !os.IsNotExist(err) {
		t.Errorf("without a file: %v", err)
	}
}
