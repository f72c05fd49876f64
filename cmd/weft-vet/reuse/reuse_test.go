package reuse_test

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/weftrpc/weft/cmd/weft-vet/reuse"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestAnalyzer looks at sources that say in comments what is to be found.
func TestAnalyzer(t *testing.T) {
	t.Setenv("GOWORK", "off")
	analysistest.Run(t, analysistest.TestData(), reuse.New(), "a", "b", "c", "variables", "sharing", "goroutines", "keepers", "replies", "removal", "helpers")
}
