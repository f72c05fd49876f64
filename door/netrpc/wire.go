package netrpc

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/gob"
	"github.com/weftrpc/weft/door/netrpc/internal/header"
)

// Wire returns a wire to servers of net/rpc, for addresses such as
// "netrpc://127.0.0.1:1234". Whatever codec a call names, it travels as gob.
func Wire() weft.Wire { return wire{} }

// wire implements weft.Wire.
type wire struct{}

func (wire) Scheme() string { return "netrpc" }

func (wire) Protocols() []string { return nil }

// Dial implements weft.Wire.
func (wire) Dial(ctx context.Context, cfg weft.WireConfig) (weft.WireConn, error) {
	conn, err := cfg.Dial(ctx)
	if err != nil {
		return nil, err
	}
	c := &clientConn{
		conn: conn, codec: gob.New(), out: newWriter(conn, cfg.Limits), limit: cfg.Limits.MaxMessage,
		calls: make(map[uint64]*call), done: make(chan struct{}), oneway: make(chan struct{}, maxOneway),
	}
	// It ends when the connection does.
	go c.read()
	return c, nil
}

// clientConn is one connection of the wire.
type clientConn struct {
	conn  net.Conn
	codec codec.Codec
	out   *writer
	limit int
	done  chan struct{}

	oneway chan struct{} // holds one for each one-way call under way

	mu    sync.Mutex
	seq   uint64
	calls map[uint64]*call
	err   error // why the connection has ended
}

// call is one call that waits for its response.
type call struct {
	answer chan answer // has room for one; nil: a one-way call
}

// answer is what ends a call.
type answer struct {
	text string
	body []byte
	err  error // in place of both
}

func (c *clientConn) Conn() net.Conn { return c.conn }

func (c *clientConn) Done() <-chan struct{} { return c.done }

func (c *clientConn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *clientConn) Close() error {
	c.fail(&weft.Error{Code: weft.Canceled, Reason: weft.ReasonClosed, Message: "the connection was closed by this side"})
	return nil
}

// Call implements weft.WireConn.
func (c *clientConn) Call(ctx context.Context, w *weft.WireCall) error {
	body, err := c.codec.Append(nil, w.Args)
	if err != nil {
		return notSent(weft.InvalidArgument, weft.ReasonEncode, "encode the request: %w", err)
	}
	if len(body) > c.limit {
		return notSent(weft.ResourceExhausted, weft.ReasonMessageTooLarge, "the request has %d bytes, Limits.MaxMessage of the client allows %d", len(body), c.limit)
	}
	x := &call{}
	if !w.Oneway {
		x.answer = make(chan answer, 1)
	} else if err := c.waitOneway(ctx); err != nil {
		return err
	}
	seq, err := c.enter(x)
	if err != nil {
		if w.Oneway {
			<-c.oneway
		}
		return err
	}
	head, err := c.codec.Append(nil, &header.Request{ServiceMethod: w.Method, Seq: seq})
	appended := false
	if err == nil {
		appended, err = c.out.sendWithin(ctx, head, body)
	}
	switch {
	case err == nil:
	case !appended && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		c.forget(seq)
		return notSent(weft.CodeOf(err), "", "%w before the request was written: the server does not read", err)
	default:
		c.forget(seq)
		c.fail(weft.Errorf(weft.Unavailable, "write: %w", err))
		if !appended {
			return notTaken(c.Err())
		}
		return c.Err()
	}
	if w.Oneway {
		return nil
	}
	select {
	case a := <-x.answer:
		return c.finish(a, w.Reply)
	case <-ctx.Done():
		if c.leave(seq) == nil { // its answer is there, or will be at once
			return c.finish(<-x.answer, w.Reply)
		}
		// The server cannot be told.
		return weft.Errorf(weft.CodeOf(ctx.Err()), "%w before the reply came", ctx.Err())
	}
}

// maxOneway is how many one-way calls may be under way: no caller waits for their ends.
const maxOneway = 1024

