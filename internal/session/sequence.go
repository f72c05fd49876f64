package session

import (
	"sync/atomic"

	"github.com/weftrpc/weft/internal/buffer"
	"github.com/weftrpc/weft/internal/serial"
	"github.com/weftrpc/weft/internal/stall"
	"github.com/weftrpc/weft/internal/wire"
)

// A one-way call may have an order: those of the same order run one after the other, as
// their requests began. Each order has a queue, and while its first call can run, a worker.
type (
	sequences = serial.Keys[turn]
	sequence  = serial.Queue[turn]
	queued    = serial.Place[turn]
)

// turn is a whole request with an order.
type turn struct {
	item item
	buf  *buffer.Buffer // holds the body
}

// ordered reports whether a request may have an order.
func ordered(h wire.Header) bool {
	const both = wire.FlagOneway | wire.FlagMeta
	return h.Flags&(both|wire.FlagStream) == both
}

// reserve takes a place for the call whose first frame has this payload. It returns nil and no
// status for a call that has no order.
func (in *incoming) reserve(payload []byte) (*queued, *wire.Status) {
	order, ok := wire.Order(payload)
	if !ok {
		return nil, nil
	}
	p := in.sequences.Reserve(order, in.limits.MaxOrdered)
	if p == nil {
		return nil, &wire.Status{Code: wire.ResourceExhausted, Reason: wire.ReasonTooManyCalls,
			Message: "as many one-way calls of this order wait as may (Limits.MaxOrdered of the peer); try again later"}
	}
	return p, nil
}

// enqueue hands a whole request to its order, and returns that if no worker has it. One that was put together as m may be kept.
func (in *incoming) enqueue(p *queued, it item, body []byte, m *assembly) (start *sequence, err error) {
	if err := in.put(it.ctx); err != nil {
		return nil, err
	}
	it.to = len(body)
	buf := &buffer.Buffer{B: body}
	if m == nil {
		buf = buffer.TakeFor(len(body)).Extend(body)
	}
	in.hold(int64(it.to+it.meta), int64(it.spare))
	start, ok := in.sequences.Fill(p, turn{item: it, buf: buf})
	if !ok {
		// The session has ended.
		in.hold(-int64(it.to+it.meta), -int64(it.spare))
		in.left()
	}
	return start, nil
}

// takeUp has a worker run the calls of an order behind after, as far as any can run. The reader, if there is one, submits them with the
// others that it reads. A nil sequence is ignored.
func takeUp(s *Session, q *sequence, after *queued, rd *reader) {
	if q == nil {
		return
	}
	p := s.in.sequences.Next(q, after)
	switch w := (work{series: &series{s: s, q: q, p: p}}); {
	case p == nil:
	case rd == nil:
		s.cfg.Exec.run(w)
	default:
		rd.ready = append(rd.ready, w)
	}
}

// series is the work of one worker on a sequence.
type series struct {
	s *Session
	q *sequence
	p *queued // the call with which it begins

	run               atomic.Uint64 // the call that runs, for the monitor; see reading.run
	last              uint64
	watched           atomic.Bool
	done, size, spare int // what served is told of the calls that were answered since replies were flushed last
}

// flushEvery is how many calls of a sequence share a flush of their replies.
const flushEvery = 16

// live is that of work.
func (x *series) live(rd *reader) bool {
	for x.p != nil && x.p.Value().item.ctx.Err() != nil {
		t := x.p.Value()
		t.item.drop(rd)
		t.buf.Release()
		x.p = x.s.in.sequences.Next(x.q, x.p)
	}
	return x.p != nil
}

// serve runs calls until none can run. r is the worker's own.
func (x *series) serve(r *Request) {
	s, calls := x.s, &x.s.in.sequences
	p := x.p
	defer func() {
		if p != nil {
			// The handler has ended its goroutine: another worker goes on.
			x.run.Store(0)
			x.size += int(r.restored)
			x.flush()
			takeUp(s, x.q, p, nil)
		}
		*r = Request{}
	}()
	for ; p != nil; p = calls.Next(x.q, p) {
		if s.in.backlog.Crowded() {
			s.w.AwaitRoom() // one call of an order runs at a time, and has no reply to be held
		}
		if x.serveOne(r, p.Value()) >= longCall || x.done >= flushEvery {
			x.flush()
		}
	}
	x.flush()
}

// serveOne runs one call and returns how long it took.
func (x *series) serveOne(r *Request, t *turn) (took int64) {
	from := now()
	x.last += 2
	run := x.last | 1
	x.run.Store(run)
	if x.done > 0 && !x.watched.Load() {
		x.s.cfg.Exec.watch.See(x)
	}
	it := &t.item
	*r = Request{Sampled: true, Ctx: it.ctx, Codec: it.codec, Sizer: it.sizer, Body: t.buf.B, scratch: r.scratch,
		oneway: true, compressed: it.flags&wire.FlagCompressed != 0}
	x.done++
	x.size += it.to + it.meta
	x.spare += int(it.spare)
	r.runQueued()
	x.run.CompareAndSwap(run, 0)
	x.size += int(r.restored)
	r.restored = 0
	took = r.Ended - from
	it.ctx.Method.Observe(took, 1, r.refused)
	t.buf.Release()
	return took
}

// flush writes the replies of the calls that were answered, and counts them.
func (x *series) flush() {
	if x.done > 0 {
		x.s.in.served(x.done, x.size, x.spare)
		x.done, x.size, x.spare = 0, 0, 0
	}
}

// The monitor has the replies written that wait behind a call which takes long.
func (x *series) Running() *atomic.Uint64 { return &x.run }

func (x *series) Known() *atomic.Bool { return &x.watched }

func (x *series) Steal() {
	x.run.CompareAndSwap(stall.Handing, 0)
	x.s.cfg.Exec.Go(x.s.w.Flush)
}
