package session

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/internal/buffer"
	"github.com/weftrpc/weft/internal/pace"
	"github.com/weftrpc/weft/internal/wire"
)

// request takes a whole request that came in one frame, or was put together as m, and decides where it runs. It returns false when it ran
// on this reader and took so long that another one goes on.
func (rd *reader) request(h wire.Header, body []byte, m *assembly) (owner bool, err error) {
	s := rd.s
	s.reading.control.Earn(&h, s.cfg.Limits.MaxMessage, s.cfg.Limits.StreamWindow)
	if rd.beyond(h.ID) {
		return true, nil
	}
	if err := rd.vacant(h.ID); err != nil {
		return true, err
	}
	at, owned, b, memory := rd.at, m != nil, (*Binding)(nil), len(body)
	var pl *queued // of an ordered call
	if owned {
		at, b, memory, pl = m.at, &m.bind, cap(m.buf.B), m.queued
	} else if b, err = s.in.binding(h.Code); err != nil {
		return true, err
	}
	st := s.cfg.resolve(b)
	if st == nil {
		st = s.in.admit(len(body), memory, owned)
	}
	streaming := h.Flags&wire.FlagStream != 0
	if st == nil && !b.Method.Either && b.Method.Streaming != streaming {
		st = &wire.Status{Code: wire.Unimplemented, Reason: wire.ReasonWrongKind, Message: streamMismatch(b.Method)}
	}
	c := rd.newContext(h.Flags)
	payload := body
	if st == nil {
		body, st = rd.fill(c, h, b, body, at)
	}
	if st == nil && !owned && ordered(h) {
		pl, st = s.in.reserve(payload)
	}
	if st != nil {
		copied := *st
		s.turnAway(h.ID, &copied)
		takeUp(s, s.in.sequences.Leave(pl), nil, rd)
		rd.dirty = true
		return true, nil
	}
	if pl != nil {
		// Of these few wait, for one another; the gate is not asked.
		start, err := s.in.enqueue(pl, item{ctx: c, codec: b.Codec, sizer: b.Sizer, meta: len(c.Meta()), flags: h.Flags, spare: m.spare(body)}, body, m)
		takeUp(s, start, nil, rd)
		return true, err
	}
	if !streaming && !owned && !rd.stale && !s.in.backlog.Crowded() && h.Flags&wire.FlagCompressed == 0 && b.Method.onReader() {
		return rd.runInline(c, h, b, body), nil
	}
	if r := b.Method.admit(c); r != nil {
		r.answer(s, h.ID)
		rd.dirty = true
		return true, nil
	}
	if streaming {
		return true, rd.startStream(c, h, b)
	}
	return true, rd.assign(c, h, b, body, m)
}

func streamMismatch(m *Method) string {
	if m.Streaming {
		return m.Name + " is a streaming method and was called as a unary one"
	}
	return m.Name + " is a unary method and was opened as a stream"
}

// fill readies the context of a call and cuts the metadata off its body.
func (rd *reader) fill(c *Context, h wire.Header, b *Binding, body []byte, at int64) ([]byte, *wire.Status) {
	s := rd.s
	c.Session, c.Method, c.id, c.received = s, b.Method, h.ID, at
	if h.Arg != 0 {
		unit := int64(1e3)
		if h.Flags&wire.FlagMillis != 0 {
			unit = 1e6
		}
		c.deadline = at + int64(h.Arg)*unit
	}
	if h.Flags&wire.FlagMeta != 0 {
		pairs, rest, err := wire.SplitMeta(body, s.cfg.Limits.MaxMetadata)
		if errors.Is(err, wire.ErrTooLarge) {
			return nil, &wire.Status{Code: wire.ResourceExhausted, Reason: wire.ReasonMetadataTooLarge, Message: err.Error()}
		}
		if err != nil {
			return nil, &wire.Status{Code: wire.InvalidArgument, Message: err.Error()}
		}
		c.need().meta = string(pairs)
		body = rest
	}
	switch {
	case len(body) > s.cfg.Limits.MaxMessage:
		return nil, s.cfg.Limits.tooLong(wire.TypeRequest)
	case len(body) > 0 && h.Flags&wire.FlagStream != 0:
		return nil, &wire.Status{Code: wire.InvalidArgument, Message: "a request that opens a stream has no body"}
	}
	return body, nil
}

// ShortTime is a time, ns, that the calls of one read may take together, if they are on the reader: one of them that has more left when
// it is read has time when its turn comes, and the clock need not be asked.
const ShortTime = 100_000_000

