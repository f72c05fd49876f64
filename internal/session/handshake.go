package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"time"

	"github.com/weftrpc/weft/internal/wire"
)

// hello is what this side says of itself.
func (c *Config) hello(credential string) *wire.Hello {
	h := &wire.Hello{
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

func (c *Config) sayHello(conn net.Conn, credential string) error {
	const usual = 256 // bytes of a hello
	b := append(make([]byte, 0, usual), wire.Preface...)
	b = wire.AppendFrame(b, wire.Header{Type: wire.TypeHello}, wire.AppendHello(make([]byte, 0, usual), c.hello(credential)))
	_, err := conn.Write(b)
	return err
}

// Dial makes a session of a connection that this side has made. It ends with ctx
// or when the handshake takes too long. The session needs somebody to Run it.
func Dial(ctx context.Context, conn net.Conn, cfg *Config, credential string) (*Session, *wire.Status) {
	stop := bound(ctx, conn, cfg.Limits.HandshakeTimeout)
	s := newSession(conn, cfg)
	err := cfg.sayHello(conn, credential)
	var rest []byte
	if err == nil {
		s.peer, rest, err = readHello(conn, nil)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, handshakeStatus(ctx, err, cfg.Limits.HandshakeTimeout)
	}
	s.start(rest)
	return s, nil
}

// Accept makes a session of a connection that the other side has made. prefix is what
// its owner has read from conn already, nil for nothing; it is copied. The session needs
// somebody to Run it.
func Accept(ctx context.Context, conn net.Conn, cfg *Config, prefix []byte) (*Session, *wire.Status) {
	stop := bound(ctx, conn, cfg.Limits.HandshakeTimeout)
	s := newSession(conn, cfg)
	peer, rest, err := readHello(conn, prefix)
	if err == nil {
		s.peer = peer
		if cfg.Accept != nil {
			if st := cfg.Accept(s, peer.Credential); st != nil {
				stop()
				Refuse(conn, st)
				return nil, st
			}
		}
		err = cfg.sayHello(conn, "")
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		if st := refusal(err); st != nil {
			Refuse(conn, st)
			return nil, st
		}
		conn.Close()
		return nil, handshakeStatus(ctx, err, cfg.Limits.HandshakeTimeout)
	}
	s.start(rest)
	return s, nil
}

// Refuse tells the other side why its connection is not taken, and closes it.
func Refuse(conn net.Conn, st *wire.Status) {
	b := append([]byte(nil), wire.Preface...)
	message := st.Message[:min(len(st.Message), maxGoAway)]
	b = wire.AppendFrame(b, wire.Header{Type: wire.TypeGoAway, Code: uint16(st.Code)}, []byte(message))
	conn.SetDeadline(time.Now().Add(goodbye))
	if _, err := conn.Write(b); err == nil {
		HangUp(conn)
	}
	conn.Close()
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

// helloError is a hello that cannot be read, or did not come in time, of somebody
// who has proved by the preface to speak weft.
type helloError struct {
	code wire.Code
	err  error
}

func (e *helloError) Error() string { return e.err.Error() }

func (e *helloError) Unwrap() error { return e.err }

// refusal is what a client is told whose handshake failed; nil when there is
// nobody to be told.
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

// readHello reads the preface and the hello, which begin with prefix. It returns what it
// has read too much.
func readHello(conn net.Conn, prefix []byte) (*wire.Hello, []byte, error) {
	const head = len(wire.Preface) + wire.HeaderSize
	buf := make([]byte, max(smallRead, len(prefix)))
	have := copy(buf, prefix)
	if err := checkPreface(buf[:have]); err != nil {
		return nil, nil, err
	}
	need := func(n int) error {
		if n > len(buf) {
			grown := make([]byte, n)
			copy(grown, buf[:have])
			buf = grown
		}
		for have < n {
			m, err := conn.Read(buf[have:])
			have += m
			if err := checkPreface(buf[:have]); err != nil {
				return err
			}
			if err != nil && have < n {
				if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() && have >= len(wire.Preface) {
					return &helloError{wire.DeadlineExceeded, err}
				}
				return err
			}
		}
		return nil
	}
	if err := need(head); err != nil {
		return nil, nil, err
	}
	h := wire.ParseHeader(buf[len(wire.Preface):])
	if err := h.Check(); err != nil {
		return nil, nil, &helloError{wire.Internal, err}
	}
	if err := need(head + int(h.Length)); err != nil {
		return nil, nil, err
	}
	payload := buf[head : head+int(h.Length)]
	switch h.Type {
	case wire.TypeHello:
		hello, err := wire.ParseHello(payload)
		if err != nil {
			return nil, nil, &helloError{wire.Internal, err}
		}
		// An int may have 32 bits; the other limits are bounded by the parser.
		hello.MaxMessage = min(hello.MaxMessage, math.MaxInt32)
		hello.MaxMetadata = min(hello.MaxMetadata, math.MaxInt32)
		return hello, buf[head+int(h.Length) : have], nil
	case wire.TypeGoAway:
		return nil, nil, &goneError{wire.Status{Code: wire.Code(h.Code), Message: string(payload[:min(len(payload), maxGoAway)])}}
	default:
		return nil, nil, &helloError{wire.Internal, fmt.Errorf("the first frame has type %d, want a hello", h.Type)}
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
	return fmt.Errorf("the other side does not speak weft: it began with %q", b)
}

// handshakeStatus turns the failure of a handshake into a status.
func handshakeStatus(ctx context.Context, err error, limit time.Duration) *wire.Status {
	if gone, ok := errors.AsType[*goneError](err); ok {
		st := gone.status
		st.Outcome = wire.NotSent
		return &st
	}
	st := &wire.Status{Code: wire.Unavailable, Outcome: wire.NotSent, Reason: "HANDSHAKE", Message: "handshake: " + err.Error()}
	if ctx.Err() != nil {
		st.Code = fromContext(ctx).Code
		st.Message = "handshake: " + contextError(ctx)
	} else if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		st.Message = fmt.Sprintf("handshake: no answer within %v", limit)
	} else if errors.Is(err, io.EOF) {
		st.Message = "handshake: the other side closed the connection without a word"
	}
	return st
}
