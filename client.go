package weft

import (
	"cmp"
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/address"
	"github.com/weftrpc/weft/internal/flights"
	"github.com/weftrpc/weft/internal/logger"
	"github.com/weftrpc/weft/internal/redial"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport"
)

// Client makes calls to one server, over one connection, or more when many calls are open.
// A lost connection is made anew. Its methods may be called from any goroutine.
type Client struct {
	cfg     ClientConfig
	address string // without a query
	caller  caller
	hooks   *hooks
	host    host
	session session.Config
	exec    *session.Executor

	connects, failures atomic.Uint64 // connections that were made, and attempts that failed

	target address.Target[transport.Transport, Wire]
	redial redial.Config // of the links
	links  []link
	life   context.Context
	stop   context.CancelFunc
	closed atomic.Bool
	work   flights.Flights // connections, and attempts to make one
}

// busyAt is how many open calls make a client use one more connection.
const busyAt = 256

// Dial makes a client of the server at an address, such as "tcp://127.0.0.1:8972" or "unix:///run/app.sock"; without a scheme it is one of
// TCP. It returns when it is connected, after the TLS handshake if there is one, or with an error when the attempt fails or ctx ends; with
// Lazy it returns at once.
//
// The first calls leave together with weft's own handshake, which saves a round trip: what is wrong with that, such as a credential that
// the server does not take or a server that does not speak weft, is the error of the first call. A client with Services, or with hooks that
// are told of connections, has the server's answer when Dial returns. A nil configuration gives safe defaults. The client lives until
// Close, also when ctx ends.
func Dial(ctx context.Context, addr string, cfg *ClientConfig) (*Client, error) {
	c := &Client{address: addr, exec: session.NewExecutor()}
	if cfg != nil {
		c.cfg = *cfg
	}
	if err := c.configure(); err != nil {
		return nil, err
	}
	var err error
	if c.target, err = address.Parse(c.cfg.Transports, c.cfg.Wires, c.address); err != nil {
		return nil, Errorf(InvalidArgument, "%w", err)
	}
	if c.target.Path != "" { // messages name the address, and its query may hold secrets
		c.address, _, _ = strings.Cut(addr, "?")
	}
	c.life, c.stop = context.WithCancel(context.Background())
	c.redial = c.redialing()
	c.links = make([]link, c.cfg.MaxConns)
	for i := range c.links {
		l := &c.links[i]
		l.c = c
		l.Init(&c.redial, dialer{l})
	}
	if c.cfg.Lazy {
		return c, nil
	}
	if err := c.links[0].first(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Client) configure() error {
	f := &c.cfg
	if f.Transports == nil {
		f.Transports = defaultTransports
	}
	f.MaxConns = orDefault(f.MaxConns, 2)
	f.Timeout = min(orDefault(f.Timeout, DefaultTimeout), mostTimeout)
	f.Backoff = orDefault(f.Backoff, DefaultBackoff)
	f.MaxBackoff = orDefault(f.MaxBackoff, DefaultMaxBackoff)
	if f.MaxConns < 0 || f.MaxConns > 64 {
		return Errorf(InvalidArgument, "weft: dial: MaxConns is %d, want 0 (2) to 64", f.MaxConns)
	}
	f.Logger = logger.OrDefault(f.Logger)
	if f.Compressors == nil && f.Compressor != nil {
		f.Compressors = []compress.Compressor{f.Compressor}
	}
	limits, outside := f.Limits.resolve()
	a, err := gather(f.Plugins, f.Hooks)
	told, unnamed := softwareOf(f.Name)
	if err := cmp.Or(
		notNegative("ClientConfig.Backoff", f.Backoff), notNegative("ClientConfig.MaxBackoff", f.MaxBackoff),
		outside, err, checkCompressors(f.Compressors),
		noneNil("interceptor", len(f.Interceptors), func(i int) bool { return f.Interceptors[i] == nil }),
		noneNil("stream interceptor", len(f.StreamInterceptors), func(i int) bool { return f.StreamInterceptors[i] == nil }),
		WithCodec(f.Codec).apply(new(callOptions)), checkWires(f.Wires, f.Transports), unnamed,
	); err != nil {
		return err
	}
	f.Limits = limitsOf(limits)
	c.hooks = a.hooks
	c.caller = caller{compressor: f.Compressor, timeout: f.Timeout, credential: f.Credential, hooks: a.hooks.reply}
	c.caller.setup(f.Codec, append(a.client, f.Interceptors...), append(a.clientStream, f.StreamInterceptors...))
	c.host = host{services: f.Services, log: f.Logger, compressor: f.Compressor, hooks: a.hooks.request}
	if f.Services == nil && f.Codecs == nil {
		// No call comes in: the host has nothing to do. A short connection costs less without it.
		c.host.fence.Log, c.host.names = f.Logger, defaultCodecNames()
	} else if err := c.host.setup(f.Codecs, a.unary, a.streams); err != nil {
		return err
	}
	c.session = session.Config{
		Limits: limits, Codecs: c.host.names, Compressors: f.Compressors, Checksum: f.Checksum, Software: told,
		Setup: c.opened, Exec: c.exec, Logger: f.Logger,
	}
	if f.Services != nil {
		c.session.Resolve, c.session.Refused, c.session.Panicked = c.host.resolve, c.host.sessionRefused, c.host.sessionPanicked
		c.session.InTurn = c.host.turn
	}
	return nil
}

// opened is called for every session before it reads its first frame.
func (c *Client) opened(s *session.Session) {
	p := newPeer(s, &c.caller)
	s.Owner = p
	if len(c.hooks.opened) == 0 {
		return
	}
	told := false
	defer func() {
		if !told { // a hook has ended this goroutine
			s.Close(closedStatus())
		}
	}()
	c.tellOpened(p)
	told = true
}

func (c *Client) tellOpened(p *Peer) {
	for _, h := range c.hooks.opened {
		c.host.fence.Run("ConnOpened", p.Addr(), func() { h.ConnOpened(p) })
	}
}

// Call makes a unary call: it sends args to the method, which has the form "Service.Method", and decodes the reply into reply, a pointer;
// with nil it is discarded. args and reply must not be changed until Call returns.
//
// A call whose context has no deadline has the configured timeout. When ctx ends, so does the context of the handler. While there is no
// connection the call waits for one, unless ClientConfig.NoWaitForReady is set. A call that certainly did not run, because it was not sent
// or was refused by a server that shuts down, is made again within its deadline; no other is.
//
// Every error is an *Error.
func (c *Client) Call(ctx context.Context, method string, args, reply any, opts ...CallOption) error {
	if len(opts) == 0 && c.caller.plain && method != "" && len(method) <= wire.MaxMethodName {
		if p := c.ready(); p != nil && checkMessages(args, reply) == nil {
			deadline, err := int64(0), error(nil)
			switch {
			case p.s == nil:
				deadline, err = c.caller.quickForeign(ctx, p, method, args, reply)
			case c.caller.carries(args, reply):
				deadline, err = c.caller.quick(ctx, p.s, method, args, reply, c.caller.usualCodec(args))
			default:
				return c.caller.invoke(ctx, c, method, args, reply, opts)
			}
			if err == nil || !again(err) {
				return err
			}
			return c.makeAgain(ctx, method, args, reply, deadline)
		}
	}
	return c.caller.invoke(ctx, c, method, args, reply, opts)
}

// makeAgain makes a call without options on another connection.
//
//go:noinline
func (c *Client) makeAgain(ctx context.Context, method string, args, reply any, deadline int64) error {
	if deadline == 0 {
		deadline = deadlineOf(ctx)
	}
	x := &outgoing{route: c, info: CallInfo{Method: method, Reply: reply}}
	x.o.ctx, x.o.deadline = ctx, deadline
	return c.attemptElsewhere(ctx, x, args)
}

// attempt makes a unary call, again where that is safe.
func (c *Client) attempt(ctx context.Context, x *outgoing, args any) error {
	p := c.links[0].peer() // that of ordered calls
	if !x.o.ordered {
		p = c.ready()
	}
	if p != nil {
		err := c.caller.call(ctx, p, x, args)
		if err == nil || !again(err) || x.o.unproven { // another connection needs the same credential
			return err
		}
	}
	return c.attemptElsewhere(ctx, x, args)
}

// attemptElsewhere waits for a connection and makes the call on it.
func (c *Client) attemptElsewhere(ctx context.Context, x *outgoing, args any) error {
	wait, cancel := bounded(ctx, x.o.until(ctx))
	defer cancel()
	for {
		p, err := c.acquire(wait, x.info.Method)
		if err != nil {
			return err
		}
		err = c.caller.call(ctx, p, x, args)
		if err == nil || x.o.unproven || !elsewhere(p, err) {
			return err
		}
	}
}

// again reports whether a call certainly did not run for a reason that another connection may not have.
func again(err error) bool {
	e := (*Error)(nil)
	if !asWeft(err, &e) || e.Code != Unavailable || e.Reason == ReasonHandshake {
		return false
	}
	return e.Outcome == NotSent || e.Outcome == Refused && (e.Reason == ReasonDraining || e.Reason == ReasonShutdown)
}

// elsewhere reports whether a call that failed on a connection may go better on another one. While the connection can be used, it is not at
// fault: a credential that is not to be had, or an error that a handler has passed on.
func elsewhere(p *Peer, err error) bool {
	e := (*Error)(nil)
	if !again(err) || !asWeft(err, &e) {
		return false
	}
	return !p.usable() || e.Outcome == NotSent && e.Reason == ReasonDraining
}

// ready returns a connection that can be used at once: the first one, or any when it is busy; nil when there is none.
func (c *Client) ready() *Peer {
	p := c.links[0].peer()
	if p == nil || len(c.links) == 1 || p.load() < busyAt {
		return p
	}
	l := &c.links[rand.IntN(len(c.links))]
	if other := l.peer(); other != nil {
		return other
	}
	l.Wake()
	return p
}

// acquire waits for a connection.
func (c *Client) acquire(ctx context.Context, method string) (*Peer, error) {
	p, err := c.links[0].wait(ctx)
	if err != nil {
		err.Method = method
		return nil, err
	}
	return p, nil
}

// Ping waits for the server to answer a PING of the protocol: no method is called, and interceptors and credentials are not used. It waits
// for a connection as a call does. On a foreign wire without pings it succeeds if a connection is open. The duration of a ping on an idle
// connection is a round trip.
func (c *Client) Ping(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok && c.caller.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.caller.timeout)
		defer cancel()
	}
	p := c.ready()
	if p == nil {
		var err error
		if p, err = c.acquire(ctx, ""); err != nil {
			return err
		}
	}
	return p.ping(ctx)
}

