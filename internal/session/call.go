package session

import (
	"context"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/buffer"
	"github.com/weftrpc/weft/internal/calls"
	"github.com/weftrpc/weft/internal/wire"
)

// Call is one call that this side makes. Its owner sets the exported fields that are not marked as set by the session, starts it, waits,
// and reads the rest. A Call may be used again after Reset once it has been waited for; the session keeps nothing of it.
//
// With thousands of calls open every line of the processor's cache costs. What the reader uses fills the first line, what else a plain call
// needs the second; the others are not touched for plain calls. The size, which the allocator aligns, has a Call begin with a line.
type Call struct {
	done       chan signal
	Reply      any          // nil: the body of the reply is discarded
	Codec      codec.Codec  // of the arguments and the reply
	Status     *wire.Status // set when the call has ended; nil: it went well
	Ended      int64        // when the reply was read; 0 if none was
	ReplyBytes uint32       // of the body of the reply on the wire; those of a stream are in StreamBytes
	marks

	id       uint32
	Bytes    uint32 // of the body of the arguments on the wire, set when it is started; those of a stream are in StreamBytes
	Method   string
	Args     any
	Deadline int64 // on the clock of Nanos; 0 for none
	Timeout  int64 // from Start, in nanoseconds; shortens Deadline; 0 for none
	Sent     int64 // set when it is started, on the clock of Nanos

	Options
	ReplyMeta string // set when the call has ended: the inside of the reply's metadata block
	stream    *Stream
	kept      keptReply // if held
	_         [40]byte
}

// marks are what else the reader looks at.
type marks struct {
	sized  bool // Codec is a Sizer
	held   bool // there is a body for Finish
	Plain  bool // promises that nothing of Options is set
	Oneway bool
}

// signal is what is sent when a call has ended. Its size makes the channel fill two lines of the processor's cache.
type signal [2]uint64

// Options are what a plain call does without.
type Options struct {
	Compress compress.Compressor // nil: none
	Meta     string              // the inside of a metadata block
	Async    func(*Call)         // called once when the call has ended, instead of a Wait
	KeepMeta bool                // fill ReplyMeta
	Late     bool                // the reply is always decoded by Finish
	// Ordered says that Meta begins with an order: no later request may begin before this one.
	Ordered bool
}

// keptReply is the body of a reply that the caller decodes itself.
type keptReply struct {
	buf        *buffer.Buffer
	compressed bool
}

// NewCall returns a Call that can be started.
func NewCall() *Call { return &Call{done: make(chan signal, 1)} }

// meta is the inside of the metadata block, without a look at it in a plain call.
func (c *Call) meta() string {
	if c.Plain {
		return ""
	}
	return c.Meta
}

// Reset clears everything but the channel.
func (c *Call) Reset() {
	if !c.Plain || c.held {
		*c = Call{done: c.done}
		return
	}
	c.Reply, c.Codec, c.Status, c.Ended, c.ReplyBytes, c.Plain, c.Bytes = nil, nil, nil, 0, 0, false, 0
	c.Method, c.Args, c.Deadline, c.Timeout = "", nil, 0, 0
}

// Start sends the request. If it returns a status the call was not sent and must not be waited for.
func (s *Session) Start(ctx context.Context, c *Call) *wire.Status {
	var flags wire.Flags
	if c.Oneway {
		flags = wire.FlagOneway
	}
	z, sized := c.Codec.(codec.Sizer)
	c.sized = sized
	if sized && (c.Plain || c.Compress == nil) {
		n, ok := z.Size(c.Args)
		if ok && n+2+len(c.meta()) <= min(wire.MaxPayload, int(s.peer.takes().MaxMessage)) {
			return s.open(ctx, c, flags, nil, n)
		}
		if !ok {
			z = nil // it need not be asked again
		}
	}
	return s.startAny(ctx, c, flags, z)
}

