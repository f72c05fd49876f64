package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/internal/delivered"
	"github.com/weftrpc/weft/internal/inbuf"
	"github.com/weftrpc/weft/internal/outbuf"
	"github.com/weftrpc/weft/internal/wire"
)

// hello is the hello of this side.
func (c *Config) hello(credential string) wire.Hello {
	h := wire.Hello{
		MaxMessage: uint32(c.Limits.MaxMessage), MaxMetadata: uint32(c.Limits.MaxMetadata),
		MaxCalls: uint32(c.Limits.MaxCalls), MaxBindings: uint32(c.Limits.MaxBindings),
		StreamWindow: uint32(c.Limits.StreamWindow),
		Codecs:       c.Codecs, Credential: credential, Software: c.Software,
	}
	if c.Resolve == nil {
		h.MaxCalls = 0
	}
	for _, comp := range c.Compressors {
		h.Compressors = append(h.Compressors, comp.Name())
	}
	if c.Checksum {
		h.Features |= wire.FeatureChecksum
	}
	return h
}

// greetings caches what the connections of a server have in common: its own greeting,
// and the last hello of a client, since most clients of a server send the same.
type greetings struct {
	own  atomic.Pointer[[]byte]
	last atomic.Pointer[knownHello]
}

// knownHello is a hello without a credential.
type knownHello struct {
	payload string
	hello   *wire.Hello
}

// parseHello reads the payload of a hello. Its limits fit an int, which may have 32 bits;
// those that are not bounded here are bounded by the parser.
func parseHello(payload []byte) (*wire.Hello, error) {
	h, err := wire.ParseHello(payload)
	if err == nil {
		h.MaxMessage = min(h.MaxMessage, math.MaxInt32)
		h.MaxMetadata = min(h.MaxMetadata, math.MaxInt32)
	}
	return h, err
}

// parse reads the payload of a hello.
func (g *greetings) parse(payload []byte) (*wire.Hello, error) {
	if k := g.last.Load(); k != nil && k.payload == string(payload) {
		return k.hello, nil
	}
	h, err := parseHello(payload)
	if err == nil && h.Credential == "" {
		g.last.Store(&knownHello{string(payload), h})
	}
	return h, err
}

// append appends the greeting of a server.
func (g *greetings) append(dst []byte, c *Config) []byte {
	own := g.own.Load()
	if own == nil {
		made := c.appendGreeting(nil, "")
		own = &made
		g.own.Store(own)
	}
	return append(dst, *own...)
}

// appendGreeting appends the preface and the hello.
func (c *Config) appendGreeting(dst []byte, credential string) []byte {
	dst = append(dst, wire.Preface...)
	at := len(dst)
	dst = append(dst, make([]byte, wire.HeaderSize)...)
	h := c.hello(credential)
	dst = wire.AppendHello(dst, &h)
	wire.PutHeader(dst[at:], wire.Header{Type: wire.TypeHello, Length: uint32(len(dst) - at - wire.HeaderSize)})
	return dst
}

// greetingSize is room for a usual greeting and a first call or reply, in bytes.
const greetingSize = 512

// Dial makes a session of a connection that this side has made, and waits for the
// server's hello. It ends with ctx or when the handshake takes too long. The session
// needs a goroutine to Run it.
func Dial(ctx context.Context, conn net.Conn, cfg *Config, credential string) (*Session, *wire.Status) {
	stop := bound(ctx, conn, cfg.Limits.HandshakeTimeout)
	s := newSession(conn, cfg)
	_, err := conn.Write(cfg.appendGreeting(make([]byte, 0, greetingSize), credential))
	var peer *wire.Hello
	var buf []byte
	var r, w int
	if err == nil {
		peer, buf, r, w, err = readHello(conn, nil, parseHello)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		st := handshakeStatus(err, cfg.Limits.HandshakeTimeout)
		if ctx.Err() != nil {
			st.Code, st.Message = fromContext(ctx).Code, "handshake: "+contextError(ctx)
		}
		st.Outcome = wire.NotSent
		return nil, st
	}
	s.peer.hello.Store(peer)
	s.start(buf, r, w)
	return s, nil
}

