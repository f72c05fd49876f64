package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/weftrpc/weft/internal/budget"
	"github.com/weftrpc/weft/internal/greeting"
	"github.com/weftrpc/weft/internal/inbuf"
	"github.com/weftrpc/weft/internal/pace"
	"github.com/weftrpc/weft/internal/slab"
	"github.com/weftrpc/weft/internal/stall"
	"github.com/weftrpc/weft/internal/wire"
)

// reading is what the successive readers of a session share. Its fields belong to the current reader, except run.
type reading struct {
	// run says that the reader runs something that could stall: an odd number, never the same one twice. The reader changes it back to zero
	// and goes on, or the monitor does and a new reader goes on.
	run     atomic.Uint64
	last    uint64
	current *reader // the reader that runs; written before run is
	parts   assemblies
	control budget.Budget
	watched atomic.Bool // the monitor knows the session
	bytes   atomic.Uint64
	verdict atomic.Pointer[wire.Status] // the reader is to refuse the peer for it; nil: it is not

	gone, ended func() // of Run
	told        atomic.Bool
}

const (
	// chunkCalls is how many calls of one read go to a worker together.
	chunkCalls = 16
	// slabContexts is how many contexts are allocated at once at most, and leastContexts how many at first.
	leastContexts, slabContexts = 4, 64
	// freeTogether is how many slots are given back under one lock.
	freeTogether = 32
	// scarce is how many slots must be left for them to be given back together. It is more than freeTogether plus the error of Load.
	scarce = 128
)

// reader reads frames into a buffer and handles them in place. While it runs a handler the monitor may take the rest of its work away; then
// a new reader goes on and this one only finishes its handler.
type reader struct {
	s  *Session
	in inbuf.Buffer
	at int64 // when the last read returned

	freed    []uint32  // calls of this side that have ended in this batch
	few      [4]uint32 // what holds them as long as they are few
	gathered           // calls of this batch that go to workers
	dirty    bool      // there is something to flush
	stale    bool      // what is in the buffer has waited behind a stalled call
	early    bool      // the peer's hello has not come

	req     Request
	calling bool // what runs is a handler, not a write
	slab    slab.Slab[Context]
	sampler pace.Sampler
	frames  uint32 // handled so far
	ended   uint32 // of these, ends of calls of this side
	open    int    // calls of this side that were open after the last of them
	lone    int    // how many batches in a row were the end of the only open call
	share   share

	stolen atomic.Bool    // the monitor has taken everything over
	taking sync.WaitGroup // until then
}

// newReader returns a reader that begins with buf[r:w]. It takes the memory over.
func newReader(s *Session, buf []byte, r, w int) *reader {
	rd := &reader{s: s, in: inbuf.New(buf, r, w)}
	rd.freed = rd.few[:0]
	rd.taking.Add(1)
	return rd
}

// run reads until the session has ended, unless another reader goes on, and calls ended when it has.
func (rd *reader) run() {
	rd.finish(rd.loop())
}

// runEarly is run for a session of Open, whose hello may not have left yet.
func (rd *reader) runEarly() {
	rd.s.w.Flush()
	rd.run()
}

// finish calls ended when the session has ended, unless another reader goes on. unused means that no other goroutine uses the reader.
func (rd *reader) finish(unused bool) {
	if rd.stolen.Load() {
		return
	}
	<-rd.s.closed
	rg := &rd.s.reading
	if unused {
		rd.share.End(&rd.s.cfg.Exec.pauses)
		rd.req.Body = nil
		rd.in.Release()
		rg.parts.open = nil // handlers that still run keep the session
		rg.run.CompareAndSwap(0, stall.Over)
	}
	// A caller that reads at the gate may still be held up in a write: then the monitor lets another reader go on, which finds the end as
	// well.
	if rg.told.CompareAndSwap(false, true) && rg.ended != nil {
		rg.ended()
	}
}

// loop reads until the session ends or the monitor lets another reader go on. It returns false when a caller may still be reading.
func (rd *reader) loop() (unused bool) {
	if rd.at == 0 {
		rd.at = now()
	}
	// First come the bytes that a former reader left or the handshake read ahead.
	for rd.work() {
		if rd.lone >= loneReplies && rd.s.cfg.Resolve == nil && !rd.stepAside() {
			return false
		}
		if !rd.read() {
			return true
		}
	}
	return true
}

// work handles what is in the buffer. It returns false when the session has ended or another reader goes on.
func (rd *reader) work() bool {
	if rd.early {
		if known, ok := rd.greet(); !known {
			return ok
		}
	}
	frames, ended := rd.frames, rd.ended
	owner, err := rd.handle()
	if !owner {
		return false
	}
	if err != nil {
		rd.s.refuse(protocol(err))
		rd.submit() // what was taken before must end as all else does
		return false
	}
	if !rd.endBatch() {
		return false
	}
	if rd.ended != ended && len(rd.s.reading.parts.open) > 0 {
		// There is more of a large message to read, perhaps for long: the callers woken meanwhile run first.
		runtime.Gosched()
	}
	if rd.frames-frames == 1 && rd.ended-ended == 1 && rd.open == 0 {
		rd.lone++
	} else if rd.frames != frames {
		rd.lone = 0
	}
	return true
}