// startAny is Start for what cannot be encoded straight into the writer's buffer. z is the codec if that may know the size of the
// arguments. It stands apart, as other rare things do, to keep the stacks of callers small: thousands of them are touched in turn.
//
//go:noinline
func (s *Session) startAny(ctx context.Context, c *Call, flags wire.Flags, z codec.Sizer) *wire.Status {
	m := message{meta: c.Meta}
	met := s.Met()
	if st := s.w.prepare(&m, c.Codec, z, c.Args, c.Compress); st != nil {
		return st
	}
	if !met && m.length() > wire.InitialMessage {
		// More than any server takes: it waits for the limits of this one, which may also undo a compression.
		m.release()
		if st := s.Meet(ctx, c); st != nil {
			return st
		}
		m = message{meta: c.Meta}
		if st := s.w.prepare(&m, c.Codec, z, c.Args, c.Compress); st != nil {
			return st
		}
	}
	st := s.open(ctx, c, flags, &m, 0)
	m.release()
	return st
}

// limit turns the timeout of a call that begins at a time into a deadline.
func (c *Call) limit(at int64) {
	if d := at + c.Timeout; d > at && (c.Deadline == 0 || d < c.Deadline) {
		c.Deadline = d
	}
}

// open finds a slot for the call and appends its request: the message m, or, if
// there is none, the arguments themselves, whose encoding has size bytes.
func (s *Session) open(ctx context.Context, c *Call, flags wire.Flags, m *message, size int) *wire.Status {
	w := &s.w
	meta := c.meta()
	if len(meta) > int(s.peer.takes().MaxMetadata) {
		return s.peer.tooMuchMeta(len(meta))
	}
	w.Lock()
	if w.FullLocked() || w.ClosedLocked() || s.out.barred {
		if st := s.waitOpenLocked(ctx, c); st != nil {
			return st
		}
	}
	// While a caller yields, microseconds at most, its time is good for all.
	at := w.ClockLocked()
	if at == 0 {
		at = now()
	}
	c.Sent = at
	c.limit(at)
	arg, flags, ok := timeout(c.Deadline, at, flags)
	if !ok {
		w.Unlock()
		return tooLate()
	}
	code, st := s.out.bindLocked(c.Codec.Name(), c.Method)
	if st != nil {
		w.Unlock()
		return st
	}
	peer := s.peer.takes()
	id, sl := s.out.Take(c.Deadline, peer.MaxCalls)
	if sl == nil {
		w.Unlock()
		if peer == &unmet {
			return s.openLater(ctx, c, flags, m, size)
		}
		return s.peer.tooMany()
	}
	c.id = id
	h := wire.Header{Type: wire.TypeRequest, Flags: flags, Code: code, ID: id, Arg: arg}
	if !c.Plain && c.stream != nil {
		c.stream.id = c.id
		c.stream.credit(peer)
		s.out.Begin(id, c.stream)
	}
	sl.At = w.PositionLocked()
	if c.Bytes = uint32(size); m != nil {
		c.Bytes = uint32(m.size)
	}
	if m == nil {
		st = w.putSizedLocked(h, meta, c.Codec.(codec.Sizer), c.Args, size)
	} else {
		large := m.sizer == nil && m.length() > wire.MaxPayload
		if large {
			m.bind = s.out.bindings.LastKey()
			if !c.Ordered {
				sl.At = calls.Unsent // until its first chunk is taken
			}
		}
		st = w.putLocked(h, m)
		if st == nil && large && c.Ordered {
			w.BeginLargeLocked(c.id)
		}
	}
	if st != nil {
		s.out.Release(id)
		w.Unlock()
		return st
	}
	s.out.Watch(sl, id, at)
	if !c.Plain && (c.stream != nil || c.Async != nil) {
		s.direct.rouse()
	}
	sl.Call.Store(c) // from here on c belongs to the goroutine that ends it
	open := s.out.Open()
	if open%64 == 0 {
		s.out.load.Store(int32(open))
	}
	w.FlushCallAndUnlock(open > 1, at)
	return nil
}

