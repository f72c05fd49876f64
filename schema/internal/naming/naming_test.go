package naming_test

import (
	"testing"

	"github.com/weftrpc/weft/schema/internal/naming"
)

func TestNames(t *testing.T) {
	for name, want := range map[string]string{"": "_", "a": "a", "9a": "_9a", "Ärger": "_rger", "a-b": "a_b", "a.b": "a_b", "Page[int]": "Page_int_"} {
		if got := naming.Identifier(name); got != want || naming.IsIdentifier(name) != (name == want) {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	if got := naming.Identifiers("shop.v-1..x"); got != "shop.v_1._.x" {
		t.Errorf("%q", got)
	}
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{"\n a \r\nb\t\n": " a\nb", "a\u2028b\x00c": "a\nb c", "": "", "\x1b[31m": " [31m"} {
		if got := naming.Clean(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
