package weft

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/internal/delivered"
	"github.com/weftrpc/weft/internal/doorcontext"
	"github.com/weftrpc/weft/internal/flights"
	"github.com/weftrpc/weft/internal/held"
	"github.com/weftrpc/weft/internal/overload"
	"github.com/weftrpc/weft/internal/pace"
	"github.com/weftrpc/weft/internal/replay"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/wire"
)

// Door is a foreign wire that a Server serves on its own listeners, beside weft's wire: a value of ServerConfig.Doors. Its calls go through the same
// authentication, limits, hooks, interceptors, statistics and drain as those of weft's wire. Package doortest tests a door against this contract.
type Door interface {
	// Name is that of the wire, for logs and Peer.Wire: the scheme by which clients reach it, for example WireNetRPC.
	Name() string
	// Protocols are the names by which the wire is negotiated in TLS (ALPN); nil: none.
	Protocols() []string
	// Match gets the first bytes of a connection, at least one. yes: the connection is one of this door's wire. more: these bytes do not decide it;
	// Match is called again with more bytes, up to 64. The doors are asked in the order of the configuration.
	Match(prefix []byte) (yes, more bool)
	// Serve serves one connection and returns when the connection has ended; the server then closes it. It calls Admit before any call is begun,
	// within Limits.HandshakeTimeout. When Draining is closed it takes no new calls, tells the peer so if the wire can, and returns when the open
	// calls have been answered. It also returns when reading fails: that is how the server cuts a connection off.
	Serve(c *DoorConn) error
}

// DoorConn is a connection that a door serves. All methods may be called concurrently.
type DoorConn struct {
	s      *Server
	door   Door
	conn   net.Conn
	prefix []byte // read already
	waits  func() // to be called when the connection no longer counts as pending

	newcomer *newcomer

	peer    *Peer
	flights flights.Flights
	bytes   atomic.Int64  // of the requests of the calls under way
	account *held.Account // counts them for the whole server
	replies DoorReplies   // that wait for the peer to read
	doorDrain
	sampler pace.Sampler // of the goroutine that reads
	done    chan struct{}

	mu       sync.Mutex
	calls    *DoorCall // under way, a list
	contexts doorcontext.Contexts
	over     bool   // all calls were canceled, and later ones are
	cut      *Error // what calls are answered with that were canceled here
	err      error  // that of Serve
}

// doorDrain tells a door that the server shuts down.
type doorDrain struct {
	draining chan struct{}
	drained  sync.Once // closes draining
}

// Conn is the connection. The bytes that were read to find the door are read from it once more.
func (c *DoorConn) Conn() net.Conn {
	return replay.Conn(c.conn, c.prefix)
}

// Limits are those of the server, with their defaults filled in.
func (c *DoorConn) Limits() Limits { return c.s.cfg.Limits }

// Logger is that of the server.
func (c *DoorConn) Logger() *slog.Logger { return c.s.cfg.Logger }

// Draining is closed when the server shuts down.
func (c *DoorConn) Draining() <-chan struct{} { return c.draining }

// Go runs f on a worker goroutine of the server: it is reused, so its stack has the size that handlers need.
func (c *DoorConn) Go(f func()) { c.s.exec.Go(f) }

// Admit authenticates the connection and counts it against the limits of the server. cred is the credential that the wire carries for the connection,
// if any; back is what calls to the peer are made with, nil if the wire has none. When it has succeeded it is not called again. Serve tells the peer
// of an error, if the wire can, and returns.
func (c *DoorConn) Admit(cred Credential, back WireConn) (*Peer, error) {
	if c.peer != nil {
		return nil, Errorf(Internal, "door %s admitted its connection twice", c.door.Name())
	}
	p := &Peer{w: back, wire: c.door.Name(), door: c, conn: c.conn, caller: &c.s.caller, since: session.Nanos(), number: c.s.exec.Number()}
	if err := c.newcomer.admit(p, cred); err != nil {
		return nil, answerOf(err)
	}
	if c.waits(); c.newcomer.late != nil {
		return nil, answerOf(handshakeError(c.newcomer.late)) // keepDoor notes that it has not entered
	}
	c.peer = p
	c.account = c.s.session.Memory.Open(c.cutOff)
	c.replies.b.Account = c.account
	c.s.opened(p)
	return p, nil
}

