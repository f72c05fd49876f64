package calm_test

import (
	"testing"

	"github.com/weftrpc/weft/door/internal/http2/internal/calm"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestCalm sends as many frames as may come, some more for which frames of requests pay, and one too many.
func TestCalm(t *testing.T) {
	var k calm.Calm
	for n := range calm.Burst {
		if !k.Spend() {
			t.Fatalf("frame %d may not come", n)
		}
	}
	k.Earn()
	for _, want := range []bool{true, true, false} {
		if got := k.Spend(); got != want {
			t.Errorf("a frame may come: %v, want %v", got, want)
		}
	}
}
