package weft

import (
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/session"
)

// DoorMethod is a method that a door has looked up, for Head.Found: a door that keeps it
// with what names the method on its wire need not look it up for each call.
type DoorMethod struct {
	e *endpoint
	s *session.Method
}

// Method looks a method or alias up by its name. nil: there is none.
func (c *DoorConn) Method(name string) *DoorMethod {
	h := &c.s.host
	m := h.services.find(name)
	if m == nil {
		return nil
	}
	e, s := h.endpoint(m)
	return &DoorMethod{e, s}
}

// Stale reports whether the method must be looked up again: it was removed, or another one may have its name.
func (m *DoorMethod) Stale() bool { return m.s.Removed() }

// Kind is that of the method.
func (m *DoorMethod) Kind() Kind { return m.e.m.kind }

// Fast reports whether the calls of the method have been so short that the next one may run
// on the goroutine that reads the connection, between Enter and Leave of a DoorGuard.
func (m *DoorMethod) Fast() bool { return m.s.Fast() }

// Short reports whether the calls of the method, where they are not Fast, are so short that several may
// run one after the other on a goroutine, with a DoorGuard of their own.
func (m *DoorMethod) Short() bool { return m.s.Short() }

// Stalled notes that a call of the method has held up the goroutine that reads the connection.
func (m *DoorMethod) Stalled() { m.s.Stalled() }

// DoorGuard lets a door run short calls on the goroutine that reads the connection.
type DoorGuard struct{ *session.Guard }

// Guard returns a guard for the goroutine that reads the connection. That goroutine calls Enter before it runs a call or writes, and Leave
// behind it. When it is held up between the two, takeOver is called, on a goroutine of the server: it takes over all that belongs to the
// reader, and starts another one. Leave then returns false.
func (c *DoorConn) Guard(takeOver func()) DoorGuard { return DoorGuard{c.s.exec.Guard(takeOver)} }

// Codec is the codec of the server that has a name; nil: there is none.
func (c *DoorConn) Codec(name string) codec.Codec { return c.s.host.codecs[name] }

// Codecs are those of the server, in the order of its configuration.
func (c *DoorConn) Codecs() []codec.Codec {
	all := make([]codec.Codec, 0, len(c.s.host.names))
	for _, name := range c.s.host.names {
		all = append(all, c.s.host.codecs[name])
	}
	return all
}

// Compressors are what callers may use.
func (c *DoorConn) Compressors() []compress.Compressor { return c.s.cfg.Compressors }

// Compressor is what compresses replies to callers that can undo it; nil: none does.
func (c *DoorConn) Compressor() compress.Compressor { return c.s.cfg.Compressor }

// Services are those of the server, for a door that looks up methods before it begins a call.
func (c *DoorConn) Services() *Services { return c.s.Services }

// Hold counts n bytes more, or fewer if n is below zero, that the door holds for the peer beside the requests that it has begun: parts of
// requests, unread messages, replies that wait to be written. They count against ServerConfig.MaxMemory. It reports whether there is room
// for new work; far beyond the bound the server ends the connection for which most is held. Hold does not wait. Admit must have succeeded.
func (c *DoorConn) Hold(n int) (room bool) {
	c.account.Add(int64(n))
	return c.account.Room(0)
}

// Room reports whether there is room for n bytes more, for a door that would hold them for a moment by Hold. Admit must have succeeded.
func (c *DoorConn) Room(n int) bool { return c.account.Room(int64(n)) }

// DecodeBody decodes the request of the call, for Inbound.Decode, or a message of its stream, for RawStream.Recv, as DecodeInTurn does. Its
// error is an *Error where it is that of a message.
func (x *DoorCall) DecodeBody(c codec.Codec, body []byte, v any) error {
	if x.info.Stream {
		defer x.decoded()
	}
	err := x.DecodeInTurn(len(body), func() error { return session.Decode(c, body, v) })
	if e := (*Error)(nil); err != nil && x.info.Stream && !asWeft(err, &e) {
		err = Errorf(InvalidArgument, "decode a message with codec %s: %w", c.Name(), err).WithReason(ReasonDecode)
	}
	return err
}

// DecodeInTurn calls decode, for Inbound.Decode of a wire whose messages have no codec. Large messages, of n bytes, wait for their turn: few
// of a connection, and of all connections of the server, are decoded at a time, so that calls of others go on.
func (x *DoorCall) DecodeInTurn(n int, decode func() error) error {
	return x.a.h.inTurn(x.a.ctx, n, decode)
}
