package doorcontext

import (
	"testing"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/session"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestNextLocked takes contexts of every kind: each is a new one and has what it was made with.
func TestNextLocked(t *testing.T) {
	var c Contexts
	m := &session.Method{Name: "Test.Any"}
	seen := make(map[*session.Context]bool)
	for range 2 * most {
		for _, tt := range []struct {
			alone bool
			pairs string
		}{{false, ""}, {false, "pairs"}, {true, ""}, {true, "pairs"}} {
			ctx := c.NextLocked(tt.alone, 1000, t, m, tt.pairs, 5, 0)
			if seen[ctx] {
				t.Fatalf("%+v: a context was given out twice", tt)
			}
			seen[ctx] = true
			if ctx.Owner() != t || ctx.Method != m || ctx.Meta() != tt.pairs || ctx.Received() != 5 || ctx.Err() != nil {
				t.Fatalf("%+v: owner %v, method %v, metadata %q, received at %d, %v", tt, ctx.Owner(), ctx.Method, ctx.Meta(), ctx.Received(), ctx.Err())
			}
		}
	}
}

// TestFewAtOnce takes plain contexts: one allocation makes as many as were asked for, and never more than most.
func TestFewAtOnce(t *testing.T) {
	m := &session.Method{Name: "Test.Any"}
	for _, tt := range []struct{ atOnce, want int }{{Few, Few}, {1000, most}} {
		var c Contexts
		next := func() { c.NextLocked(false, tt.atOnce, t, m, "", 5, 0) }
		for range 2 * most {
			next() // the slab grows
		}
		if n := testing.AllocsPerRun(100, func() {
			for range tt.want {
				next()
			}
		}); n != 1 {
			t.Errorf("%d contexts, %d at once, take %v allocations, want one", tt.want, tt.atOnce, n)
		}
	}
}