// Accept is AcceptBounded for a handshake that ends with ctx, or when it takes too long.
func Accept(ctx context.Context, conn net.Conn, cfg *Config, prefix []byte) (*Session, *wire.Status) {
	stop := bound(ctx, conn, cfg.Limits.HandshakeTimeout)
	return AcceptBounded(conn, cfg, prefix, nil, func() *wire.Status {
		if stop() || ctx.Err() == nil {
			return nil
		}
		return &wire.Status{Code: fromContext(ctx).Code, Message: "handshake: " + contextError(ctx)}
	})
}

// AcceptBounded makes a session of a connection that the peer has made. prefix is what
// its owner has read from conn already, nil for nothing; it is copied. owner becomes the
// session's Owner before the connection is accepted. The handshake is bounded by its owner,
// which has reading and writing fail when time is up: stop is called, perhaps more than once,
// when it is over, and returns why the connection cannot be used any more, if so. This side's
// hello leaves with the answers to what the client has sent already. The session needs a
// goroutine to Run it.
func AcceptBounded(conn net.Conn, cfg *Config, prefix []byte, owner any, stop func() *wire.Status) (*Session, *wire.Status) {
	s := newSession(conn, cfg)
	s.Owner = owner
	peer, buf, r, w, err := readHello(conn, prefix, cfg.greetings.parse)
	if err == nil {
		s.peer.hello.Store(peer)
		if cfg.Accept != nil {
			if st := cfg.Accept(s, peer.Credential); st != nil {
				stop()
				Refuse(conn, st)
				return nil, st
			}
		}
	}
	late := stop()
	switch told := refusal(err); {
	case err == nil && late == nil:
	case late != nil && (err == nil || told != nil):
		Refuse(conn, late)
		return nil, late
	case told != nil:
		Refuse(conn, told)
		return nil, told
	default:
		conn.Close()
		if late == nil {
			late = handshakeStatus(err, cfg.Limits.HandshakeTimeout)
		}
		return nil, late
	}
	s.w.BeginWith(cfg.greetings.append(make([]byte, 0, greetingSize), cfg))
	s.start(buf, r, w)
	s.reading.current.dirty = true
	return s, nil
}

// Refuse tells the peer why its connection is not taken, and closes it.
func Refuse(conn net.Conn, st *wire.Status) {
	b := append([]byte(nil), wire.Preface...)
	message := st.Message[:min(len(st.Message), maxGoAway)]
	b = wire.AppendFrame(b, wire.Header{Type: wire.TypeGoAway, Code: uint16(st.Code)}, []byte(message))
	conn.SetDeadline(time.Now().Add(outbuf.Goodbye))
	if _, err := conn.Write(b); err == nil {
		delivered.HangUp(conn)
	}
	conn.Close()
}

// RefuseUnread is Refuse for a connection of which nothing was read: only a client that
// speaks weft gets the reason. It takes no longer than Refuse does, twice.
func RefuseUnread(conn net.Conn, st *wire.Status) {
	var b [len(wire.Preface)]byte
	conn.SetDeadline(time.Now().Add(outbuf.Goodbye))
	if _, err := io.ReadFull(conn, b[:]); err != nil || string(b[:]) != wire.Preface {
		conn.Close()
		return
	}
	Refuse(conn, st)
}

// bound limits what follows on conn to a time and to ctx. stop takes the limit
// away and reports whether ctx was still alive.
func bound(ctx context.Context, conn net.Conn, limit time.Duration) (stop func() bool) {
	conn.SetDeadline(time.Now().Add(limit))
	release := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	return func() bool {
		if !release() {
			return false
		}
		conn.SetDeadline(time.Time{})
		return true
	}
}

// versionError is a preface of another major version.
type versionError struct{ theirs byte }

func (e *versionError) Error() string {
	return fmt.Sprintf("major version %d of the protocol is spoken here, not %d", wire.Preface[len(wire.Preface)-1], e.theirs)
}

// helloError is a hello that cannot be read, or did not come in time, of a peer
// that has proved by the preface to speak weft.
type helloError struct {
	code wire.Code
	err  error
}

func (e *helloError) Error() string { return e.err.Error() }

func (e *helloError) Unwrap() error { return e.err }

// refusal is the status sent to a client whose handshake failed; nil when the client
// could not read one.
func refusal(err error) *wire.Status {
	if e, ok := errors.AsType[*versionError](err); ok {
		return &wire.Status{Code: wire.Unimplemented, Message: e.Error()}
	}
	if e, ok := errors.AsType[*helloError](err); ok {
		return &wire.Status{Code: e.code, Message: "handshake: " + e.Error()}
	}
	return nil
}

