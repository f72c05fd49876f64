package weft

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/wire"
)

// Client makes calls to one server, over as few connections as will do, and keeps
// them alive: a lost one is made anew. Its methods may be called from any goroutine.
type Client struct {
	cfg     ClientConfig
	address string
	caller  caller
	hooks   *hooks
	host    host
	session session.Config
	exec    *session.Executor

	links  []*link
	life   context.Context
	stop   context.CancelFunc
	closed atomic.Bool
	wg     sync.WaitGroup
}

// busyAt is how many open calls make a client use one more connection.
const busyAt = 256

// Dial makes a client of the server at address, such as "tcp://127.0.0.1:8972" or
// "unix:///run/app.sock"; without a scheme it is one of TCP. It returns when there is a connection, or with an error
// when there is none and ctx ends or the attempt fails; with Lazy it returns at once.
// A nil configuration gives safe defaults. The client lives until Close, also when ctx
// ends.
func Dial(ctx context.Context, address string, cfg *ClientConfig) (*Client, error) {
	c := &Client{address: address, exec: session.NewExecutor()}
	if cfg != nil {
		c.cfg = *cfg
	}
	if err := c.configure(); err != nil {
		return nil, err
	}
	t, rest, err := transportFor(c.cfg.Transports, address)
	if err != nil {
		return nil, Errorf(InvalidArgument, "%w", err)
	}
	c.life, c.stop = context.WithCancel(context.Background())
	for range c.cfg.MaxConns {
		c.links = append(c.links, newLink(c, t, rest))
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
		f.Transports = defaultTransports()
	}
	f.MaxConns = orDefault(f.MaxConns, 2)
	f.Timeout = orDefault(f.Timeout, DefaultTimeout)
	f.Backoff = orDefault(f.Backoff, DefaultBackoff)
	f.MaxBackoff = orDefault(f.MaxBackoff, DefaultMaxBackoff)
	if f.MaxConns < 0 || f.MaxConns > 64 {
		return Errorf(InvalidArgument, "weft: dial: MaxConns is %d, want 0 (2) to 64", f.MaxConns)
	}
	if f.Backoff < 0 || f.MaxBackoff < 0 {
		return Errorf(InvalidArgument, "weft: dial: Backoff is %v and MaxBackoff %v, want 0 (their defaults) or more", f.Backoff, f.MaxBackoff)
	}
	if f.Logger == nil {
		f.Logger = slog.New(slog.DiscardHandler)
	}
	if f.TLS != nil {
		f.TLS = tlsConfig(f.TLS)
	}
	if f.Compressors == nil && f.Compressor != nil {
		f.Compressors = []compress.Compressor{f.Compressor}
	}
	limits, err := f.Limits.resolve()
	if err == nil {
		c.hooks, err = newHooks(f.Hooks)
	}
	if err == nil {
		err = checkCompressors(f.Compressors)
	}
	if err == nil {
		err = noneNil("interceptor", len(f.Interceptors), func(i int) bool { return f.Interceptors[i] == nil })
	}
	if err == nil {
		err = noneNil("stream interceptor", len(f.StreamInterceptors), func(i int) bool { return f.StreamInterceptors[i] == nil })
	}
	if err == nil && f.Codec != nil {
		err = WithCodec(f.Codec).apply(new(callOptions))
	}
	if err != nil {
		return err
	}
	c.caller = caller{
		compressor: f.Compressor, timeout: f.Timeout, credential: f.Credential,
		hooks: c.hooks.reply, unary: f.Interceptors, streams: f.StreamInterceptors,
	}
	c.caller.setDefaults(f.Codec)
	c.host = host{services: f.Services, log: f.Logger, compressor: f.Compressor, hooks: c.hooks.request}
	if err := c.host.setCodecs(f.Codecs); err != nil {
		return err
	}
	c.host.ready()
	c.session = session.Config{
		Limits: limits, Codecs: c.host.names, Compressors: f.Compressors, Checksum: f.Checksum, Software: software,
		Setup: c.opened, Exec: c.exec, Logger: f.Logger,
	}
	if f.Services != nil {
		c.session.Resolve = c.host.resolve
	}
	return nil
}

// opened is called for every session before it reads its first frame.
func (c *Client) opened(s *session.Session) {
	p := newPeer(s, &c.caller)
	s.Owner = p
	for _, h := range c.hooks.opened {
		h.ConnOpened(p)
	}
}