// runInline runs a call on the reader. It returns false when it stalled and another reader goes on.
func (rd *reader) runInline(c *Context, h wire.Header, b *Binding, body []byte) bool {
	if len(rd.ready) > 0 {
		rd.submit() // they need not wait for this one
	}
	r := &rd.req
	*r = Request{Ctx: c, Codec: b.Codec, Sizer: b.Sizer, Body: body, scratch: r.scratch, reader: rd, oneway: h.Flags&wire.FlagOneway != 0}
	rd.dirty = true
	rd.calling = true
	weight := rd.sampler.Next()
	r.Sampled = weight > 0
	var from int64
	if weight > 0 {
		from = now()
	}
	run := rd.enter()
	if c.deadline != 0 && c.deadline-rd.at < ShortTime {
		r.runQueued() // it may be over since the read
	} else {
		r.run()
	}
	if weight > 0 {
		c.Method.Observe(r.Ended-from, weight, r.refused) // b may belong to another reader by now
	}
	if rd.leave(run) {
		return true
	}
	c.Session.in.outrun()
	return false
}

// exited finishes the call when a handler has ended the reader's goroutine: the
// monitor will find that it does not return, and let another reader go on.
func (rd *reader) exited() {
	// It ends when that has happened.
	go func() {
		rd.taking.Wait()
		rd.s.in.outrun()
	}()
}

// item is a request that waits for a worker.
type item struct {
	ctx      *Context
	codec    codec.Codec
	sizer    codec.Sizer
	from, to int // its body in the job's memory
	meta     int // bytes of its metadata
	flags    wire.Flags
	spare    uint32 // bytes that the buffer of a large message has besides the body
}

// spare is how many bytes the buffer of a message has besides its body; none if m is nil.
func (m *assembly) spare(body []byte) uint32 {
	if m == nil {
		return 0
	}
	return uint32(cap(m.buf.B) - len(body))
}

// job is up to chunkCalls requests for one worker, with memory of its own.
type job struct {
	s     *Session
	items []item
	sole  [1]item        // items, as long as there is one
	mem   []byte         // holds the bodies
	buf   *buffer.Buffer // holds mem; nil when it must not be used again

	run       atomic.Uint64 // the item that runs, for the monitor; see reading.run
	watched   atomic.Bool
	next      int  // the first item that has not begun
	displaced bool // another job has taken its place in the line, and its call is refused
}

// assign hands a call to a worker, together with others that were read with it.
func (rd *reader) assign(c *Context, h wire.Header, b *Binding, body []byte, m *assembly) error {
	s := rd.s
	if err := s.in.put(c); err != nil {
		c.drop()
		return err
	}
	it := item{ctx: c, codec: b.Codec, sizer: b.Sizer, to: len(body), meta: len(c.Meta()), flags: h.Flags, spare: m.spare(body)}
	s.in.hold(int64(it.to+it.meta), int64(it.spare))
	if m != nil {
		j := &job{s: s, mem: body, buf: &buffer.Buffer{}}
		j.add(it)
		s.cfg.Exec.run(work{job: j})
		return nil
	}
	j, alone := rd.job, b.Method.pace.Tier() == pace.Alone
	if alone && j != nil && !j.buf.Fits(len(j.mem)+len(body)) {
		rd.ready, j = append(rd.ready, work{job: j}), nil
	}
	if j == nil {
		n := buffer.Small // any buffer
		if alone {
			n = len(body) // which may be kept for long
		}
		j = &job{s: s, buf: buffer.TakeFor(n)}
		j.mem = j.buf.B[:0]
		rd.job = j
	}
	it.from = len(j.mem)
	j.mem = append(j.mem, body...)
	it.to = len(j.mem)
	j.add(it)
	if alone || len(j.items) == chunkCalls {
		if rd.ready, rd.job = append(rd.ready, work{job: j}), nil; !alone {
			rd.submit()
		}
	}
	return nil
}

// gathered is work that no worker has yet: the job that takes the next call, and what was read before.
type gathered struct {
	job   *job
	ready []work
}

// add appends a request. Most jobs have one, or as many as fit.
func (j *job) add(it item) {
	switch len(j.items) {
	case 0:
		j.items = j.sole[:0]
	case 1:
		j.items = append(make([]item, 0, chunkCalls), j.items...)
	}
	j.items = append(j.items, it)
}

// submit hands what was gathered to workers, but for work all of whose calls were cancelled or have passed their deadline: of these a peer may
// make very many, each of which would cost the start of a worker, which no pause of the reader accounts for.
func (rd *reader) submit() {
	for i, w := range rd.ready {
		if rd.ready[i] = (work{}); w.live(rd) {
			rd.s.cfg.Exec.run(w)
		}
	}
	rd.ready = rd.ready[:0]
	if rd.job != nil {
		rd.s.cfg.Exec.run(work{job: rd.job})
		rd.job = nil
	}
}