// Notify makes a one-way call: it returns when the request has been handed to the connection, and its error on the server is not reported.
// The server still acknowledges it when the handler has returned, so that a shutdown of client or server loses none. While 1024 one-way
// calls are under way on the connection, the next one waits.
//
// One-way calls, like others, may run at the same time and in any order, also those that one goroutine makes one after the other. With
// WithOrder those of one key run one after the other.
func (c *Client) Notify(ctx context.Context, method string, args any, opts ...CallOption) error {
	return c.Call(ctx, method, args, nil, asOneway(opts)...)
}

// Go makes a unary call without waiting for its end. The call is sent to done when it has ended; a nil done is replaced by a new channel,
// and an unbuffered one makes Go panic, as with net/rpc. done must have room for all calls that may end at the same time: one for which
// there is no room is not sent to it. args and reply must not be changed until then.
func (c *Client) Go(ctx context.Context, method string, args, reply any, done chan *Call, opts ...CallOption) *Call {
	checkDone(done)
	if done == nil {
		done = make(chan *Call, 1)
	}
	call := &Call{Method: method, Args: args, Reply: reply, Done: done}
	p := c.ready()
	if p == nil || p.s == nil || c.caller.unary != nil || c.caller.hooks.any {
		c.goSlow(call, func() error { return c.Call(ctx, method, args, reply, opts...) })
		return call
	}
	x := &outgoing{route: c, info: CallInfo{Method: method, Reply: reply}}
	err := c.caller.resolve(ctx, &x.o, false, opts)
	if err == nil {
		err = checkMessages(args, reply)
	}
	if err != nil {
		call.Error = notSent(err, method)
		call.done()
		return call
	}
	c.goFast(ctx, p.s, call, x)
	return call
}