// Head is what is known of a call before its body is read.
type Head struct {
	Method   string   // "Service.Method"
	Codec    string   // the name of the body's encoding, for CallInfo and messages
	Metadata Metadata // with the credential of the call under the key "authorization"
	Timeout  time.Duration
	Oneway   bool // no reply is sent
	Stream   bool
	Priority Priority    // that the wire carries for the call, if it has a place for one
	Size     int         // bytes of the request that the door holds while the call is under way
	Attempt  int         // how many times the caller has tried the call before
	Received int64       // when the request was read, on the clock of session.Nanos; 0: now
	Found    *DoorMethod // what DoorConn.Method has found under the name; nil: Begin looks it up
	Here     bool        // Run follows on the goroutine that reads, before that does anything else but Enter of a DoorGuard
}

// DoorCall is a call that a door has begun.
type DoorCall struct {
	a      arrival
	info   CallInfo
	once   answeredOnce
	conn   *DoorConn
	size   int
	came   int64 // on the clock of session.Nanos
	stands int32 // how many calls it stands for, by its time; 0: it is not timed
	gated  bool  // the overload protection has admitted it
	doorShare
	restored atomic.Int64 // bytes that requests have become whose compression was undone, beside size

	next, before *DoorCall // in DoorConn.calls
}

// Begin begins a call. When a limit is reached it calls in.Fail and returns nil. Otherwise Run must follow, on any goroutine. A call of a unary
// method whose Head has no Timeout has that of the server's configuration.
func (c *DoorConn) Begin(head Head, in Inbound) *DoorCall {
	if x := new(DoorCall); c.BeginIn(x, &head, in) {
		return x
	}
	return nil
}

// BeginIn is Begin with memory of the caller's for the call, which is zero. It returns false where Begin returns nil.
// The memory is not used for another call, unless Renew allows it.
func (c *DoorConn) BeginIn(x *DoorCall, head *Head, in Inbound) bool {
	if c.peer == nil {
		in.Fail(&Error{Code: Unauthenticated, Outcome: Refused, Message: "door " + c.door.Name() + " began a call on a connection that was not admitted"}, Metadata{})
		return false
	}
	if len(head.Method) > wire.MaxMethodName {
		c.s.host.countRefused(InvalidArgument, ReasonNoMethod)
		in.Fail(&Error{Code: InvalidArgument, Outcome: Refused, Reason: ReasonNoMethod,
			Message: fmt.Sprintf("the name of the method has %d bytes, at most %d are allowed", len(head.Method), wire.MaxMethodName)}, Metadata{})
		return false
	}
	x.conn, x.size, x.came = c, head.Size, head.Received
	if x.came == 0 {
		x.came = session.Nanos()
	}
	deadline := int64(0)
	timeout := head.Timeout
	if timeout == 0 && !head.Stream {
		timeout = max(c.s.cfg.Timeout, 0)
	}
	if timeout > 0 {
		deadline = x.came + int64(min(timeout, mostTimeout))
	}
	m := head.Found
	if m == nil || m.Stale() {
		if m = c.Method(head.Method); m == nil {
			m = &DoorMethod{&endpoint{h: &c.s.host}, &session.Method{Name: head.Method}}
		}
	}
	x.once = answeredOnce{Inbound: in, conn: c}
	meta := head.Metadata
	if head.Attempt > 0 {
		meta.pairs = string(wire.AppendPair(nil, attemptKey, strconv.Itoa(head.Attempt))) + meta.pairs
	}
	if head.Priority != PriorityDefault {
		meta = meta.reserved(priorityKey, head.Priority.String())
	}
	// What the context of a call holds must not stay in memory for as long as that of another one.
	alone := head.Stream || len(meta.pairs) > doorcontext.Small || m.s.Either || c.s.host.authenticate != nil
	c.mu.Lock()
	ctx := c.contexts.NextLocked(alone, doorcontext.Few*(1+c.flights.Count()), c.peer, m.s, meta.pairs, x.came, deadline)
	x.info = CallInfo{Method: m.s.Name, Codec: head.Codec, Stream: head.Stream, Oneway: head.Oneway, Peer: c.peer, in: m.e}
	x.a = arrival{info: &x.info, h: &c.s.host, e: m.e, in: &x.once, ctx: ctx, size: head.Size}
	if x.next = c.calls; x.next != nil {
		x.next.before = x
	}
	c.calls = x
	over := c.over
	c.mu.Unlock()
	if over {
		ctx.Cancel()
	}
	here := head.Here && !m.s.Apart
	x.stands = 1
	if here {
		x.stands = c.sampler.Next()
	}
	if m.e.load != nil && !here {
		if v := m.e.admit(ctx); v != overload.Admitted {
			x.unlink()
			c.s.host.overload.refuse(v, &c.s.host, in)
			return false
		}
		x.gated = true
	}
	if here && head.Size <= readBuffer && len(meta.pairs) <= doorcontext.Small {
		x.size = 0
	}
	if e := roomFor(c, x.size); e != nil {
		if x.gated {
			m.e.load.Dropped(session.Nanos())
		}
		x.unlink()
		c.s.host.countRefused(e.Code, e.Reason)
		in.Fail(e, Metadata{})
		return false
	}
	return true
}

