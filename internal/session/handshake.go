package session

import (
	"context"
	"net"

	"github.com/weftrpc/weft/internal/greeting"
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

// appendGreeting appends the greeting of this side.
func (c *Config) appendGreeting(dst []byte, credential string) []byte {
	h := c.hello(credential)
	return greeting.Append(dst, &h)
}

// greetingSize is room for a usual greeting and a first call or reply, in bytes.
const greetingSize = 512

// Dial makes a session of a connection that this side has made, and waits for the
// server's hello. It ends with ctx or when the handshake takes too long. The session
// needs a goroutine to Run it.
func Dial(ctx context.Context, conn net.Conn, cfg *Config, credential string) (*Session, *wire.Status) {
	stop := greeting.Bound(ctx, conn, cfg.Limits.HandshakeTimeout)
	s := newSession(conn, cfg)
	_, err := conn.Write(cfg.appendGreeting(make([]byte, 0, greetingSize), credential))
	var peer *wire.Hello
	var buf []byte
	var r, w int
	if err == nil {
		peer, buf, r, w, err = greeting.Read(conn, nil, greeting.ParseHello)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		st := greeting.Status(err, cfg.Limits.HandshakeTimeout)
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
	stop := greeting.Bound(ctx, conn, cfg.Limits.HandshakeTimeout)
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
	peer, buf, r, w, err := greeting.Read(conn, prefix, cfg.greetings.Parse)
	if err == nil {
		s.peer.hello.Store(peer)
		if cfg.Accept != nil {
			if st := cfg.Accept(s, peer.Credential); st != nil {
				stop()
				greeting.Refuse(conn, st)
				return nil, st
			}
		}
	}
	late := stop()
	switch told := greeting.Refusal(err); {
	case err == nil && late == nil:
	case late != nil && (err == nil || told != nil):
		greeting.Refuse(conn, late)
		return nil, late
	case told != nil:
		greeting.Refuse(conn, told)
		return nil, told
	default:
		conn.Close()
		if late == nil {
			late = greeting.Status(err, cfg.Limits.HandshakeTimeout)
		}
		return nil, late
	}
	s.w.BeginWith(cfg.greetings.Append(make([]byte, 0, greetingSize), func() wire.Hello { return cfg.hello("") }))
	s.start(buf, r, w)
	s.reading.current.dirty = true
	return s, nil
}