// read reads once into the buffer. It returns false when the session has ended.
func (rd *reader) read() bool {
	s := rd.s
	rd.req.Body = nil // of a call that has ended: it may point into memory that was given back
	rd.share.before(rd)
	n, err := s.socket.Read(rd.in.Room())
	poked := n == 0 && err != nil && interrupted(s.conn, err)
	if poked {
		s.reading.parts.dropLapsed()
	}
	if st := s.reading.verdict.Load(); st != nil {
		s.refuse(st)
		return false
	}
	if n > 0 {
		rd.in.Came(n)
		s.reading.bytes.Add(uint64(n))
		rd.stale = false
		rd.at = now()
		s.alive.Read(rd.at)
		rd.share.after(rd, n)
		return true
	}
	if err != nil && !poked {
		if s.failed.Load() == nil { // else the reason is known
			s.failAfterRead(s.lost(err))
		}
		return false
	}
	return true
}

// lost turns the end of reading into a status.
func (s *Session) lost(err error) *wire.Status {
	if !s.Met() {
		return greeting.Status(err, s.cfg.Limits.HandshakeTimeout)
	}
	if errors.Is(err, io.EOF) {
		if s.drain.Expected() {
			return &wire.Status{Code: wire.Unavailable, Reason: wire.ReasonDraining, Message: "connection closed after a drain"}
		}
		return &wire.Status{Code: wire.Unavailable, Message: "connection closed by the peer"}
	}
	return unavailable("read: " + err.Error())
}

// handle handles every whole frame in the buffer. It returns false when the monitor has let another reader go on.
func (rd *reader) handle() (owner bool, err error) {
	s := rd.s
	filled := len(rd.in.Unread())
	for {
		b := rd.in.Unread()
		if len(b) < wire.HeaderSize {
			break
		}
		h := wire.ParseHeader(b)
		if err := h.Check(); err != nil {
			return true, err
		}
		n := wire.HeaderSize + int(h.Length)
		whole := n
		if s.sum {
			whole += wire.ChecksumSize
		}
		if len(b) < whole {
			break
		}
		if s.sum && !wire.ChecksumOK(b[:n], b[n:whole]) {
			return true, &breach{wire.DataLoss, fmt.Sprintf("checksum of a frame of type %d is wrong", h.Type)}
		}
		rd.in.Skip(whole)
		rd.frames++
		if owner, err := rd.frame(h, b[wire.HeaderSize:n:n]); !owner || err != nil {
			return owner, err
		}
		if len(rd.ready) >= yieldEvery {
			rd.submit()
		}
		if rd.frames%yieldEvery == 0 && !rd.share.between(rd) {
			return false, nil
		}
	}
	s.in.account.Add(int64(rd.in.Fit(filled, len(s.reading.parts.open) > 0)))
	return true, nil
}

// frame handles one frame. The payload is valid until frame returns.
func (rd *reader) frame(h wire.Header, payload []byte) (owner bool, err error) {
	s := rd.s
	switch h.Type {
	case wire.TypeRequest:
		h.Flags &^= wire.FlagAnswer // it means nothing here
		if h.Flags&wire.FlagMore != 0 {
			return true, rd.begin(h, payload)
		}
		return rd.request(h, payload, nil)
	case wire.TypeReply, wire.TypeError, wire.TypeData:
		if h.Flags&wire.FlagMore != 0 {
			return true, rd.begin(h, payload)
		}
		if err := rd.interrupt(h); err != nil {
			return true, err
		}
		return true, rd.message(h, payload, false)
	case wire.TypeChunk:
		return rd.chunk(h, payload)
	case wire.TypeBind:
		again, err := s.in.bind(int(h.Code), payload)
		if again {
			err = charged(s.reading.control.Skip(rd.at))
		}
		return true, err
	case wire.TypeCredit:
		return true, rd.credit(h)
	case wire.TypeCancel:
		return true, rd.cancel(h)
	case wire.TypePing:
		return true, rd.ping(h, payload)
	case wire.TypeGoAway:
		return true, rd.goAway(h, payload)
	case wire.TypeHello:
		return true, errors.New("a second hello")
	}
	// Ignorable: Check has let nothing else pass.
	return true, charged(s.reading.control.Spend(rd.at))
}

