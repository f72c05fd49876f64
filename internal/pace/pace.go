// Package pace decides by the running time of a method where its calls run.
package pace

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Pace is what the running time of a method has been. The zero value is that of a method without calls. It may be used by any
// goroutine.
//
// Calls of a method that is always fast run on the reader itself, which costs
// nothing; of one that takes some microseconds in chunks on workers, so that
// several processors share them; of one that sometimes waits each on a worker of its own.
type Pace struct {
	mean  atomic.Int64 // moving average of the running time, ns
	slow  atomic.Int32 // rises with every slow call, falls with every fast one
	calls atomic.Uint32
}

// Tier says where a call runs.
type Tier uint8

const (
	Inline Tier = iota // on the reader
	Chunk              // on a worker, with others of the same read
	Alone              // on a worker of its own
)

const (
	// Trial is how many calls a method makes on workers before it may run inline.
	Trial = 16
	// inlineMean and ChunkMean bound the average running time, ns.
	inlineMean = 20_000
	ChunkMean  = 50_000
	// meanCap is the longest running time that the average counts, ns: the time of
	// a call that the system interrupted is not the method's.
	meanCap = 100_000
	// slowCall is a running time that counts against a method by itself, ns. Shorter
	// ones may be assists of the garbage collector.
	slowCall = 3_000_000
	// One slow call in slowWeight, over some time, moves a method to workers of its
	// own; it comes back after at most maxSlow fast ones. A busy machine interrupts
	// about one call in a thousand for so long, which must not count.
	slowWeight = 200
	slowLimit  = 3 * slowWeight
	maxSlow    = 8 * slowWeight
)

// Tier chooses the tier for the next call.
func (p *Pace) Tier() Tier {
	mean := p.mean.Load()
	switch {
	case p.slow.Load() >= slowLimit || mean >= ChunkMean:
		return Alone
	case mean >= inlineMean || p.calls.Load() < Trial:
		return Chunk
	default:
		return Inline
	}
}

// Observe takes the running time of one call that stands for weight calls. One of two
// concurrent updates may be lost, which does no harm.
func (p *Pace) Observe(ns int64, weight int32) {
	if p.calls.Load() < Trial {
		p.calls.Add(1)
	}
	mean := p.mean.Load()
	p.mean.Store(mean + (min(ns, meanCap)-mean)/16)
	if ns >= slowCall {
		p.Stalled()
	} else if slow := p.slow.Load(); slow > 0 {
		p.slow.Store(max(slow-weight, 0))
	}
}

// Refused takes the time of one call whose handler did not run. That it was short says nothing of the method; where it was long, what
// comes before the handler takes that time.
func (p *Pace) Refused(ns int64) {
	if mean := p.mean.Load(); ns > mean {
		p.mean.Store(mean + (min(ns, meanCap)-mean)/16)
	}
}

// Stalled notes a call that took long, or held up the goroutine that ran it.
func (p *Pace) Stalled() { p.slow.Store(min(p.slow.Load()+slowWeight, maxSlow)) }

func (p *Pace) String() string {
	return fmt.Sprintf("%d calls, mean %v, slow %d", p.calls.Load(), time.Duration(p.mean.Load()), p.slow.Load())
}
