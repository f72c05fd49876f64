// Package session runs weft's protocol on one connection: it multiplexes calls and streams in both directions, combines the frames of many
// callers into few system calls, reads many frames at once, and runs what the peer asks for.
//
// A session has one reading goroutine (see read.go) and no writing one: a goroutine
// that appends a frame writes for a moment (see package outbuf). Its parts, and what guards them:
//
//	writer    what leaves. Its lock also guards outgoing, and which calls of the peer were answered.
//	outgoing  the calls of this side: the writer's lock
//	incoming  the calls of the peer: atomic values; the bindings belong to the reader
//	peer      what the peer takes: an atomic value, and an innermost lock for those that wait for it
//	reading   what one reader leaves to the next: it belongs to the current reader
//	direct    where the reader waits for callers that read themselves: atomic values
//	Stream    a lock of its own, which is never held while the writer's is taken
package session

import (
	"errors"
	"log/slog"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/drain"
	"github.com/weftrpc/weft/internal/greeting"
	"github.com/weftrpc/weft/internal/held"
	"github.com/weftrpc/weft/internal/keepalive"
	"github.com/weftrpc/weft/internal/socket"
	"github.com/weftrpc/weft/internal/wire"
)

// Config is what the two ends of a connection agree on beforehand, and the callbacks
// of a session. It must not change once a session uses it.
type Config struct {
	Limits      Limits
	Codecs      []string              // names, told to the peer
	Compressors []compress.Compressor // what can be undone here
	Checksum    bool                  // ask for checksums
	Software    string

	// Resolve finds the method for a binding that the peer made. It returns nil and a status that names what is missing.
	Resolve func(codec, method string) (*Binding, *wire.Status)
	// Accept decides over a connection by the credential in its hello. It is
	// called on the answering side only, before the hello is answered; nil accepts.
	Accept func(s *Session, credential string) *wire.Status
	// Setup is called once for every session before it reads its first frame.
	Setup func(s *Session)
	// Refused is called for every call that is refused before it reaches its method, with what its caller is told; nil ignores them. A
	// method that refuses a call counts it itself.
	Refused func(s *Session, st *wire.Status)
	// InTurn runs f, which restores or decodes a large message of c, in its turn, unless c ends before; nil: f runs at once.
	InTurn func(c *Context, f func() error) error
	// Panicked logs a panic of a method, on the goroutine that has recovered it; nil: each is logged with its stack.
	Panicked func(r *Request, v any)

	Exec   *Executor
	Memory *held.Memory // bounds what all sessions hold together; nil: nothing does
	Logger *slog.Logger

	greetings greeting.Cache
}

// Limits bound what the peer can make this side hold.
type Limits struct {
	MaxMessage       int           // bytes of a body, decompressed
	MaxMetadata      int           // bytes of a metadata block
	MaxCalls         int           // calls that the peer may have open; at most 65,536
	MaxCallBytes     int           // bytes of requests waiting or running
	MaxStreamBytes   int           // bytes of messages of streams that were not received yet
	MaxOrdered       int           // one-way calls with the same order that wait
	MaxBindings      int           // method and codec pairs that the peer may bind
	StreamWindow     int           // bytes the peer may send ahead on a stream
	WriteBuffer      int           // bytes waiting to be written before callers wait
	WriteTimeout     time.Duration // a write that makes no progress for so long ends the session
	PingInterval     time.Duration // silence after which a ping is sent while calls are open
	PingIdle         time.Duration // the same while none is open
	PingTimeout      time.Duration // silence after a ping that ends the session
	DrainWait        time.Duration // how long to wait for the peer to agree to a drain
	HandshakeTimeout time.Duration // for the two hellos
	CompressAbove    int           // smaller bodies are sent as they are
}

// Session is one connection after its hellos. All methods may be called from any goroutine.
type Session struct {
	cfg    *Config
	number uint32
	conn   net.Conn
	socket net.Conn // conn, for reads and writes
	peer   peer
	sum    bool // checksums behind frames

	// Owner belongs to the creator of the session; it is set before the first call.
	Owner any

	w   writer
	out outgoing
	in  incoming

	reading reading
	direct  direct
	alive   keepalive.Keeper
	keep    keeper

	drain  drain.State
	failed atomic.Pointer[wire.Status] // why it ended
	closed chan struct{}
	once   sync.Once
}

// epoch is the origin of the session's clock, which never goes back.
var epoch = time.Now()

// now is the time since epoch in nanoseconds.
func now() int64 { return int64(time.Since(epoch)) }

// Nanos is the session's clock: what Call.Deadline is measured on.
func Nanos() int64 { return now() }

// At is t on the clock of Nanos, or its maximum if t is later.
func At(t time.Time) int64 {
	at, left := now(), int64(time.Until(t))
	if left > 0 && at+left < at {
		return math.MaxInt64
	}
	return at + left
}

