package carriers

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/weftrpc/weft"
)

// Conns are the connections, which together stand for one of a weft client. They have the methods of
// weft.WireConn but Call, and Drain.
type Conns struct {
	o     Options
	cfg   weft.WireConfig
	first net.Conn
	h2    bool
	base  string // of URLs
	cred  string // the credential of the connection

	done   chan struct{}
	oneway chan struct{} // holds one for each one-way call under way

	mu       sync.Mutex
	conns    []*Carrier    // is replaced when it changes
	dialing  int           // connections that are being made
	freed    chan struct{} // is closed, and replaced, when a connection may have room
	waiting  int           // callers that wait for room or make a connection
	lost     bool          // the last carrier ended, and no answer on it had announced that, or no other one could be made
	err      error         // why the connection takes no more calls
	refuses  bool          // the server takes no more calls
	draining bool          // Drain waits for the ends of one-way calls
	shut     *weft.Error   // the error of calls that Close has ended; nil: it was not called
}

// Carrier is a connection of net/http and what is under it.
type Carrier struct {
	*nethttp.ClientConn
	under net.Conn

	// The fields below belong to Conns.mu.
	open   int  // requests whose answers have not begun
	closes bool // an answer has announced that the server closes the connection behind it
	ended  bool
}

// maxOneway is how many one-way calls may be under way: no caller waits for their ends.
const maxOneway = 1024

// Dial makes the first connection.
func Dial(ctx context.Context, cfg weft.WireConfig, o Options) (*Conns, error) {
	nc, err := o.dial(ctx, cfg)
	if err != nil {
		return nil, err
	}
	c := &Conns{o: o, cfg: cfg, first: nc, done: make(chan struct{}), freed: make(chan struct{}), oneway: make(chan struct{}, maxOneway)}
	c.h2 = o.speaksHTTP2(nc)
	c.base = scheme(nc) + "://" + cfg.Address
	if cfg.Credential != (weft.Credential{}) {
		c.cred = strings.TrimSpace(cfg.Credential.Scheme + " " + cfg.Credential.Token)
	}
	if err := c.add(ctx, nc); err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

// Post makes a request by POST with a path and a header, to which the credential of the connection is added.
func (c *Conns) Post(ctx context.Context, path string, h nethttp.Header) (*nethttp.Request, error) {
	u, err := url.Parse(c.base)
	if err != nil {
		return nil, NotSent(weft.InvalidArgument, "", "%w", err)
	}
	u.Path = path
	if c.cred != "" && h.Get("Authorization") == "" {
		h["Authorization"] = []string{c.cred}
	}
	r := &nethttp.Request{Method: nethttp.MethodPost, URL: u, Host: c.cfg.Address, Header: h, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	return r.WithContext(ctx), nil
}

// add makes a connection one of the carriers.
func (c *Conns) add(ctx context.Context, nc net.Conn) error {
	x := &Carrier{under: nc}
	cc, err := c.o.clientConn(ctx, nc, c.cfg.Address, func() { c.refused(x) })
	if err != nil {
		return weft.Errorf(weft.Unavailable, "%w", err)
	}
	x.ClientConn = cc
	c.mu.Lock()
	c.conns = append(slices.Clone(c.conns), x)
	c.lost = false
	shut := c.shut
	c.mu.Unlock()
	cc.SetStateHook(func(*nethttp.ClientConn) { c.changed(x) })
	c.changed(x) // what has happened meanwhile
	if shut != nil {
		x.sever()
	}
	return nil
}

// sever closes the connection without the last message of TLS, for which it would wait while the server does
// not read.
func (x *Carrier) sever() {
	under := x.under
	if t, ok := under.(*tls.Conn); ok {
		under = t.NetConn()
	}
	_ = under.Close()
	_ = x.Close()
}

// changed looks at a carrier whose state has changed.
func (c *Conns) changed(x *Carrier) {
	ended := x.Err() != nil
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wakeLocked()
	if !ended || x.ended {
		return
	}
	x.ended = true
	if i := slices.Index(c.conns, x); i >= 0 {
		c.conns = slices.Delete(slices.Clone(c.conns), i, i+1)
	}
	c.lookLocked(x)
}

// opened counts a request that is sent on a carrier.
func (c *Conns) opened(x *Carrier) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x.open++
}

// answered notes the beginning of an answer, which tells whether the server closes the connection behind it; nil: none came. The
// carrier may have ended already, since net/http reads on by itself.
func (c *Conns) answered(x *Carrier, res *nethttp.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x.open--
	x.closes = x.closes || res != nil && res.Close && !c.h2
	if x.ended {
		c.lookLocked(x)
	}
}

// lookLocked tells by a carrier that has ended whether the server is lost. A server that closes a connection behind an answer, and
// says so, is not: the next call makes another connection.
func (c *Conns) lookLocked(x *Carrier) {
	// Of those that are there, the ones that the server closes behind their answers may end later. Of calls that are open, answered looks again.
	if x.open == 0 && !x.closes && !slices.ContainsFunc(c.conns, func(x *Carrier) bool { return !x.closes }) {
		c.lost = true
	}
	c.endIfLostLocked()
}

// refused notes that a server of HTTP/2 takes no more calls on a carrier. Those that are under way go on.
func (c *Conns) refused(x *Carrier) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x.closes = true
	c.refuses = c.h2
	if c.h2 && c.err == nil {
		c.failLocked(weft.Errorf(weft.Unavailable, "the server takes no more calls on the connection"))
	}
}