// goSlow makes the call by f, on a goroutine.
func (c *Client) goSlow(call *Call, f func() error) {
	c.exec.Go(func() {
		err := error(&Error{Code: Internal, Method: call.Method, Message: "an interceptor or other code of the client has panicked or ended its goroutine"})
		defer func() {
			call.Error = err
			call.done()
		}()
		c.host.fence.Run("Go", nil, func() { err = f() })
	})
}

// goFast makes the call without a goroutine, unless it is made again.
func (c *Client) goFast(ctx context.Context, s *session.Session, call *Call, x *outgoing) {
	sc := session.NewCall()
	sc.Args, sc.Reply = call.Args, call.Reply
	if err := c.caller.fill(ctx, sc, x, call.Args); err != nil {
		call.Error = err
		call.done()
		return
	}
	var unwatch func() bool
	var met atomic.Int32
	// The call may end before this goroutine is done with it. The second of the two finishes it: the reader must not wait.
	finish := func() {
		if met.Add(1) < 2 {
			return
		}
		if unwatch != nil {
			unwatch()
		}
		if x.o.reply != nil {
			*x.o.reply = metadataOf(sc.ReplyMeta)
		}
		call.Error = c.caller.ended(s, sc)
		if call.Error != nil && again(call.Error) {
			c.goSlow(call, func() error { return c.attemptElsewhere(ctx, x, call.Args) })
			return
		}
		call.done()
	}
	sc.Async = func(*session.Call) { finish() }
	if st := s.Start(ctx, sc); st != nil {
		call.Error = failed(s, call.Method, st)
		if again(call.Error) {
			c.goSlow(call, func() error { return c.attemptElsewhere(ctx, x, call.Args) })
			return
		}
		call.done()
		return
	}
	if ctx.Done() != nil {
		unwatch = context.AfterFunc(ctx, func() {
			if s.Abandon(ctx, sc) {
				finish()
			}
		})
	}
	finish()
}

