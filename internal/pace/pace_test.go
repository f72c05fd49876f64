package pace

import (
	"testing"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// observe notes n calls that each take so many nanoseconds.
func observe(p *Pace, n int, ns int64) {
	for range n {
		p.Observe(ns, 1)
	}
}

// refuse notes n calls that are refused and each take so many nanoseconds.
func refuse(p *Pace, n int, ns int64) {
	for range n {
		p.Refused(ns)
	}
}

// A method runs inline when it has been fast for a while, in chunks until then and while it takes some time, alone when it
// takes long, or does so about once in slowWeight calls.
func TestTier(t *testing.T) {
	for _, c := range []struct {
		name  string
		calls func(p *Pace)
		want  Tier
	}{
		{"new", func(*Pace) {}, Chunk},
		{"in its trial", func(p *Pace) { observe(p, Trial-1, 100) }, Chunk},
		{"fast", func(p *Pace) { observe(p, Trial, 100) }, Inline},
		{"not so fast", func(p *Pace) { observe(p, 100, inlineMean+ChunkMean/4) }, Chunk},
		{"long", func(p *Pace) { observe(p, 100, ChunkMean*2) }, Alone},
		{"interrupted once", func(p *Pace) { observe(p, Trial, 100); observe(p, 1, 10*slowCall) }, Inline},
		{"interrupted now and then", func(p *Pace) {
			for range 20 {
				observe(p, 5*slowWeight, 100)
				observe(p, 1, slowCall)
			}
			observe(p, 100, 100)
		}, Inline},
		{"slow now and then", func(p *Pace) {
			for range 20 {
				observe(p, slowWeight/4, 100)
				observe(p, 1, slowCall)
			}
			observe(p, 100, 100)
		}, Alone},
		{"held up three times", func(p *Pace) { observe(p, Trial, 100); p.Stalled(); p.Stalled(); p.Stalled() }, Alone},
		{"fast again", func(p *Pace) {
			for range 1000 {
				p.Stalled()
			}
			observe(p, maxSlow, 100)
		}, Inline},
		{"long, and refuses calls at once", func(p *Pace) { observe(p, 100, meanCap); refuse(p, 10*maxSlow, 100) }, Alone},
		{"slow, and refuses calls at once", func(p *Pace) {
			observe(p, Trial, 100)
			for range 8 {
				p.Stalled()
			}
			refuse(p, 10*maxSlow, 100)
		}, Alone},
		{"new, and refuses calls at once", func(p *Pace) { refuse(p, 10*Trial, 100) }, Chunk},
		{"new, and refuses calls after some time", func(p *Pace) { refuse(p, Trial, slowCall) }, Alone},
		{"fast, and interrupted as it refuses a call", func(p *Pace) { observe(p, Trial, 100); refuse(p, 1, 10*slowCall) }, Inline},
	} {
		var p Pace
		c.calls(&p)
		if got := p.Tier(); got != c.want {
			t.Errorf("a method that is %s runs in tier %d, want %d (%v)", c.name, got, c.want, &p)
		}
	}
}