func newSession(conn net.Conn, cfg *Config) *Session {
	s := &Session{cfg: cfg, number: cfg.Exec.numbers.Add(1), conn: conn, closed: make(chan struct{})}
	s.socket = socket.WithPulse(conn, &cfg.Exec.pulse)
	s.w.Init(s.socket, (*writerOwner)(s), cfg.Limits.WriteBuffer, &s.in.backlog)
	s.w.peer, s.w.limits, s.w.backlog = &s.peer, &cfg.Limits, &s.in.backlog
	s.in.drain, s.in.limits, s.in.w = &s.drain, &cfg.Limits, &s.w
	s.out.Init((*callsOwner)(s))
	s.out.cfg, s.out.w, s.out.drain, s.out.failed = cfg, &s.w, &s.drain, &s.failed
	s.alive.Init(&s.w.Writer, (*keeperOwner)(s), cfg.Limits.pings())
	return s
}

// start makes the session ready to be read, beginning with buf[r:w], which the handshake has read ahead.
func (s *Session) start(buf []byte, r, w int) {
	s.sum = s.cfg.Checksum && s.peer.takes().Features&wire.FeatureChecksum != 0
	s.w.ChecksumLocked(s.sum)
	at := now()
	s.alive.Read(at)
	s.reading.bytes.Store(uint64(w))
	if m := s.cfg.Memory; m != nil {
		a := m.Open(func() { s.cfg.Exec.Go(func() { s.refuseSoon(tooMuchHeld()) }) })
		s.in.account, s.reading.parts.account, s.in.backlog.Account = a, a, a
	}
	s.keep.start(s, at)
	if s.cfg.Setup != nil {
		s.cfg.Setup(s)
	}
	s.reading.current = newReader(s, buf, r, w)
}

// Run reads until the session has ended. The creator of the session calls it, once, on a goroutine for it. When a handler or a write holds
// that goroutine up, another one reads on, and Run returns with what held it up.
//
// gone is called when the peer has asked for no more calls, and ended when the session has ended: each at most once, on a goroutine that
// reads; gone must not wait. Both may be nil.
func (s *Session) Run(gone, ended func()) {
	s.reading.gone, s.reading.ended = gone, ended
	s.reading.current.run()
}

// Attend is Run for a session of Open, and does not wait. Until calls overlap, or none is made for a moment, calls read their replies
// themselves; only then a goroutine is started that reads. ended may be called before Close returns, on its goroutine.
func (s *Session) Attend(gone, ended func()) {
	s.reading.gone, s.reading.ended = gone, ended
	rd := s.reading.current
	if s.cfg.Resolve != nil {
		// It ends with the session.
		go rd.runEarly()
		return
	}
	s.direct.begin(rd)
	if s.failed.Load() != nil {
		s.direct.end()
	}
}

// Peer is the hello of the peer, or what may be assumed of it before the hello has come. It must not be changed.
func (s *Session) Peer() *wire.Hello { return s.peer.takes() }

// Number tells the sessions of one executor apart.
func (s *Session) Number() uint32 { return s.number }

// Incoming is how many calls of the peer wait for a worker or run on one.
func (s *Session) Incoming() int { return int(s.in.running.Load()) }

// Conn is the connection underneath. It must only be inspected: no reads, writes or close.
func (s *Session) Conn() net.Conn { return s.conn }

// Traffic is how many bytes were read from the connection and handed to it.
func (s *Session) Traffic() (read, written uint64) {
	s.w.Lock()
	defer s.w.Unlock()
	return s.reading.bytes.Load(), s.w.TakenLocked()
}

// Done is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.closed }

// Err returns why the session ended; nil while it lives.
func (s *Session) Err() *wire.Status { return s.failed.Load() }

// Load is about how many calls this side has open. It costs nothing to ask.
func (s *Session) Load() int { return int(s.out.load.Load()) }

// Usable reports whether a call could be opened now, as far as is known.
func (s *Session) Usable() bool { return !s.drain.Peer() && s.failed.Load() == nil }

// Close ends the session at once. Open calls fail with st.
func (s *Session) Close(st *wire.Status) { s.fail(st) }

// fail ends the session: the first reason counts. What this side had open fails with st, what the peer had open is cancelled.
func (s *Session) fail(st *wire.Status) {
	first := false
	s.once.Do(func() {
		first = true
		s.failed.Store(st)
		s.conn.Close()
		close(s.closed)
		s.out.abort(st)
		s.keep.stop(s)
		s.in.breakAll()
		s.in.account.Close()
		for _, q := range s.in.sequences.End() {
			takeUp(s, q, nil, nil)
		}
		s.in.backlog.Close()
	})
	if first {
		s.direct.end()
	}
}

// protocol makes the status of a session whose peer broke the protocol.
func protocol(err error) *wire.Status {
	st := &wire.Status{Code: wire.Internal, Reason: wire.ReasonProtocol, Message: "protocol error: " + err.Error()}
	if b, ok := errors.AsType[*breach](err); ok {
		st.Code = b.code
	}
	return st
}

// breach is a broken rule that has a code of its own.
type breach struct {
	code wire.Code
	what string
}

func (b *breach) Error() string { return b.what }