// waitOneway waits until one more one-way call may be under way.
func (c *clientConn) waitOneway(ctx context.Context) error {
	select {
	case c.oneway <- struct{}{}:
		return nil
	case <-c.done:
		return notTaken(c.Err())
	case <-ctx.Done():
		return notSent(weft.CodeOf(ctx.Err()), "", "%w: as many one-way calls are under way as may be", ctx.Err())
	}
}

// Drain implements weft.WireDrainer: the response to a one-way call acknowledges it.
func (c *clientConn) Drain(done <-chan struct{}) {
	for range cap(c.oneway) { // all places are free then
		select {
		case c.oneway <- struct{}{}:
		case <-c.done:
			return
		case <-done:
			return
		}
	}
}

// finish makes a result of an answer.
func (c *clientConn) finish(a answer, reply any) error {
	switch {
	case a.err != nil:
		return a.err
	case a.text != "":
		return errorOf(a.text)
	case reply == nil:
		return nil
	}
	if err := c.codec.Decode(a.body, reply); err != nil {
		e := weft.Errorf(weft.Internal, "decode the reply: %w", err).WithReason(weft.ReasonDecode)
		e.Outcome = weft.Executed
		return e
	}
	return nil
}

func notSent(code weft.Code, reason, format string, args ...any) error {
	e := weft.Errorf(code, format, args...).WithReason(reason)
	e.Outcome = weft.NotSent
	return e
}

// notTaken is the error of a call that a connection which has ended does not take.
func notTaken(why error) error {
	e := weft.Errorf(weft.CodeOf(why), "%w", why)
	if known, ok := errors.AsType[*weft.Error](why); ok {
		*e = *known
	}
	e.Outcome = weft.NotSent
	return e
}

// enter gives a call its number.
func (c *clientConn) enter(x *call) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, notTaken(c.err)
	}
	c.seq++
	c.calls[c.seq] = x
	return c.seq, nil
}

// forget takes out a call that was not sent.
func (c *clientConn) forget(seq uint64) {
	if x := c.leave(seq); x != nil && x.answer == nil {
		<-c.oneway
	}
}

// leave takes a call out; nil if the connection has done so, which then answers it.
func (c *clientConn) leave(seq uint64) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.calls[seq]
	delete(c.calls, seq)
	return x
}

// read takes responses off the connection until it ends.
func (c *clientConn) read() {
	r := gob.NewReader(c.conn, c.limit)
	var buf []byte
	for {
		var err error
		if buf, err = r.Next(buf[:0]); err != nil {
			c.lost(err)
			return
		}
		var h header.Response
		if err := c.codec.Decode(buf, &h); err != nil {
			c.lost(err)
			return
		}
		body, err := r.Next(nil)
		if err != nil {
			c.lost(err)
			return
		}
		switch x := c.leave(h.Seq); {
		case x == nil: // its caller has left
		case x.answer == nil:
			<-c.oneway
		default:
			x.answer <- answer{text: h.Error, body: body}
		}
		if cap(buf) > keptBuffer {
			buf = nil // of the text of an error
		}
	}
}

// lost ends a connection that cannot be read further.
func (c *clientConn) lost(err error) {
	if cause := c.out.failure(); cause != nil {
		c.fail(weft.Errorf(weft.Unavailable, "write: %w", cause))
		return
	}
	if errors.Is(err, io.EOF) {
		c.fail(weft.Errorf(weft.Unavailable, "the server closed the connection"))
		return
	}
	c.fail(weft.Errorf(weft.Unavailable, "read: %w", err))
}

// fail ends the connection: the first reason counts. Whether the open calls have run is
// not known.
func (c *clientConn) fail(why error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = why
	open := c.calls
	c.calls = nil
	c.mu.Unlock()
	c.out.close()
	close(c.done)
	for _, x := range open {
		if x.answer != nil {
			x.answer <- answer{err: why}
		} else {
			<-c.oneway
		}
	}
	c.conn.Close() // with TLS that takes a while if the server does not read
}
