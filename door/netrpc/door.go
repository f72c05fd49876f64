package netrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/gob"
	"github.com/weftrpc/weft/door/internal/combine"
	"github.com/weftrpc/weft/door/internal/errtext"
	"github.com/weftrpc/weft/door/netrpc/internal/header"
	"github.com/weftrpc/weft/internal/turns"
)

// Door returns a door for clients of net/rpc.
func Door() weft.Door { return door{} }

type door struct{}

func (door) Name() string { return weft.WireNetRPC }

func (door) Protocols() []string { return nil }

// sniffed is how many bytes tell a stream of net/rpc: a length, the number of a type in
// up to four bytes, and the beginning of the description of a struct named Request.
const sniffed = 16

// described is that beginning.
const described = "\x03\x01\x01\x07Request"

func (door) Match(prefix []byte) (yes, more bool) {
	if n := min(len(prefix), len(connect)); string(prefix[:n]) == connect[:n] {
		return n == len(connect), n < len(connect)
	}
	if bytes.Contains(prefix[:min(len(prefix), sniffed)], []byte(described)) {
		return true, false
	}
	// A description of some 40 bytes, which its first byte tells.
	return false, len(prefix) < sniffed && prefix[0] > 0x20 && prefix[0] < 0x60 && (len(prefix) < 2 || prefix[1] == 0x7f || prefix[1] > 0xfb)
}

// Serve implements weft.Door.
func (door) Serve(c *weft.DoorConn) error {
	if _, err := c.Admit(weft.Credential{}, nil); err != nil {
		return err
	}
	limits := c.Limits()
	conn, err := accepted(c)
	if err != nil {
		return err
	}
	s := &serverConn{DoorConn: c, codec: gob.New(), out: newWriter(conn, limits)}
	ended := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { s.drain(ended) })
	err = func() error {
		defer wg.Wait() // also when reading panics
		defer close(ended)
		return s.read(gob.NewReader(conn, limits.MaxMessage))
	}()
	if s.drained() {
		return nil
	}
	s.out.Close()
	return err
}

// serverConn is one connection of the door.
type serverConn struct {
	*weft.DoorConn
	codec codec.Codec
	out   *combine.Writer
	turns turns.Turns // of replies that are encoded and wait for room

	mu       sync.Mutex
	open     int // calls that were begun and not answered
	draining bool
	idle     chan struct{} // closed when the connection drains and no call is open
}

// newWriter returns a writer of messages of gob.
func newWriter(conn net.Conn, limits weft.Limits) *combine.Writer {
	return combine.New(conn, limits.WriteBuffer, limits.WriteTimeout, new(gob.Writer).Append)
}

// maxHeader is how many bytes the header of a request may have, with the descriptions of its
// types: the name of its method is held while the call is under way, and goes into its answer.
const maxHeader = 4 << 10

// read takes requests off the connection until it ends.
func (s *serverConn) read(r *gob.Reader) error {
	var buf []byte
	for {
		var err error
		if buf, err = r.Next(buf[:0]); err != nil {
			return ended(err)
		}
		if len(buf) > maxHeader {
			return broken(fmt.Errorf("a header of %d bytes came, at most %d are allowed", len(buf), maxHeader))
		}
		var h header.Request
		if err := s.codec.Decode(buf, &h); err != nil {
			return broken(err)
		}
		body, err := r.Next(nil)
		if err != nil {
			return ended(err)
		}
		s.begin(&inbound{s: s, seq: h.Seq, method: h.ServiceMethod, body: body})
	}
}

// ended is the error of a connection that was read to its end.
func ended(err error) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	if _, lost := errors.AsType[net.Error](err); lost || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return err
	}
	return broken(err)
}

// broken is the error of a connection behind whose last bytes no message can be found.
func broken(err error) error {
	if errors.Is(err, gob.ErrTooLarge) {
		return weft.Errorf(weft.ResourceExhausted, "%w (Limits.MaxMessage of the server)", err).WithReason(weft.ReasonMessageTooLarge)
	}
	return weft.Errorf(weft.InvalidArgument, "%w", err).WithReason(weft.ReasonProtocol)
}

// begin has a call run on a worker.
func (s *serverConn) begin(in *inbound) {
	s.mu.Lock()
	if s.draining {
		s.mu.Unlock()
		in.respond(&weft.Error{Code: weft.Unavailable, Outcome: weft.Refused, Reason: weft.ReasonDraining,
			Message: "the server is shutting down; call another server"})
		return
	}
	s.open++
	s.mu.Unlock()
	if call := s.Begin(weft.Head{Method: in.method, Codec: s.codec.Name(), Size: len(in.body)}, in); call != nil {
		s.Go(call.Run)
	}
}

// answered notes that a call is no longer open.
func (s *serverConn) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open--; s.open == 0 && s.draining {
		close(s.idle)
	}
}

// drain waits until the server shuts down, lets the calls end that are open, and ends the
// reading. Requests that still come are refused until then.
func (s *serverConn) drain(over chan struct{}) {
	select {
	case <-s.Draining():
	case <-over:
		return
	}
	s.mu.Lock()
	s.draining, s.idle = true, make(chan struct{})
	if s.open == 0 {
		close(s.idle)
	}
	idle := s.idle
	s.mu.Unlock()
	select {
	case <-idle:
		s.Conn().SetReadDeadline(time.Unix(1, 0))
	case <-over:
	}
}

// drained reports whether the connection ended because it was drained.
func (s *serverConn) drained() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining && s.open == 0
}

// inbound is one call.
type inbound struct {
	s      *serverConn
	seq    uint64
	method string
	body   []byte
}

func (in *inbound) Decode(v any) error { return in.s.codec.Decode(in.body, v) }

// maxEncoded is how many replies of a connection may be encoded and wait for room, which a peer
// that does not read could otherwise make as many as its calls.
const maxEncoded = 16

func (in *inbound) Reply(v any, _ weft.Metadata) error {
	in.s.turns.Take(maxEncoded)
	defer in.s.turns.Give()
	if in.s.out.Failure() != nil { // nothing can be sent
		in.s.answered()
		return nil
	}
	body, err := in.s.codec.Append(nil, v)
	if err != nil {
		return weft.Errorf(weft.Internal, "encode the reply: %w", err).WithReason(weft.ReasonEncode)
	}
	if limit := in.s.Limits().MaxMessage; len(body) > limit {
		return weft.Errorf(weft.ResourceExhausted, "the reply has %d bytes, Limits.MaxMessage of the server allows %d", len(body), limit).
			WithReason(weft.ReasonMessageTooLarge)
	}
	in.send("", body)
	in.s.answered()
	return nil
}

func (in *inbound) Fail(e *weft.Error, _ weft.Metadata) {
	in.respond(e)
	in.s.answered()
}

// respond sends an error.
func (in *inbound) respond(e *weft.Error) {
	named := *e
	named.Method = in.method
	body, err := in.s.codec.Append(nil, struct{}{})
	if err == nil {
		in.send(errtext.Of(&named), body)
	}
}

// send writes a response. An error of it is that of the connection, which reading finds.
func (in *inbound) send(text string, body []byte) {
	h := header.Response{ServiceMethod: in.method, Seq: in.seq, Error: text}
	head, err := in.s.codec.Append(nil, &h)
	if err == nil {
		_ = in.s.out.Send(head, body)
	}
}

// Stream is never called: no Head of this door opens a stream.
func (in *inbound) Stream(context.Context) weft.RawStream { return nil }
