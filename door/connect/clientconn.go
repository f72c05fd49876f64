package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	nethttp "net/http"
	"slices"
	"strings"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/door/internal/webjson"
)

// clientConn is a connection of the wire: one of HTTP/2, or some of HTTP/1.1.
type clientConn struct {
	w     *wire
	cfg   weft.WireConfig
	first net.Conn
	json  codec.Codec
	h2    bool
	base  string // of URLs
	cred  string // the credential of the connection

	done   chan struct{}
	oneway chan struct{} // holds one for each one-way call under way

	mu      sync.Mutex
	conns   []*carrier    // is replaced when it changes
	dialing int           // connections that are being made
	freed   chan struct{} // is closed, and replaced, when a connection may have room
	err     error         // why the connection has ended
}

// carrier is a connection of net/http and what is under it.
type carrier struct {
	*nethttp.ClientConn
	under net.Conn
}

// maxOneway is how many one-way calls may be under way: no caller waits for their ends.
const maxOneway = 1024

func newClientConn(w *wire, nc net.Conn, cfg weft.WireConfig) *clientConn {
	c := &clientConn{w: w, cfg: cfg, first: nc, json: webjson.New(false), done: make(chan struct{}), freed: make(chan struct{}),
		oneway: make(chan struct{}, maxOneway)}
	t, scheme := w.transport(nc)
	c.h2 = !t.Protocols.HTTP1()
	c.base = scheme + "://" + cfg.Address
	if cfg.Credential != (weft.Credential{}) {
		c.cred = strings.TrimSpace(cfg.Credential.Scheme + " " + cfg.Credential.Token)
	}
	return c
}

// add makes a connection one of the carriers.
func (c *clientConn) add(ctx context.Context, nc net.Conn) error {
	t, scheme := c.w.transport(nc)
	cc, err := t.NewClientConn(ctx, scheme, c.cfg.Address)
	if err != nil {
		return weft.Errorf(weft.Unavailable, "%w", err)
	}
	x := &carrier{cc, nc}
	c.mu.Lock()
	c.conns = append(slices.Clone(c.conns), x)
	ended := c.err
	c.mu.Unlock()
	cc.SetStateHook(func(*nethttp.ClientConn) { c.changed(x) })
	c.changed(x) // what has happened meanwhile
	if ended != nil {
		x.sever()
	}
	return nil
}

// sever closes the connection without the last message of TLS, for which it would wait while the server does
// not read.
func (x *carrier) sever() {
	under := x.under
	if t, ok := under.(*tls.Conn); ok {
		under = t.NetConn()
	}
	_ = under.Close()
	_ = x.Close()
}

// changed looks at a carrier whose state has changed.
func (c *clientConn) changed(x *carrier) {
	ended := x.Err()
	c.mu.Lock()
	close(c.freed)
	c.freed = make(chan struct{})
	if i := slices.Index(c.conns, x); ended != nil && i >= 0 {
		c.conns = slices.Delete(slices.Clone(c.conns), i, i+1)
	}
	alone := ended != nil && len(c.conns) == 0 && c.dialing == 0
	c.mu.Unlock()
	if alone {
		c.fail(weft.Errorf(weft.Unavailable, "the server closed the connection"))
	}
}

// take finds a carrier with room for a call, or makes one. RoundTrip of it must follow.
func (c *clientConn) take(ctx context.Context) (*carrier, error) {
	for {
		c.mu.Lock()
		conns, freed, err := c.conns, c.freed, c.err
		c.mu.Unlock()
		if err != nil {
			return nil, unsent(err)
		}
		for _, x := range conns {
			if x.Reserve() == nil {
				return x, nil
			}
		}
		if c.mayDial() {
			if err := c.dial(ctx); err != nil {
				return nil, unsent(err)
			}
			continue
		}
		select {
		case <-freed:
		case <-c.done:
		case <-ctx.Done():
			return nil, notSent(weft.CodeOf(ctx.Err()), "", "%w before a connection had room for the call", ctx.Err())
		}
	}
}

// mayDial takes the right to make one more connection, if there may be one.
func (c *clientConn) mayDial() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok := !c.h2 && c.err == nil && len(c.conns)+c.dialing < c.w.cfg.MaxConns
	if ok {
		c.dialing++
	}
	return ok
}

// dial makes one more connection of HTTP/1.1.
func (c *clientConn) dial(ctx context.Context) error {
	nc, err := c.w.dial(ctx, c.cfg)
	if err == nil {
		if err = c.add(ctx, nc); err != nil {
			nc.Close()
		}
	}
	c.mu.Lock()
	c.dialing--
	alone := len(c.conns) == 0 && c.dialing == 0
	c.mu.Unlock()
	if alone && err != nil {
		c.fail(weft.Errorf(weft.Unavailable, "the server closed the connection"))
	}
	if err != nil && ctx.Err() != nil {
		return weft.Errorf(weft.CodeOf(ctx.Err()), "%w before a connection was made", ctx.Err())
	}
	return err
}

// Conn implements weft.WireConn.
func (c *clientConn) Conn() net.Conn { return c.first }

// Done implements weft.WireConn.
func (c *clientConn) Done() <-chan struct{} { return c.done }

// Err implements weft.WireConn.
func (c *clientConn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close implements weft.WireConn.
func (c *clientConn) Close() error {
	c.fail(&weft.Error{Code: weft.Canceled, Reason: weft.ReasonClosed, Message: "the connection was closed by this side"})
	return nil
}

// fail ends the connection: the first reason counts.
func (c *clientConn) fail(why error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = why
	conns := c.conns
	c.mu.Unlock()
	close(c.done)
	for _, x := range conns {
		x.sever()
	}
}

// Drain implements weft.WireDrainer: the answer to a one-way call acknowledges it.
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

// notSent is the error of a call that was not sent.
func notSent(code weft.Code, reason, format string, args ...any) *weft.Error {
	e := weft.Errorf(code, format, args...).WithReason(reason)
	e.Outcome = weft.NotSent
	return e
}

// unsent makes the error of a call that was not sent of what kept it from that.
func unsent(err error) *weft.Error {
	e := weft.Errorf(weft.CodeOf(err), "%w", err)
	if known, ok := errors.AsType[*weft.Error](err); ok {
		*e = *known
	}
	if e.Code == weft.Unknown {
		e.Code = weft.Unavailable
	}
	e.Outcome = weft.NotSent
	return e
}
