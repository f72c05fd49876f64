package thrift

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strings"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/door/internal/pending"
	"github.com/weftrpc/weft/door/thrift/internal/plan"
)

// Protocol is how a Wire encodes messages.
type Protocol uint8

// The protocols.
const (
	Binary    Protocol = iota // the strict binary protocol
	BinaryOld                 // the binary protocol without the mark of its version
	Compact                   // the compact protocol
	JSON                      // the JSON protocol; not with THeader
)

// Framing is what a Wire puts before each message.
type Framing uint8

// The framings. A server has one of its own; a weft server takes all.
const (
	Framed   Framing = iota // the length of the message: TFramedTransport, and all nonblocking servers
	Unframed                // nothing: TSocket and TBufferedTransport
	THeader                 // a header, which carries metadata and deadlines too
)

// WireConfig configures a wire. The zero value, and a nil pointer to one, are those of most servers: the binary protocol with frames.
type WireConfig struct {
	// Scheme is that of the addresses, so that a client may have wires for several kinds of servers. "": "thrift".
	Scheme string
	// Protocol is how messages are encoded.
	Protocol Protocol
	// Framing is what stands before each message.
	Framing Framing
	// Multiplexed says that the server has several services: a call of "Service.Method" names both, as
	// TMultiplexedProtocol does. Otherwise it names the method alone.
	Multiplexed bool
	// MaxConns is how many connections there are at most to a server, for calls that are under way at the same time: a server of Thrift
	// usually runs the calls of a connection one after the other. A call gets a connection without calls, then a new one, and then waits
	// behind the fewest others. 0: DefaultMaxConns.
	MaxConns int
}

// DefaultMaxConns is how many connections a wire makes to a server at most.
const DefaultMaxConns = 8

// Wire returns a wire to servers of Thrift, for addresses such as "thrift://127.0.0.1:9090". The method "Service.Method" is "Method" there,
// or "Service:Method" with WireConfig.Multiplexed; messages are mapped as by the Door. Whatever codec a call names, it travels as Thrift.
func Wire(cfg *WireConfig) weft.Wire {
	w := &wire{}
	if cfg != nil {
		w.cfg = *cfg
	}
	w.cfg.Scheme = cmp.Or(w.cfg.Scheme, "thrift")
	if w.cfg.MaxConns <= 0 {
		w.cfg.MaxConns = DefaultMaxConns
	}
	return w
}

// wire implements weft.Wire.
type wire struct {
	cfg     WireConfig
	plans   plan.Set
	methods sync.Map // of *plan.Method, by name
}

// Scheme implements weft.Wire.
func (w *wire) Scheme() string { return w.cfg.Scheme }

// Protocols implements weft.Wire.
func (*wire) Protocols() []string { return nil }

// method is how the messages of a method are mapped.
func (w *wire) method(name string) *plan.Method {
	if m, ok := w.methods.Load(name); ok {
		return m.(*plan.Method)
	}
	m := &plan.Method{Set: &w.plans, Name: strings.Clone(name)} // it may be in memory that is used again
	kept, _ := w.methods.LoadOrStore(m.Name, m)
	return kept.(*plan.Method)
}

// Dial implements weft.Wire.
func (w *wire) Dial(ctx context.Context, cfg weft.WireConfig) (weft.WireConn, error) {
	if w.cfg.Protocol == JSON && w.cfg.Framing == THeader {
		return nil, weft.Errorf(weft.InvalidArgument, "thrift: THeader does not carry the JSON protocol: set WireConfig.Framing to Framed or Unframed")
	}
	c := &clientConn{wire: w, cfg: cfg, done: make(chan struct{})}
	l, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	c.uncarried = sync.OnceFunc(func() {
		cfg.Logger.Warn("weft: this wire carries credentials by THeader alone, the client's is not sent", "wire", w.Scheme(), "peer", cfg.Address)
	})
	if cfg.Credential != (weft.Credential{}) && w.cfg.Framing != THeader {
		c.uncarried()
	}
	c.main = l.Conn()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.useLocked(l)
	return c, nil
}

// clientConn is some connections to one server, which are one to the client.
type clientConn struct {
	wire *wire
	cfg  weft.WireConfig
	main net.Conn // the first connection
	done chan struct{}

	uncarried func() // tells once that a credential was not sent

	mu      sync.Mutex
	links   []*link
	dialing int
	err     error // why no more calls can be opened
}

// authorization is the key of the credential of a call.
const authorization = "authorization"