// readBuffer is how many bytes a request has at most that lies in the buffer of the goroutine that reads while its handler runs there: it
// is not counted besides.
const readBuffer = 64 << 10

// unlink takes the call out of the list of those under way.
func (x *DoorCall) unlink() {
	c := x.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if x.next != nil {
		x.next.before = x.before
	}
	if x.before != nil {
		x.before.next = x.next
	} else {
		c.calls = x.next
	}
	x.next, x.before = nil, nil
}

// roomFor takes a place for a call, or reports why there is none.
func roomFor(c *DoorConn, size int) *Error {
	l := &c.s.cfg.Limits
	if !c.flights.EnterBelow(l.MaxCalls) {
		return &Error{Code: ResourceExhausted, Outcome: Refused, Reason: ReasonTooManyCalls,
			Message: "too many calls are open on this connection (the server's Limits.MaxCalls)"}
	}
	e := c.takeBytes(size)
	if e != nil {
		c.flights.Leave()
	}
	return e
}

// takeBytes counts bytes of a request, or reports that there is no room for them.
func (c *DoorConn) takeBytes(n int) *Error {
	if n == 0 || c.bytes.Add(int64(n)) <= int64(c.s.cfg.Limits.MaxCallBytes) && c.account.Take(int64(n)) {
		return nil
	}
	c.bytes.Add(-int64(n))
	return &Error{Code: ResourceExhausted, Outcome: Refused, Reason: ReasonTooManyBytes, Message: "the requests in flight have too many bytes, on this connection (the server's Limits.MaxCallBytes) or on all (its MaxMemory); try again later"}
}

func (c *DoorConn) giveBytes(n int) {
	if n == 0 {
		return
	}
	c.bytes.Add(-int64(n))
	c.account.Add(-int64(n))
}

// Context is the context of the call, for the door's streams.
func (x *DoorCall) Context() context.Context { return x.a.ctx }

// ReplyMetadata is what the handler has set so far to go back with the reply. It is for the handler's goroutine, as in Send of a stream.
func (x *DoorCall) ReplyMetadata() Metadata { return metadataOf(x.a.ctx.ReplyMeta()) }