// live is that of work.
func (j *job) live(rd *reader) bool {
	if slices.ContainsFunc(j.items, func(it item) bool { return it.ctx.Err() == nil }) {
		return true
	}
	for i := range j.items {
		j.items[i].drop(rd)
	}
	j.buf.B = j.mem
	j.buf.Release()
	return false
}

// drop answers, on the reader, a call that is over.
func (it *item) drop(rd *reader) {
	rd.req = Request{Ctx: it.ctx, scratch: rd.req.scratch, reader: rd, oneway: it.flags&wire.FlagOneway != 0}
	rd.req.runQueued()
	rd.s.in.hold(-int64(it.to-it.from+it.meta), -int64(it.spare))
	rd.s.in.left()
	rd.dirty = true
}

// serve runs the calls of a job one after the other and flushes their replies together. When one of them is held up, the monitor gives the
// rest to another worker. r is the worker's own.
func (j *job) serve(r *Request) {
	s := j.s
	done, size, spare := 0, 0, 0
	began := false
	defer func() { // also when a handler ends its goroutine
		if began {
			s.in.backlog.End()
		}
		r.left()
		size += int(r.restored)
		*r = Request{}
		s.in.served(done, size, spare)
	}()
	for owner := true; owner && j.next < len(j.items); {
		if s.in.backlog.Crowded() {
			began = s.in.begin()
		}
		from := now()
		it := &j.items[j.next]
		j.next++
		run := uint64(j.next)<<1 | 1
		j.run.Store(run)
		if len(j.items) > 1 && !j.watched.Load() {
			s.cfg.Exec.watch.See(j)
		}
		*r = Request{Sampled: true, Started: from, Ctx: it.ctx, Codec: it.codec, Sizer: it.sizer, Body: j.mem[it.from:it.to:it.to], scratch: r.scratch,
			oneway: it.flags&wire.FlagOneway != 0, compressed: it.flags&wire.FlagCompressed != 0}
		done++
		size += it.to - it.from + it.meta
		spare += int(it.spare)
		if j.displaced {
			r.refuse(&s.cfg.Exec.Displaced.status)
		} else if r.expect() {
			if r.first { // it may have waited, which is not the method's time
				from = now()
				r.Started = from
			}
			r.runQueued()
		} else {
			r.refuse(tooMuchMemory())
		}
		r.left()
		if began {
			s.in.backlog.End()
			began = false
		}
		size += int(r.restored)
		r.restored = 0
		took := r.Ended - from
		it.ctx.Method.Observe(took, 1, r.refused)
		owner = j.run.CompareAndSwap(run, 0)
		if owner && took >= longCall && j.next < len(j.items) {
			// The monitor has not looked in that time.
			j.spread(nil)
			break
		}
		if owner && j.next == len(j.items) && j.buf != nil {
			j.buf.B = j.mem
			j.buf.Release()
		}
	}
}

func (j *job) Running() *atomic.Uint64 { return &j.run }

func (j *job) Known() *atomic.Bool { return &j.watched }

// Steal gives the calls behind the one that is held up to other workers: those of a method that waits get one each, or they would be held
// up one after the other. They share the job's memory, which is left to the garbage collector.
func (j *job) Steal() {
	held := j.items[j.next-1].ctx.Method
	held.pace.Stalled()
	j.spread(held)
	j.run.Store(0)
	// The replies before it wait no longer either.
	j.s.cfg.Exec.Go(j.s.w.Flush)
}

// longCall is a running time after which the calls behind in a job, and the reply before them, wait no longer, ns.
const longCall = 1_000_000

// spread gives the calls that have not begun to other workers: those of the method held, and of any that is known to wait, one each.
func (j *job) spread(held *Method) {
	from := j.next
	for i := from; i < len(j.items); i++ {
		if m := j.items[i].ctx.Method; i+1 == len(j.items) || m == held || m.pace.Tier() == pace.Alone {
			j.s.cfg.Exec.run(work{job: &job{s: j.s, items: j.items[from : i+1], mem: j.mem}})
			from = i + 1
		}
	}
}

// runQueued runs a call that has waited, unless it was cancelled or its deadline passed meanwhile.
func (r *Request) runQueued() {
	c := r.Ctx
	if err := c.Err(); err != nil {
		st := &wire.Status{Code: wire.Canceled, Outcome: wire.Refused, Message: "canceled before the handler ran"}
		if c.state.Load() == expired {
			st.Code, st.Message = wire.DeadlineExceeded, "deadline exceeded before the handler ran"
		}
		r.refuse(st)
		return
	}
	r.run()
}

// refuse answers a call whose handler will not run.
func (r *Request) refuse(st *wire.Status) {
	r.Ctx.drop()
	r.Ctx.Session.refused(st)
	r.Fail(st)
}
