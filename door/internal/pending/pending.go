// Package pending is the client's side of a connection whose requests have numbers that come back
// with the responses, in any order.
package pending

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/combine"
	"github.com/weftrpc/weft/internal/due"
	"github.com/weftrpc/weft/internal/spare"
)

// Calls are those of one connection; A is what ends a call. They have the methods of weft.WireConn but Call.
type Calls[A any] struct {
	conn net.Conn
	out  *combine.Writer
	done chan struct{}

	oneway chan struct{}       // holds one for each one-way call under way
	spare  spare.Pool[call[A]] // of calls that were answered

	mu    sync.Mutex
	seq   uint64
	calls map[uint64]*call[A]
	err   error // why the connection has ended
}

// call is one call that waits for its response.
type call[A any] struct {
	answer chan answer[A] // has room for one; nil: a one-way call
	alarm  due.Alarm      // of the goroutine that waits for it
}

// answer is what ends a call.
type answer[A any] struct {
	a   A
	err error // in place of it
}

// New returns a connection whose requests are written by out. What reads its responses calls
// Answer for each and Lost at the end.
func New[A any](conn net.Conn, out *combine.Writer) *Calls[A] {
	c := &Calls[A]{conn: conn, out: out, calls: make(map[uint64]*call[A]), done: make(chan struct{}), oneway: make(chan struct{}, maxOneway)}
	c.spare.Make = func() *call[A] { return &call[A]{answer: make(chan answer[A], 1)} }
	return c
}

// Conn implements weft.WireConn.
func (c *Calls[A]) Conn() net.Conn { return c.conn }

// Done implements weft.WireConn.
func (c *Calls[A]) Done() <-chan struct{} { return c.done }

// Err implements weft.WireConn.
func (c *Calls[A]) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close implements weft.WireConn.
func (c *Calls[A]) Close() error {
	c.fail(&weft.Error{Code: weft.Canceled, Reason: weft.ReasonClosed, Message: "the connection was closed by this side"})
	return nil
}

// Do makes a call: messages makes the request of a number, of which nothing is sent if it cannot be made. Nothing is waited
// for of a one-way call, and a is the zero value then.
func (c *Calls[A]) Do(ctx context.Context, oneway bool, messages func(seq uint64) ([][]byte, error)) (a A, err error) {
	var x *call[A]
	if !oneway {
		x = c.spare.Take()
	} else if err := c.waitOneway(ctx); err != nil {
		return a, err
	} else {
		x = new(call[A])
	}
	seq, err := c.enter(x)
	if err != nil {
		if oneway {
			<-c.oneway
		}
		return a, err
	}
	request, err := messages(seq)
	if err != nil { // the other calls of the connection go on
		c.forget(seq)
		return a, NotSent(weft.InvalidArgument, weft.ReasonEncode, "encode the request: %w", err)
	}
	appended, err := c.out.SendWithin(ctx, request...)
	switch {
	case err == nil:
	case !appended && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		c.forget(seq)
		return a, NotSent(weft.CodeOf(err), "", "%w before the request was written: the server does not read", err)
	default:
		left := c.leave(seq)
		c.fail(weft.Errorf(weft.Unavailable, "write: %w", err))
		switch {
		case oneway && left != nil:
			<-c.oneway
		case !oneway && left == nil && appended:
			// The connection ended when the request had been written: its answer may have come before.
			got := <-x.answer
			return got.a, got.err
		}
		if !appended {
			return a, notTaken(c.Err())
		}
		return a, c.Err()
	}
	if oneway {
		return a, nil
	}
	got, ok := due.Receive(ctx, &x.alarm, x.answer)
	if !ok {
		if c.leave(seq) != nil { // the server cannot be told
			return a, weft.Errorf(weft.CodeOf(ctx.Err()), "%w before the reply came", ctx.Err())
		}
		got = <-x.answer // it is there, or will be at once
	}
	c.spare.Give(x) // nothing else refers to it: one answer comes to a call
	return got.a, got.err
}

// Answer ends the call with a number. A call that has been given up is none any more.
func (c *Calls[A]) Answer(seq uint64, a A) {
	switch x := c.leave(seq); {
	case x == nil: // its caller has left
	case x.answer == nil:
		<-c.oneway
	default:
		x.answer <- answer[A]{a: a}
	}
}

// maxOneway is how many one-way calls may be under way: no caller waits for their ends.
const maxOneway = 1024

// waitOneway waits until one more one-way call may be under way.
func (c *Calls[A]) waitOneway(ctx context.Context) error {
	select {
	case c.oneway <- struct{}{}:
		return nil
	default: // to wait for ctx costs a timer
	}
	select {
	case c.oneway <- struct{}{}:
		return nil
	case <-c.done:
		return notTaken(c.Err())
	case <-ctx.Done():
		return NotSent(weft.CodeOf(ctx.Err()), "", "%w: as many one-way calls are under way as may be", ctx.Err())
	}
}

// Drain implements weft.WireDrainer: the response to a one-way call acknowledges it.
func (c *Calls[A]) Drain(done <-chan struct{}) {
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

// NotSent is the error of a call that was not sent.
func NotSent(code weft.Code, reason, format string, args ...any) error {
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
func (c *Calls[A]) enter(x *call[A]) (uint64, error) {
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
func (c *Calls[A]) forget(seq uint64) {
	if x := c.leave(seq); x != nil && x.answer == nil {
		<-c.oneway
	}
}

// leave takes a call out; nil if the connection has done so, which then answers it.
func (c *Calls[A]) leave(seq uint64) *call[A] {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.calls[seq]
	delete(c.calls, seq)
	return x
}

// Lost ends a connection that cannot be read further.
func (c *Calls[A]) Lost(err error) {
	if cause := c.out.Failure(); cause != nil {
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
func (c *Calls[A]) fail(why error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = why
	open := c.calls
	c.calls = nil
	c.mu.Unlock()
	c.out.Close()
	close(c.done)
	for _, x := range open {
		if x.answer != nil {
			x.answer <- answer[A]{err: why}
		} else {
			<-c.oneway
		}
	}
	c.conn.Close() // with TLS that takes a while if the server does not read
}