// goneError is a GOAWAY in place of a hello.
type goneError struct{ status wire.Status }

func (e *goneError) Error() string { return e.status.Message }

// readHello reads the preface and the hello, which begin with prefix. It returns the memory
// with what it has read ahead, which is buf[r:w].
func readHello(conn net.Conn, prefix []byte, parse func([]byte) (*wire.Hello, error)) (h *wire.Hello, buf []byte, r, w int, err error) {
	if buf = inbuf.TakeSmall(); len(prefix) > len(buf) {
		buf = make([]byte, len(prefix))
	}
	w = copy(buf, prefix)
	for {
		if h, r, err = parseGreeting(buf[:w], parse); h != nil {
			return h, buf, r, w, nil
		}
		if err != nil {
			break
		}
		if r > len(buf) {
			buf = append(make([]byte, 0, r), buf[:w]...)[:r]
		}
		n, failed := conn.Read(buf[w:])
		if w += n; failed != nil && n == 0 {
			err = failed
			if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() && w >= len(wire.Preface) {
				err = &helloError{wire.DeadlineExceeded, err}
			}
			break
		}
	}
	inbuf.GiveSmall(buf)
	return nil, nil, 0, 0, err
}

// parseGreeting reads a preface and a hello from the front of b. It returns the hello and
// the size of both, or no hello and the least size that b must have to be read further.
func parseGreeting(b []byte, parse func([]byte) (*wire.Hello, error)) (h *wire.Hello, size int, err error) {
	const head = len(wire.Preface) + wire.HeaderSize
	if err := checkPreface(b); err != nil {
		return nil, 0, err
	}
	if len(b) < head {
		return nil, head, nil
	}
	header := wire.ParseHeader(b[len(wire.Preface):])
	if err := header.Check(); err != nil {
		return nil, 0, &helloError{wire.Internal, err}
	}
	size = head + int(header.Length)
	if len(b) < size {
		return nil, size, nil
	}
	payload := b[head:size]
	switch header.Type {
	case wire.TypeHello:
		if h, err = parse(payload); err != nil {
			return nil, 0, &helloError{wire.Internal, err}
		}
		return h, size, nil
	case wire.TypeGoAway:
		return nil, 0, &goneError{wire.Status{Code: wire.Code(header.Code), Message: string(payload[:min(len(payload), maxGoAway)])}}
	default:
		return nil, 0, &helloError{wire.Internal, fmt.Errorf("the first frame has type %d, want a hello", header.Type)}
	}
}

// checkPreface reports whether bytes that came first cannot begin weft.
func checkPreface(b []byte) error {
	if b = b[:min(len(b), len(wire.Preface))]; string(b) != wire.Preface[:len(b)] {
		return wrongPreface(b)
	}
	return nil
}

func wrongPreface(b []byte) error {
	last := len(wire.Preface) - 1
	if len(b) > last && string(b[:last]) == wire.Preface[:last] {
		return &versionError{b[last]}
	}
	return &strangerError{string(b)}
}

// strangerError is a peer that does not speak weft.
type strangerError struct{ began string }

func (e *strangerError) Error() string {
	return fmt.Sprintf("the peer does not speak weft: it began with %q", e.began)
}

// handshakeStatus turns the failure of a handshake into a status. Its outcome is NotSent
// where the failure shows that the peer has read no call.
func handshakeStatus(err error, limit time.Duration) *wire.Status {
	if gone, ok := errors.AsType[*goneError](err); ok {
		st := gone.status
		st.Outcome = wire.NotSent
		return &st
	}
	st := &wire.Status{Code: wire.Unavailable, Reason: wire.ReasonHandshake, Message: "handshake: " + err.Error()}
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		st.Message = fmt.Sprintf("handshake: no answer within %v (Limits.HandshakeTimeout)", limit)
	} else if errors.Is(err, io.EOF) {
		st.Message = "handshake: the peer closed the connection without giving a reason; it may not speak weft: a server of net/rpc has addresses such as netrpc://host:port"
	} else if _, ok := errors.AsType[*versionError](err); ok {
		st.Outcome = wire.NotSent
	} else if _, ok := errors.AsType[*strangerError](err); ok {
		st.Outcome = wire.NotSent
	} else if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		st.Outcome = wire.NotSent // the server's TLS has rejected this side: its session has read nothing
	}
	return st
}
