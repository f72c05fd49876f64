package session

import (
	"sync/atomic"

	"github.com/weftrpc/weft/codec"
)

// Method is one method that this side serves. It is shared by all sessions.
type Method struct {
	Name      string
	Streaming bool
	// Serve runs a call: it decodes, calls the handler and answers r, exactly once.
	Serve func(r *Request)
	// Data belongs to whoever made the method.
	Data any

	gone atomic.Bool // no longer registered
	pace pace
}

// Remove marks a method as no longer registered: calls on bindings made before
// are resolved anew.
func (m *Method) Remove() { m.gone.Store(true) }

// Binding is a method and the codec that a caller wants to use with it.
type Binding struct {
	Method *Method
	Codec  codec.Codec
	Sizer  codec.Sizer // Codec, if it is one

	codec, name string // as bound, to resolve anew
	known       bool   // the rest is filled in
}

// pace is what a method's running time has been, and so where its calls run.
//
// Calls of a method that is always fast run on the reader itself, which costs
// nothing; of one that takes some microseconds in chunks on workers, so that
// several processors share them; of one that sometimes waits each on a worker of its own.
type pace struct {
	mean  atomic.Int64 // moving average of the running time, ns
	slow  atomic.Int32 // rises with every slow call, falls with every fast one
	calls atomic.Uint32
}

// tier says where a call runs.
type tier uint8

const (
	inline tier = iota // on the reader
	chunk              // on a worker, with others of the same read
	alone              // on a worker of its own
)

const (
	// trial is how many calls a method makes on workers before it may run inline.
	trial = 16
	// inlineMean and chunkMean bound the average running time, ns.
	inlineMean = 10_000
	chunkMean  = 50_000
	// slowCall is a running time that counts against a method, ns.
	slowCall = 100_000
	// One slow call in slowWeight moves a method to workers of its own; it comes
	// back after maxSlow fast ones.
	slowWeight = 400
	slowLimit  = 3 * slowWeight
	maxSlow    = 8 * slowWeight
)

// tier chooses the tier for the next call.
func (p *pace) tier() tier {
	mean := p.mean.Load()
	switch {
	case p.slow.Load() >= slowLimit || mean >= chunkMean:
		return alone
	case mean >= inlineMean || p.calls.Load() < trial:
		return chunk
	default:
		return inline
	}
}

// observe takes the running time of one call. Two at once may lose one another's
// update, which does no harm.
func (p *pace) observe(ns int64) {
	if p.calls.Load() < trial {
		p.calls.Add(1)
	}
	mean := p.mean.Load()
	p.mean.Store(mean + (min(ns, 1_000_000)-mean)/16)
	slow := p.slow.Load()
	switch {
	case ns >= slowCall:
		p.slow.Store(min(slow+slowWeight, maxSlow))
	case slow > 0:
		p.slow.Store(slow - 1)
	}
}

// stalled notes that a call held up the reader: no more of them there for a while.
func (p *pace) stalled() { p.slow.Store(maxSlow) }