// Call makes a unary call: it sends args to the method, which has the form
// "Service.Method", and decodes what comes back into reply, a pointer; nil throws it
// away. args and reply must not be changed until Call returns.
//
// A call whose context has no deadline has the configured timeout. When ctx ends,
// the server's handler is told. While there is no connection the call waits for one,
// unless the client is configured to fail fast. A call that certainly did not run, because
// it was not sent or was refused by a server that shuts down, is made again within
// its deadline; no other is.
//
// Every error is an *Error.
func (c *Client) Call(ctx context.Context, method string, args, reply any, opts ...CallOption) error {
	if len(opts) == 0 && c.caller.plain && method != "" && len(method) <= wire.MaxMethodName {
		if s := c.ready(); s != nil {
			deadline, err := c.caller.quick(ctx, s, method, args, reply)
			if err == nil || !again(err) {
				return err
			}
			return c.callSlow(ctx, method, args, reply, &callOptions{
				compressor: c.caller.compressor, timeout: c.caller.timeout, deadline: deadline})
		}
	}
	return c.callWith(ctx, method, args, reply, opts)
}

//go:noinline
func (c *Client) callWith(ctx context.Context, method string, args, reply any, opts []CallOption) error {
	o, err := c.caller.options(method, opts)
	if err != nil {
		return err
	}
	if len(c.caller.unary) == 0 {
		return c.call(ctx, method, args, reply, &o)
	}
	info := &CallInfo{Method: method, Codec: c.caller.codecFor(&o, args).Name(), Oneway: o.oneway, Reply: reply}
	_, err = chainUnary(c.caller.unary, info, func(ctx context.Context, req any) (any, error) {
		once := o // next may be called more than once
		return reply, c.call(ctx, method, req, reply, &once)
	})(ctx, args)
	return asError(err, method)
}

// asError makes an error of an interceptor's one.
func asError(err error, method string) error {
	if err == nil {
		return nil
	}
	if e := (*Error)(nil); asWeft(err, &e) {
		return err
	}
	e := Errorf(CodeOf(err), "%w", err)
	e.Method = method
	return e
}

// call makes a unary call, again where that is safe.
func (c *Client) call(ctx context.Context, method string, args, reply any, o *callOptions) error {
	s := c.ready()
	if s != nil {
		err := c.caller.call(ctx, s, method, args, reply, o)
		if err == nil || !again(err) {
			return err
		}
	}
	return c.callSlow(ctx, method, args, reply, o)
}

// again reports whether a call certainly did not run for a reason that another
// connection may not have.
func again(err error) bool {
	e := (*Error)(nil)
	if !asWeft(err, &e) || e.Code != Unavailable {
		return false
	}
	return e.Outcome == NotSent || e.Outcome == Refused && e.Reason == session.ReasonDraining
}

// callSlow waits for a connection and makes the call on it.
func (c *Client) callSlow(ctx context.Context, method string, args, reply any, o *callOptions) error {
	if _, limited := ctx.Deadline(); o.timeout > 0 && (o.bounded || !limited) {
		left := o.timeout
		if o.deadline != 0 {
			left = time.Duration(o.deadline - session.Nanos())
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, left)
		defer cancel()
	}
	for {
		s, err := c.acquire(ctx, method)
		if err != nil {
			return err
		}
		err = c.caller.call(ctx, s, method, args, reply, o)
		if err == nil || !elsewhere(s, err) {
			return err
		}
	}
}

// elsewhere reports whether a call that failed on a session may go better on another
// one. While the session can be used, the fault is not its: a credential that is not
// to be had, or an error that a handler has passed on.
func elsewhere(s *session.Session, err error) bool {
	e := (*Error)(nil)
	if !again(err) || !asWeft(err, &e) {
		return false
	}
	return !s.Usable() || e.Outcome == NotSent && e.Reason == session.ReasonDraining
}

// ready returns a session that can be used at once: the first one, or any when
// it is busy; nil when there is none.
func (c *Client) ready() *session.Session {
	s := c.links[0].session()
	if s == nil || len(c.links) == 1 || s.Load() < busyAt {
		return s
	}
	l := c.links[rand.IntN(len(c.links))]
	if other := l.session(); other != nil {
		return other
	}
	l.wake()
	return s
}

// acquire waits for a session.
func (c *Client) acquire(ctx context.Context, method string) (*session.Session, error) {
	s, err := c.links[0].wait(ctx)
	if err != nil {
		err.Method = method
		return nil, err
	}
	return s, nil
}

// Notify makes a one-way call: it returns when the request has been handed to the
// connection, and what becomes of it is not told. The server still confirms that it
// has dealt with it, so that a shutdown of either side loses none. While 1024 of them
// are under way on the connection, the next one waits.
func (c *Client) Notify(ctx context.Context, method string, args any, opts ...CallOption) error {
	return notify(ctx, c, method, args, opts)
}