// Conn implements weft.WireConn.
func (c *clientConn) Conn() net.Conn { return c.main }

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
	c.mu.Lock()
	links := c.links
	c.links = nil
	c.endLocked(&weft.Error{Code: weft.Canceled, Reason: weft.ReasonClosed, Message: "the connection was closed by this side"})
	c.mu.Unlock()
	for _, l := range links {
		l.Close()
	}
	return nil
}

// endLocked lets no more calls be opened. The first reason counts.
func (c *clientConn) endLocked(why error) {
	if c.err == nil {
		c.err = why
		close(c.done)
	}
}

// dial makes a connection.
func (c *clientConn) dial(ctx context.Context) (*link, error) {
	conn, err := c.cfg.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return newLink(c, conn), nil
}

// gone takes out a connection that has ended, before its calls are told. With the last one all have ended.
func (c *clientConn) gone(l *link, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, other := range c.links {
		if other == l {
			c.links = append(c.links[:i:i], c.links[i+1:]...)
			if len(c.links) == 0 {
				c.endLocked(why)
			}
			return
		}
	}
}

// pick returns the connection for a call, and counts the call there until it is released.
func (c *clientConn) pick(ctx context.Context) (*link, error) {
	c.mu.Lock()
	var best *link
	for _, l := range c.links {
		if l.Err() == nil && (best == nil || l.calls < best.calls) {
			best = l
		}
	}
	if best == nil {
		c.endLocked(weft.Errorf(weft.Unavailable, "all connections to the server have ended"))
		err := c.err
		c.mu.Unlock()
		return nil, pending.NotSent(weft.CodeOf(err), "", "%w", err)
	}
	if best.calls == 0 || len(c.links)+c.dialing >= c.wire.cfg.MaxConns {
		best.calls++
		c.mu.Unlock()
		return best, nil
	}
	c.dialing++
	c.mu.Unlock()
	l, err := c.dial(ctx)
	c.mu.Lock()
	c.dialing--
	over := c.err
	switch {
	case err != nil: // the calls before it are waited for
		best.calls++
	case over == nil:
		l.calls++
		c.useLocked(l)
	}
	c.mu.Unlock()
	switch {
	case err != nil:
		return best, nil
	case over != nil: // the others have ended meanwhile
		l.Close()
		return nil, pending.NotSent(weft.CodeOf(over), "", "%w", over)
	}
	return l, nil
}

// useLocked makes a connection one of those for calls, and has it read.
func (c *clientConn) useLocked(l *link) {
	c.links = append(c.links, l)
	// It ends when the connection does.
	go l.read()
}

// release notes that a call needs its connection no longer.
func (c *clientConn) release(l *link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.calls = max(l.calls-1, 0) // a server may answer a one-way call
}

// Call implements weft.WireConn.
func (c *clientConn) Call(ctx context.Context, w *weft.WireCall) error {
	q, err := c.wire.request(w, c.cfg.Limits.MaxMessage)
	if err != nil {
		return err
	}
	switch own, given := c.cfg.Credential, w.Metadata.Get(authorization) != ""; {
	case c.wire.cfg.Framing != THeader && given:
		c.uncarried()
	case c.wire.cfg.Framing == THeader && !given && own != (weft.Credential{}):
		q.Pairs = append(q.Pairs, authorization, strings.TrimPrefix(own.Scheme+" "+own.Token, " "))
	}
	if deadline, ok := ctx.Deadline(); ok {
		q.Deadline = deadline
	}
	for tries := c.wire.cfg.MaxConns; ; tries-- {
		l, err := c.pick(ctx)
		if err != nil {
			return err
		}
		err = l.call(ctx, q, w)
		// The reply releases the other calls, also one that nothing waits for any more: until it has come, the calls behind it wait.
		e, ok := errors.AsType[*weft.Error](err)
		unsent := ok && e.Outcome == weft.NotSent
		if w.Oneway || unsent {
			c.release(l)
		}
		why := l.Err()
		if why != nil {
			c.gone(l, why)
		}
		if why == nil || !unsent || ctx.Err() != nil || tries <= 0 {
			return err
		}
		// The connection had ended before: another one may be there.
	}
}

// Check implements weft.WireChecker: messages are Thrift, whatever codec a call names.
func (c *clientConn) Check(_ codec.Codec, msg any) error { return c.wire.plans.Check(msg) }

// Drain implements weft.WireDrainer: a server reads what was sent to the end, and then closes its end.
func (c *clientConn) Drain(done <-chan struct{}) {
	c.mu.Lock()
	links := append([]*link(nil), c.links...)
	c.mu.Unlock()
	for _, l := range links {
		l.hangUp(done)
	}
	for _, l := range links {
		select {
		case <-l.Done():
		case <-done:
			return
		}
	}
}