// Cancel ends the context of the call, when the caller has cancelled it.
func (x *DoorCall) Cancel() { x.a.ctx.Cancel() }

// Renew makes the memory of a call that has run ready for another one. It returns false where interceptors, hooks or taps, which may
// still use what they were given, have seen the call.
func (x *DoorCall) Renew() bool {
	if !x.a.e.short || x.a.tapped != nil {
		return false
	}
	*x = DoorCall{}
	return true
}

// Run runs the call and answers it, also when the handler panics. A handler that calls
// runtime.Goexit ends the goroutine of Run; the call is answered then too. Of the calls of a
// connection that have Head.Here one in 16 is timed.
func (x *DoorCall) Run() {
	if x.stands > 0 {
		x.run(session.Nanos())
		return
	}
	from := x.came
	if b := x.a.ctx.Budget(); b != 0 && b < session.ShortTime {
		from = session.Nanos() // it may be over since it was read
	}
	x.run(from)
}

// run runs the call from a time on.
func (x *DoorCall) run(from int64) {
	err := error(Internal)
	defer func() {
		if p := recover(); p != nil {
			x.once.Fail(x.a.h.panicked(x.info.Method, x.conn.peer, p), Metadata{})
		}
		if !x.once.answered {
			x.once.Fail(&Error{Code: Internal, Outcome: Executed, Message: "the handler ended its goroutine"}, Metadata{})
		}
		x.unexpect(!x.once.refused)
		x.end(err, from)
	}()
	if x.gated {
		x.a.e.started(x.a.ctx, from, x.info.Stream)
	}
	if e := x.ended(from); e != nil {
		err = x.a.refuse(e)
		return
	}
	if e := x.expect(); e != nil {
		err = x.a.refuse(e)
		return
	}
	if x.first || x.begun { // it may have waited, which is not the method's time
		from = session.Nanos()
		if e := x.ended(from); e != nil {
			err = x.a.refuse(e)
			return
		}
	}
	err = x.a.serve()
}

// ended is the error of a call that has ended before its handler runs, as far as is known at a time; nil: it has not.
func (x *DoorCall) ended(at int64) *Error {
	err := session.ErrAt(x.a.ctx, at)
	if err == nil {
		return nil
	}
	return Errorf(CodeOf(err), "the call had ended before its handler ran")
}

// InboundSizer is an Inbound that says how many bytes the messages of its call have on the wire, without what is
// around them, for the statistics of methods.
type InboundSizer interface {
	// Bytes are those of the requests beside Head.Size, such as messages of a stream (below zero where Head.Size
	// was an upper bound), and those of the replies. It is called when the call was answered, also more than once.
	Bytes() (request, reply int)
}

// sizes are how many bytes the messages of a call have on the wire, of whose request head are those of Head.Size.
func (a *answeredOnce) sizes(head int) (request, reply int) {
	if s, ok := a.Inbound.(InboundSizer); ok {
		more, replied := s.Bytes()
		return max(head+more, 0), replied
	}
	return head, 0
}

// end counts the call, which has begun at from, and gives its place back.
func (x *DoorCall) end(err error, from int64) {
	c := x.conn
	x.unlink()
	x.a.ctx.Finish()
	x.a.ctx.SetReplyMeta("") // a context that is kept does not hold it, nor do those of its slab
	c.giveBytes(x.size)
	x.decoded()
	if x.a.e.m != nil {
		x.count(err, from)
	}
	c.flights.Leave()
}

// count counts the call for the statistics of its method, and its time for what is decided by that.
func (x *DoorCall) count(err error, from int64) {
	e, number := x.a.e, x.conn.peer.number
	came, replied := x.once.sizes(x.a.size)
	e.stats.Bytes(number, came, replied)
	e.stats.Count(number, uint16(CodeOf(err)))
	if x.stands == 0 && err == nil {
		return
	}
	to := session.Nanos()
	e.stats.Time(number, uint16(CodeOf(err)), to-x.came)
	if x.stands == 0 || x.info.Stream {
		return
	}
	x.a.ctx.Method.Observe(to-from, x.stands, x.once.refused)
	if x.gated {
		e.ended(x.once.refused || gaveUp(x.a.ctx, err), from, to)
	}
}