// Go makes a unary call without waiting for its end. The call is sent to done
// when it has ended; a nil done is replaced by a new channel. done must have room for
// all calls that may end at the same time, otherwise they are lost on it. args and
// reply must not be changed until then.
func (c *Client) Go(ctx context.Context, method string, args, reply any, done chan *Call, opts ...CallOption) *Call {
	if done == nil {
		done = make(chan *Call, 1)
	}
	call := &Call{Method: method, Args: args, Reply: reply, Done: done}
	s := c.ready()
	if s == nil || len(c.caller.unary) > 0 || c.caller.hooks.any {
		c.goSlow(ctx, call, opts)
		return call
	}
	o, err := c.caller.options(method, opts)
	if err != nil {
		call.Error = err
		call.done()
		return call
	}
	c.goFast(ctx, s, call, o, opts)
	return call
}

// goSlow makes the call on a goroutine.
func (c *Client) goSlow(ctx context.Context, call *Call, opts []CallOption) {
	c.exec.Go(func() {
		call.Error = c.Call(ctx, call.Method, call.Args, call.Reply, opts...)
		call.done()
	})
}

// goFast makes the call without a goroutine.
func (c *Client) goFast(ctx context.Context, s *session.Session, call *Call, o callOptions, opts []CallOption) {
	sc := session.NewCall()
	sc.Args, sc.Reply = call.Args, call.Reply
	if err := c.caller.fill(ctx, sc, call.Method, call.Args, &o); err != nil {
		call.Error = err
		call.done()
		return
	}
	var unwatch func() bool
	var met atomic.Int32
	// The call may end before this goroutine is done with it. Who comes second
	// finishes it: the reader must not wait.
	finish := func() {
		if met.Add(1) < 2 {
			return
		}
		if unwatch != nil {
			unwatch()
		}
		if o.reply != nil {
			*o.reply = metadataOf(sc.ReplyMeta)
		}
		call.Error = c.caller.ended(s, sc)
		if call.Error != nil && again(call.Error) {
			c.goSlow(ctx, call, opts)
			return
		}
		call.done()
	}
	sc.Async = func(*session.Call) { finish() }
	if st := s.Start(ctx, sc); st != nil {
		call.Error = fromStatus(st, call.Method, s.Conn().RemoteAddr().String())
		if again(call.Error) {
			c.goSlow(ctx, call, opts)
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

// OpenStream opens a streaming call without types; the function OpenStream gives it
// some. sample is a message as it will be sent, which may choose the codec. It does not
// wait for the server.
func (c *Client) OpenStream(ctx context.Context, method string, sample any, opts ...CallOption) (RawStream, error) {
	o, err := c.caller.options(method, opts)
	if err != nil {
		return nil, err
	}
	open := func(ctx context.Context) (RawStream, error) {
		for {
			s := c.ready()
			if s == nil {
				var err error
				wait, cancel := ctx, context.CancelFunc(func() {})
				if _, ok := ctx.Deadline(); !ok && c.caller.timeout > 0 {
					wait, cancel = context.WithTimeout(ctx, c.caller.timeout)
				}
				s, err = c.acquire(wait, method)
				cancel()
				if err != nil {
					return nil, err
				}
			}
			end, err := c.caller.open(ctx, s, method, o, sample)
			if err == nil || !elsewhere(s, err) {
				return end, err
			}
		}
	}
	if len(c.caller.streams) == 0 {
		return open(ctx)
	}
	info := &CallInfo{Method: method, Codec: c.caller.codecFor(&o, sample).Name(), Stream: true}
	end, err := chainOpen(c.caller.streams, info, open)(ctx)
	return end, asError(err, method)
}

// Peer is the other side of the connection in use; nil while there is none.
func (c *Client) Peer() *Peer {
	if s := c.links[0].session(); s != nil {
		p, _ := s.Owner.(*Peer)
		return p
	}
	return nil
}

// Close ends the client at once. Open calls fail with Canceled.
func (c *Client) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	c.stop()
	for _, l := range c.links {
		l.close()
	}
	c.wg.Wait()
	c.exec.Close()
	return nil
}

// Shutdown lets the open calls end, in both directions, and closes the client. New
// calls fail with Canceled. When ctx ends first it closes at once and returns an error.
func (c *Client) Shutdown(ctx context.Context) error {
	var wg sync.WaitGroup
	var cut atomic.Bool
	for _, l := range c.links {
		for _, s := range l.retire() {
			wg.Go(func() {
				if !s.Drain(ctx.Done(), "the client is shutting down") {
					cut.Store(true)
				}
				s.Leave(lingering)
			})
		}
	}
	wg.Wait()
	c.Close()
	if cut.Load() {
		return Errorf(DeadlineExceeded, "weft: shutdown: calls were still open when time was up")
	}
	return nil
}

func closedError() *Error {
	return &Error{Code: Canceled, Outcome: NotSent, Message: "the client is closed"}
}

// contextStatus is the error of a call whose context ended before it was sent.
func contextStatus(ctx context.Context, why string) *Error {
	e := &Error{Code: CodeOf(ctx.Err()), Outcome: NotSent, Message: why, cause: ctx.Err()}
	return e
}