// wakeLocked has the callers that wait for room look again.
func (c *Conns) wakeLocked() {
	close(c.freed)
	c.freed = make(chan struct{})
}

// endIfLostLocked ends the connection if the server is lost and none is being made. A caller that waits for room makes
// one before that, except by HTTP/2, of which there is one connection.
func (c *Conns) endIfLostLocked() {
	if c.err == nil && c.lost && len(c.conns) == 0 && c.dialing == 0 && (c.h2 || c.waiting == 0) {
		c.failLocked(weft.Errorf(weft.Unavailable, "the server closed the connection"))
	}
}

// Take finds a carrier with room for a call, or makes one. Send on it, or Release of it, must follow.
func (c *Conns) Take(ctx context.Context) (*Carrier, error) {
	x, _, err := c.reserve()
	if x != nil || err != nil {
		return x, err
	}
	c.mu.Lock()
	c.waiting++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiting--
		c.endIfLostLocked()
	}()
	for {
		x, freed, err := c.reserve()
		if x != nil || err != nil {
			return x, err
		}
		if c.mayDial() {
			if err := c.dial(ctx); err != nil {
				return nil, Unsent(err)
			}
			continue
		}
		select {
		case <-freed:
		case <-c.done:
		case <-ctx.Done():
			return nil, NotSent(weft.CodeOf(ctx.Err()), "", "%w before a connection had room for the call", ctx.Err())
		}
	}
}

// reserve finds a carrier with room for a call. If there is none, freed is closed when that may have changed.
func (c *Conns) reserve() (x *Carrier, freed <-chan struct{}, err error) {
	c.mu.Lock()
	conns, freed, err := c.conns, c.freed, c.err
	c.mu.Unlock()
	if err != nil {
		return nil, nil, Unsent(err)
	}
	for _, x := range conns {
		if x.Reserve() == nil {
			return x, nil, nil
		}
	}
	return nil, freed, nil
}

// mayDial takes the right to make one more connection, if there may be one.
func (c *Conns) mayDial() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	ok := !c.h2 && c.err == nil && len(c.conns)+c.dialing < c.o.MaxConns
	if ok {
		c.dialing++
	}
	return ok
}

// dial makes one more connection of HTTP/1.1.
func (c *Conns) dial(ctx context.Context) error {
	nc, err := c.o.dial(ctx, c.cfg)
	if err == nil {
		if err = c.add(ctx, nc); err != nil {
			nc.Close()
		}
	}
	c.mu.Lock()
	c.dialing--
	if err != nil {
		c.wakeLocked() // one of them may dial now
		c.lost = c.lost || ctx.Err() == nil && len(c.conns) == 0
		c.endIfLostLocked()
	}
	c.mu.Unlock()
	if err != nil && ctx.Err() != nil {
		return weft.Errorf(weft.CodeOf(ctx.Err()), "%w before a connection was made", ctx.Err())
	}
	return err
}

// Conn implements weft.WireConn.
func (c *Conns) Conn() net.Conn { return c.first }

// Done implements weft.WireConn.
func (c *Conns) Done() <-chan struct{} { return c.done }

// Err implements weft.WireConn.
func (c *Conns) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close implements weft.WireConn. One-way calls on a connection of which the server has said that it takes no more calls go on: the
// connection ends behind them, or when Close is called again.
func (c *Conns) Close() error {
	c.mu.Lock()
	lingers := c.refuses && c.shut == nil && len(c.oneway) > 0
	if c.shut == nil {
		c.shut = &weft.Error{Code: weft.Canceled, Reason: weft.ReasonClosed, Message: "the connection was closed by this side"}
	}
	if c.err == nil {
		c.failLocked(c.shut)
	}
	conns := c.conns
	c.mu.Unlock()
	if lingers {
		// It ends with the calls, which end with their deadlines or with the connection.
		go func() {
			c.Drain(nil)
			severAll(conns)
		}()
		return nil
	}
	severAll(conns)
	return nil
}

func severAll(conns []*Carrier) {
	for _, x := range conns {
		x.sever()
	}
}

// failLocked notes why the connection takes no more calls. A caller that is told so finds done closed, and makes its call elsewhere.
func (c *Conns) failLocked(why error) {
	c.err = why
	close(c.done)
}

// Drain implements weft.WireDrainer: the answer to a one-way call acknowledges it. Those of a connection that is lost end too.
func (c *Conns) Drain(done <-chan struct{}) {
	for {
		c.mu.Lock()
		c.draining = true
		freed, n := c.freed, len(c.oneway)
		c.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-freed:
		case <-done:
			return
		}
	}
}

// onewayEnded gives the place of a one-way call back.
func (c *Conns) onewayEnded() {
	<-c.oneway
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining {
		c.wakeLocked()
	}
}

// NotSent is the error of a call that was not sent.
func NotSent(code weft.Code, reason, format string, args ...any) *weft.Error {
	e := weft.Errorf(code, format, args...).WithReason(reason)
	e.Outcome = weft.NotSent
	return e
}

// Unsent makes the error of a call that was not sent of what kept it from that.
func Unsent(err error) *weft.Error {
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