// openLater is open once the limits of the server are known.
//
//go:noinline
func (s *Session) openLater(ctx context.Context, c *Call, flags wire.Flags, m *message, size int) *wire.Status {
	if st := s.awaitHello(ctx, c.Deadline); st != nil {
		return st
	}
	return s.open(ctx, c, flags, m, size)
}

// waitOpenLocked waits for room in the writer's buffer. Its status says why no call can be opened; nil when one can. It is called with the
// writer's lock held and keeps it, unless it returns a status.
//
//go:noinline
func (s *Session) waitOpenLocked(ctx context.Context, c *Call) *wire.Status {
	c.limit(now())
	if s.out.barred && !s.out.goneAway && !s.w.ClosedLocked() {
		s.w.Unlock()
		if st := s.awaitHello(ctx, c.Deadline); st != nil {
			return st
		}
		s.w.Lock()
	}
	if s.w.FullLocked() {
		if st := s.w.roomUntilLocked(ctx, c.Deadline); st != nil {
			return st
		}
	}
	if st := s.out.mayOpenLocked(); st != nil {
		s.w.Unlock()
		return st
	}
	return nil
}

//go:noinline
func tooLate() *wire.Status {
	return &wire.Status{Code: wire.DeadlineExceeded, Outcome: wire.NotSent, Message: "deadline exceeded before the call was sent"}
}

// timeout turns a deadline into what a request carries; ok is false when it has passed.
func timeout(deadline, at int64, flags wire.Flags) (arg uint32, with wire.Flags, ok bool) {
	if deadline == 0 {
		return 0, flags, true
	}
	left := deadline - at
	if left <= 0 {
		return 0, flags, false
	}
	us := (left-1)/1000 + 1
	if us < 1<<32 {
		return uint32(us), flags, true
	}
	return uint32(min(us/1000, 1<<32-1)), flags | wire.FlagMillis, true
}

// Wait waits until a started call has ended, or gives it up when ctx ends. The reply may still have to be decoded, by Finish.
func (s *Session) Wait(ctx context.Context, c *Call) {
	if g := s.direct.take(); g != nil && g.await(ctx, c) {
		return
	}
	if done := ctx.Done(); done == nil {
		<-c.done
	} else {
		select {
		case <-c.done:
		case <-done:
			if !s.Abandon(ctx, c) {
				<-c.done
			}
		}
	}
}

// Abandon gives up a call because ctx has ended. It returns false when the call ended by itself at the same time.
func (s *Session) Abandon(ctx context.Context, c *Call) bool {
	sl := s.out.Slot(wire.Slot(c.id))
	if !sl.Call.CompareAndSwap(c, nil) {
		return false
	}
	c.Status = fromContext(ctx)
	s.w.Lock()
	if !s.w.ClosedLocked() {
		s.out.cancelLocked(c.id, c.Status.Code)
	}
	s.w.FlushElsewhereAndUnlock()
	return true
}

// Finish decodes, on the caller's goroutine, a reply that was too large or too
// slow to be decoded by the reader. It must be called after Wait.
func (s *Session) Finish(c *Call) { s.cfg.finish(c) }

// Forget gives up a started call for which Wait will not be called.
func (s *Session) Forget(c *Call) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if !s.Abandon(ctx, c) {
		<-c.done
	}
	c.Drop()
}

func fromContext(ctx context.Context) *wire.Status {
	if ctx.Err() == context.DeadlineExceeded {
		return &wire.Status{Code: wire.DeadlineExceeded, Message: "deadline exceeded before the reply came"}
	}
	st := &wire.Status{Code: wire.Canceled, Message: "canceled by the caller"}
	if cause := context.Cause(ctx); cause != nil && cause != context.Canceled {
		st.Message += ": " + cause.Error()
	}
	return st
}
