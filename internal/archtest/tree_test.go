package archtest

import (
	"os"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestRepository holds the repository to every rule.
func TestRepository(t *testing.T) {
	tree, err := Load(os.DirFS("../.."), Allowed())
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.packages) < 4 || len(tree.modules) == 0 {
		t.Fatalf("%d packages in %d modules: this is not the repository", len(tree.packages), len(tree.modules))
	}
	for _, rule := range Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			for _, f := range rule.Check(tree) {
				t.Error(f)
			}
		})
	}
	t.Run("exceptions", func(t *testing.T) {
		for _, f := range tree.Stale() {
			t.Error(f)
		}
	})
}
