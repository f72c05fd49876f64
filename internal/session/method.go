package session

import (
	"sync/atomic"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/internal/backlog"
	"github.com/weftrpc/weft/internal/wire"
)

// Method is one method that this side serves. It is shared by all sessions.
type Method struct {
	Name      string
	Streaming bool
	// Either lets both unary calls and streams through to Serve, which refuses those
	// that do not fit: a caller that was not authenticated must not learn which do.
	Either bool
	// Serve runs a call: it decodes, calls the handler and answers r, exactly once.
	Serve func(r *Request)
	// Gate decides which calls are taken; nil: all are.
	Gate Gate
	// Apart has no call run on a reader, so that the gate is asked about each.
	Apart bool
	// Data belongs to the creator of the method.
	Data any

	gone  atomic.Bool // no longer registered
	pace  pace
	reply atomic.Int64 // about how long its replies are that workers make apart from the writer's buffer
	first backlog.First
}

// replied notes the length of a reply that a worker has made apart from the writer's buffer. A method whose replies
// differ in length counts with the long ones.
func (m *Method) replied(n int) {
	switch was := m.reply.Load(); {
	case int64(n) > was:
		m.reply.Store(int64(n))
	case int64(n) < was/2:
		m.reply.Store(was - was/16)
	}
}

// repliedFew notes a reply that was not made apart: of a method whose replies were long, which it may be no more.
func (m *Method) repliedFew() {
	if was := m.reply.Load(); was > wire.MaxPayload {
		m.reply.Store(was - was/16)
	}
}

// expects is about how many bytes of replies a call will hold; 0: few.
func (m *Method) expects() int64 {
	if n := m.reply.Load(); n > wire.MaxPayload {
		return n
	}
	return 0
}

// Remove marks a method as no longer registered: calls on bindings made before
// are resolved anew.
func (m *Method) Remove() { m.gone.Store(true) }

// Removed reports whether Remove was called.
func (m *Method) Removed() bool { return m.gone.Load() }

// Binding is a method and the codec that a caller wants to use with it.
type Binding struct {
	Method *Method
	Codec  codec.Codec
	Sizer  codec.Sizer // Codec, if it is one

	codec, name string // as bound, to resolve anew
	known       bool   // the rest is filled in
}

// onReader tells whether the next call runs on the reader.
func (m *Method) onReader() bool { return !m.Apart && m.pace.tier() == inline }

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
	inlineMean = 20_000
	chunkMean  = 50_000
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

// observe takes the running time of one call that stands for weight calls. One of two
// concurrent updates may be lost, which does no harm.
func (p *pace) observe(ns int64, weight int32) {
	if p.calls.Load() < trial {
		p.calls.Add(1)
	}
	mean := p.mean.Load()
	p.mean.Store(mean + (min(ns, meanCap)-mean)/16)
	if ns >= slowCall {
		p.stalled()
	} else if slow := p.slow.Load(); slow > 0 {
		p.slow.Store(max(slow-weight, 0))
	}
}

// stalled notes a call that took long, or held up the goroutine that ran it.
func (p *pace) stalled() { p.slow.Store(min(p.slow.Load()+slowWeight, maxSlow)) }