// OpenStream opens a streaming call without types; the function OpenStream gives it some. sample is a message as it will be sent, which may
// choose the codec. It does not wait for the server.
func (c *Client) OpenStream(ctx context.Context, method string, sample any, opts ...CallOption) (RawStream, error) {
	return c.caller.open(ctx, c, method, sample, opts)
}

// openOnce opens a stream, again where that is safe.
func (c *Client) openOnce(ctx context.Context, x *outgoing) (RawStream, error) {
	for {
		p := c.ready()
		if p == nil {
			until := x.o.until(ctx)
			if until == 0 && c.caller.timeout > 0 {
				until = session.Nanos() + int64(c.caller.timeout)
			}
			wait, cancel := bounded(ctx, until)
			var err error
			p, err = c.acquire(wait, x.info.Method)
			cancel()
			if err != nil {
				return nil, err
			}
		}
		end, err := c.caller.openOn(ctx, p, x)
		if err == nil || x.o.unproven || !elsewhere(p, err) {
			return end, err
		}
	}
}

// Peer is the server at the end of the connection in use; nil while there is none.
func (c *Client) Peer() *Peer { return c.links[0].peer() }

// Close ends the client at once. Open calls fail with Canceled. Hooks and other code of the
// user's that does not return within half a second is left behind.
func (c *Client) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	c.stop()
	for i := range c.links {
		c.links[i].close()
	}
	idle := c.work.Close()
	select {
	case <-idle: // a connection that no goroutine reads has ended already
	default:
		late := time.NewTimer(closeWait)
		defer late.Stop()
		select {
		case <-idle:
		case <-late.C:
			c.cfg.Logger.Error("the client is closed, and code of the user's has not returned: a hook or a wire", "addr", c.address, "connections", c.work.Count())
		}
	}
	c.exec.Close()
	return nil
}

// Shutdown lets the open calls end, in both directions, and closes the client. New
// calls fail with Canceled. When ctx ends first it closes at once and returns an error.
func (c *Client) Shutdown(ctx context.Context) error {
	var wg sync.WaitGroup
	var cut atomic.Bool
	over := ctx.Done() // here, so that a nil ctx panics in the caller
	for i := range c.links {
		for _, p := range c.links[i].Retire() {
			wg.Go(func() {
				if !p.drain(over) {
					cut.Store(true)
				}
			})
		}
	}
	wg.Wait()
	c.Close()
	if cut.Load() {
		return Errorf(CodeOf(ctx.Err()), "weft: shutdown: calls were still open: %w", context.Cause(ctx))
	}
	return nil
}