// message handles a whole REPLY, ERROR or DATA. owned says that the body may be kept.
func (rd *reader) message(h wire.Header, body []byte, owned bool) error {
	s := rd.s
	answer := h.Flags&wire.FlagAnswer != 0
	if h.Type == wire.TypeData {
		return rd.data(h, body, owned)
	}
	if !answer {
		return fmt.Errorf("frame of type %d for a call of its own sender", h.Type)
	}
	sl := s.out.Slot(wire.Slot(h.ID))
	if sl == nil {
		return fmt.Errorf("answer to call %#x, which was never made", h.ID)
	}
	c := sl.Call.Swap(nil)
	if c == nil {
		// The caller has given the call up, or there is none.
		var open bool
		if c, open = s.out.givenUp(h.ID, sl); c == nil && !open {
			return fmt.Errorf("answer to call %#x, which is not open", h.ID)
		}
	}
	if c != nil && !sl.Holds(h.ID) {
		err := fmt.Errorf("answer to call %#x, its slot holds %#x", h.ID, c.id)
		c.Status = unavailable("the peer answered the wrong call")
		s.out.complete(c)
		return err
	}
	rd.freed = append(rd.freed, h.ID)
	rd.ended++
	if c == nil {
		return nil // its caller has given up
	}
	if len(rd.in.Unread()) == 0 || len(rd.freed) == freeTogether || s.Load()+scarce >= int(s.peer.takes().MaxCalls) {
		// The last one, or slots are scarce: its caller may call again at once, and should find itself alone, or find a slot.
		if err := rd.free(); err != nil {
			c.Status = unavailable(err.Error())
			s.out.complete(c)
			return err
		}
	}
	s.out.reply(c, h, body, owned, rd.at)
	return nil
}

// free gives the slots of ended calls back.
func (rd *reader) free() (err error) {
	if len(rd.freed) > 0 {
		rd.open, err = rd.s.out.free(rd.freed)
		rd.freed = rd.freed[:0]
	}
	return err
}

// endBatch hands over the jobs of the batch and flushes the frames that it appended. It returns false when the flush took so long that
// another reader goes on.
func (rd *reader) endBatch() bool {
	s := rd.s
	rd.submit()
	if err := rd.free(); err != nil {
		s.refuse(protocol(err))
		return false
	}
	if !rd.dirty {
		return true
	}
	rd.dirty = false
	s.w.Lock()
	if s.w.PendingLocked() > s.cfg.Limits.flood() {
		s.w.Unlock()
		s.fail(&wire.Status{Code: wire.ResourceExhausted, Reason: wire.ReasonSlowReader,
			Message: "the peer makes calls and does not read the answers (Limits.WriteBuffer)"})
		return false
	}
	if !s.w.FlushableLocked() {
		s.w.Unlock()
		return true
	}
	// The write may block when the peer does not read: then the monitor lets another reader go on, so that this side always reads.
	rd.calling = false
	run := rd.enter()
	s.w.FlushAndUnlock(false)
	return rd.leave(run)
}

// enter marks that the reader begins something that could stall.
func (rd *reader) enter() uint64 {
	s := rd.s
	s.reading.last += 2
	s.reading.current = rd
	run := s.reading.last | 1
	s.reading.run.Store(run)
	if !s.reading.watched.Load() {
		s.cfg.Exec.watch.See((*watchedReader)(s))
	}
	return run
}

// leave marks the end of what enter began. It returns false when another reader goes on.
func (rd *reader) leave(run uint64) bool {
	if rd.s.reading.run.CompareAndSwap(run, 0) {
		rd.s.in.wake()
		return true
	}
	rd.taking.Wait()
	return false
}

// watchedReader is a session as the monitor sees it.
type watchedReader Session

func (w *watchedReader) Running() *atomic.Uint64 { return &w.reading.run }

func (w *watchedReader) Known() *atomic.Bool { return &w.reading.watched }

// Steal lets a new reader go on where the current one is held up. The monitor has changed run, so everything of the reader but its handler
// belongs to the monitor.
func (w *watchedReader) Steal() {
	s := (*Session)(w)
	rd := s.reading.current
	rest := bytes.Clone(rd.in.Unread()) // the handler still reads the rest
	s.in.account.Add(-int64(rd.in.Borrowed()))
	next := newReader(s, rest, 0, len(rest))
	next.freed = append(next.freed, rd.freed...)
	next.job, next.dirty, next.at = rd.job, true, rd.at
	next.stale, next.share = true, rd.share
	if rd.calling {
		c := rd.req.Ctx
		c.Method.pace.Stalled()
		s.w.Lock()
		if c.answered {
			// It has returned just now: only its count is missing.
			s.in.running.Add(1)
		} else {
			s.in.enter(c) // its slot is free, or the call would not have begun
		}
		s.w.Unlock()
	}
	s.reading.run.Store(0)
	s.in.wake()
	rd.stolen.Store(true)
	rd.taking.Done()
	// It reads until the session ends or is held up itself.
	go next.run()
}

// newContext returns a context that was never used before. That of a stream, or of a call with metadata, has memory of its own: a slab
// would be kept for as long as the stream, and with it the metadata of calls that have ended.
func (rd *reader) newContext(flags wire.Flags) *Context {
	if flags&(wire.FlagStream|wire.FlagMeta) == 0 {
		return rd.slab.Next(leastContexts, slabContexts)
	}
	f := new(ForeignContext)
	f.more.Store(&f.own)
	return &f.Context
}