// answeredOnce passes only the first answer of a call on. It replaces the error of a call that the server cut off by the reason for that.
type answeredOnce struct {
	Inbound
	conn     *DoorConn
	answered bool
	refused  bool // with an error that says that the handler did not run
}

func (a *answeredOnce) Reply(v any, m Metadata) error {
	if a.answered {
		return nil
	}
	err := a.Inbound.Reply(v, m)
	a.answered = err == nil
	return err
}

func (a *answeredOnce) Fail(e *Error, m Metadata) {
	if a.answered {
		return
	}
	a.answered, a.refused = true, e.Outcome == Refused
	a.conn.mu.Lock()
	cut := a.conn.cut
	a.conn.mu.Unlock()
	if cut != nil && e.Code == Canceled {
		told := *cut
		if e.Outcome == Refused {
			told.Outcome = Refused
		}
		e = &told
	}
	a.Inbound.Fail(e, m)
}

// serve runs the door on the connection, to its end.
func (c *DoorConn) serve() {
	defer close(c.done)
	returned := false
	defer func() {
		if p := recover(); p != nil {
			c.s.host.fence.Panicked("function", "Serve of door "+c.door.Name(), c.conn.RemoteAddr(), p)
		}
		if !returned {
			c.err = Errorf(Internal, "the door panicked")
		}
		c.cancelCalls(nil)
		c.replies.b.Close()
		c.account.Close()
		c.conn.Close()
	}()
	c.err = c.door.Serve(c)
	returned = true
	select {
	case <-c.draining:
		// A reset would discard replies that the peer has not read. The end of the drain ends the waiting for a peer that reads slowly.
		c.conn.SetDeadline(time.Now().Add(goodbye))
		delivered.HangUp(c.conn)
		delivered.Await(c.conn, goodbye)
	default:
		if c.peer == nil { // it was refused, and was perhaps told so
			c.conn.SetDeadline(time.Now().Add(goodbye))
			delivered.HangUp(c.conn)
		}
	}
}

// goodbye is how long a connection that was drained waits for its peer to close it, once the peer has all that was sent; and one that was
// refused, whatever the peer has.
const goodbye = 100 * time.Millisecond

// why is the reason of the connection's end.
func (c *DoorConn) why() *Error {
	e := Errorf(Unavailable, "the connection has ended")
	if c.err != nil && !asWeft(c.err, &e) {
		e = Errorf(Unavailable, "%w", c.err)
	}
	return e
}

// cancelCalls ends the contexts of all calls, those of later ones too, and says how they are answered.
func (c *DoorConn) cancelCalls(why *Error) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over = true; why != nil {
		c.cut = why
	}
	n := 0
	for x := c.calls; x != nil; x = x.next {
		x.a.ctx.Cancel()
		n++
	}
	return n
}

// cutOff ends the connection at once.
func (c *DoorConn) cutOff() {
	c.cancelCalls(nil)
	sever(c.conn)
}

// sever closes a connection without the last message of TLS, which takes seconds while the peer does not read.
func sever(conn net.Conn) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	conn.Close()
}

// drain lets the calls end and returns how many had to be cut off.
func (c *DoorConn) drain(ctx context.Context) (cut int) {
	c.drained.Do(func() { close(c.draining) })
	select {
	case <-c.done:
		return 0
	case <-ctx.Done():
	}
	cut = c.cancelCalls(&Error{Code: Unavailable, Outcome: Executed, Reason: ReasonShutdown,
		Message: "the server shut down before the call had ended"})
	grace := time.NewTimer(cutGrace)
	defer grace.Stop()
	select {
	case <-c.done:
	case <-grace.C:
		c.cutOff()
	}
	return cut
}
