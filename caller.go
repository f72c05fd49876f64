package weft

import (
	"cmp"
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/due"
	"github.com/weftrpc/weft/internal/fit"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/spare"
	"github.com/weftrpc/weft/internal/stats"
	"github.com/weftrpc/weft/internal/wire"
)

// caller makes calls to peers. A client has one for all its connections, a server one for all its clients.
//
// There are two ways to start a unary call: quick, for one without options, credential,
// hooks and interceptors, which is most of them; and invoke, for every other.
type caller struct {
	codec      codec.Codec // nil: chosen by the message
	proto      codec.Codec
	other      codec.Codec
	compressor compress.Compressor
	timeout    time.Duration // of calls without a deadline; not above zero: none
	credential func(context.Context, string) (Credential, error)
	hooks      replyHooks
	unary      UnaryFunc // the interceptors around a call; nil: there are none
	stream     OpenFunc  // the same around the opening of a stream

	plain bool // nothing of the above concerns a call without options
	calls spare.Pool[session.Call]
	wired spare.Pool[WireCall]
	stats stats.Callers

	carried fit.Known // types of messages that the usual codec of a call carries
}

// setup is called when the fields that a configuration gives are set.
func (c *caller) setup(chosen codec.Codec, unary []UnaryInterceptor, streams []ClientStreamInterceptor) {
	c.calls.Make, c.wired.Make = session.NewCall, func() *WireCall { return new(WireCall) }
	if c.codec = chosen; chosen == nil {
		c.proto, c.other = protobuf.New(), msgpack.New()
	}
	c.plain = c.compressor == nil && c.credential == nil && !c.hooks.any && len(unary) == 0
	if len(unary) > 0 {
		c.unary = chainUnary(unary, transmit)
	}
	if len(streams) > 0 {
		c.stream = chainOpen(streams, openStream)
	}
}

// route finds the connection for a call: a client, which may make it again on another one where that is safe, or one peer.
type route interface {
	attempt(ctx context.Context, x *outgoing, args any) error
	openOnce(ctx context.Context, x *outgoing) (RawStream, error)
}

// outgoing is one call that is made with options, and what its interceptors see of it.
type outgoing struct {
	info   CallInfo
	o      callOptions
	route  route
	sample any // of a stream: a message that will be sent
}

// invoke makes a unary call of any kind.
func (c *caller) invoke(ctx context.Context, r route, method string, args, reply any, opts []CallOption) error {
	x := &outgoing{route: r, info: CallInfo{Method: method, Reply: reply}}
	x.info.Peer, _ = r.(*Peer)
	if err := cmp.Or(c.resolve(ctx, &x.o, false, opts), checkMessages(args, reply)); err != nil {
		return notSent(err, method)
	}
	x.info.Oneway, x.info.Attempt, x.info.OwnCredential = x.o.oneway, x.o.attempt, x.o.credential != nil
	if c.unary == nil {
		return r.attempt(ctx, x, args)
	}
	x.info.Codec, x.info.out = c.codecFor(&x.o, args).Name(), x
	_, err := c.unary(ctx, &x.info, args)
	return asError(err, method)
}

// transmit is the innermost function of a client's chain.
func transmit(ctx context.Context, info *CallInfo, req any) (any, error) {
	if info == nil || info.out == nil {
		return nil, errForeignInfo()
	}
	once := *info.out // next may be called more than once
	once.info = *info
	return info.Reply, once.route.attempt(ctx, &once, req)
}

// openStream is the innermost function of a client's chain around streams.
func openStream(ctx context.Context, info *CallInfo) (RawStream, error) {
	if info == nil || info.out == nil {
		return nil, errForeignInfo()
	}
	once := *info.out
	once.info = *info
	return once.route.openOnce(ctx, &once)
}

// errForeignInfo is the error of an interceptor that did not pass its CallInfo on.
func errForeignInfo() error {
	return Errorf(Internal, "an interceptor called next with a CallInfo that is not its own")
}

// codecFor chooses the codec of a call by its option, the configuration, or the type of its argument.
func (c *caller) codecFor(o *callOptions, sample any) codec.Codec {
	if o.codec != nil {
		return o.codec
	}
	return c.usualCodec(sample)
}

func (c *caller) usualCodec(sample any) codec.Codec {
	switch {
	case c.codec != nil:
		return c.codec
	case protobuf.Is(sample):
		return c.proto
	default:
		return c.other
	}
}

// metadata is what travels with a call: the context's pairs, the credential, the number of the attempt.
func (c *caller) metadata(ctx context.Context, method string, o *callOptions) (Metadata, error) {
	m := outgoingMetadata(ctx)
	cred := o.credential
	if cred == nil && c.credential != nil {
		if at := o.until(ctx); at != 0 { // most credentials are at hand, and nothing waits
			asked := due.After(ctx, time.Duration(at-session.Nanos()))
			defer asked.End()
			ctx = asked
		}
		found, err := c.credential(ctx, method)
		if o.unproven = err != nil; o.unproven {
			return m, notSent(Errorf(CodeOf(unauthenticated(err)), "credential: %w", err), method)
		}
		cred = &found
	}
	if cred != nil {
		m = m.before(authorization, cred.encode())
	}
	if o.attempt > 0 {
		// Without room for it the attempt is made without saying which it is.
		if told := m.reserved(attemptKey, strconv.Itoa(o.attempt)); told.wrong == "" && len(told.pairs) <= DefaultMaxMetadata {
			m = told
		}
	}
	if o.ordered {
		m = m.reserved(wire.OrderKey, o.order) // which must be the first pair
	}
	if m.wrong != "" {
		return m, &Error{Code: InvalidArgument, Outcome: NotSent, Method: method, Message: m.wrong}
	}
	return m, nil
}

// fill readies a session's call.
func (c *caller) fill(ctx context.Context, sc *session.Call, x *outgoing, sample any) error {
	sc.Method = x.info.Method
	sc.Codec = c.codecFor(&x.o, sample)
	sc.Compress = x.o.compressor
	sc.KeepMeta = x.o.reply != nil
	sc.Deadline = x.o.until(ctx)
	if ctx.Err() != nil {
		return tooLate(ctx, sc.Method)
	}
	received := sc.Reply
	if x.info.Stream {
		received = x.o.received
	}
	if err := checkCarried(sc.Codec, sample, received); err != nil {
		return notSent(err, sc.Method)
	}
	m, err := c.metadata(ctx, sc.Method, &x.o)
	sc.Meta = m.pairs
	return err
}

// call makes a unary call on a connection, once.
func (c *caller) call(ctx context.Context, p *Peer, x *outgoing, args any) error {
	if p.s == nil {
		return c.callForeign(ctx, p, x, args)
	}
	sc := c.calls.Take()
	sc.Args, sc.Reply, sc.Oneway, sc.Ordered = args, x.info.Reply, x.o.oneway, x.o.ordered
	err := c.fill(ctx, sc, x, args)
	if err == nil {
		switch {
		case x.o.oneway:
			return c.startOneway(ctx, p, sc, &x.info)
		case c.hooks.any:
			err = c.hooked(ctx, p, sc, &x.info)
		default:
			if st := p.s.Start(ctx, sc); st != nil {
				err = failed(p.s, sc.Method, st)
			} else {
				p.s.Wait(ctx, sc)
				p.s.Finish(sc)
				err = c.ended(p.s, sc)
			}
		}
	}
	if x.o.reply != nil {
		*x.o.reply = metadataOf(sc.ReplyMeta)
	}
	sc.Reset()
	c.calls.Give(sc)
	return err
}

// quick is call for what most calls are: without options, credentials, hooks. It uses little stack; see session.startAny. with is usualCodec of args,
// or around it; deadline is that of the call.
func (c *caller) quick(ctx context.Context, s *session.Session, method string, args, reply any, with codec.Codec) (deadline int64, err error) {
	sc := c.calls.Take()
	sc.Method, sc.Args, sc.Reply = method, args, reply
	sc.Codec, sc.Plain = with, true
	if c.timeout > 0 {
		sc.Timeout = int64(c.timeout)
	}
	if ctx != context.Background() {
		err = c.heed(ctx, sc)
	}
	if err == nil {
		if st := s.Start(ctx, sc); st != nil {
			err = failed(s, method, st)
		} else {
			s.Wait(ctx, sc)
			s.Finish(sc)
			err = c.ended(s, sc)
		}
	}
	deadline = sc.Deadline
	sc.Reset()
	c.calls.Give(sc)
	return deadline, err
}

// heed applies the deadline and the metadata of a context to a call.
//
//go:noinline
func (c *caller) heed(ctx context.Context, sc *session.Call) error {
	if until, ok := ctx.Deadline(); ok {
		sc.Timeout = 0
		sc.Deadline = session.At(until)
	}
	if ctx.Err() != nil {
		return tooLate(ctx, sc.Method)
	}
	switch m := outgoingMetadata(ctx); {
	case m.wrong != "":
		return &Error{Code: InvalidArgument, Outcome: NotSent, Method: sc.Method, Message: m.wrong}
	case m.pairs != "":
		sc.Meta, sc.Plain = m.pairs, false
	}
	return nil
}

//go:noinline
func failed(s *session.Session, method string, st *wire.Status) error {
	return fromStatus(st, method, s.Conn().RemoteAddr().String())
}

// ended counts a call and makes the error of its status.
func (c *caller) ended(s *session.Session, sc *session.Call) error {
	m := c.stats.Of(sc.Method)
	at := sc.Ended
	if at == 0 {
		at = session.Nanos()
	}
	if sc.Status == nil || sc.Status.Outcome != wire.NotSent {
		m.Bytes(s.Number(), int(sc.Bytes), int(sc.ReplyBytes))
	}
	if sc.Status == nil {
		m.Ended(s.Number(), 0, at-sc.Sent)
		return nil
	}
	m.Ended(s.Number(), uint16(sc.Status.Code), at-sc.Sent)
	return failed(s, sc.Method, sc.Status)
}

// beforeRequest runs the hooks before a request is encoded.
func (c *caller) beforeRequest(ctx context.Context, info *CallInfo, args any) error {
	for _, f := range c.hooks.beforeRequest {
		if err := f.BeforeWriteRequest(ctx, info, args); err != nil {
			return hookError(err, info.Method, NotSent)
		}
	}
	return nil
}

// on is what hooks are told of a call on a connection.
func (i CallInfo) on(p *Peer, with codec.Codec) *CallInfo {
	i.Codec, i.Peer = with.Name(), p
	return &i
}

// hooked makes a call with hooks around its parts.
func (c *caller) hooked(ctx context.Context, p *Peer, sc *session.Call, of *CallInfo) error {
	h, s := &c.hooks, p.s
	info := of.on(p, sc.Codec)
	err := c.beforeRequest(ctx, info, sc.Args)
	if err != nil {
		return err
	}
	sc.Late = true
	if st := s.Start(ctx, sc); st != nil {
		err = failed(s, sc.Method, st)
	}
	for _, f := range h.afterRequest {
		f.AfterWriteRequest(ctx, info, sc.Args, err)
	}
	if err != nil {
		return err
	}
	for _, f := range h.beforeHeader {
		if err := f.BeforeReadReplyHeader(ctx, info); err != nil {
			s.Forget(sc)
			return hookError(err, sc.Method, OutcomeUnknown)
		}
	}
	s.Wait(ctx, sc)
	if sc.Status != nil {
		err = failed(s, sc.Method, sc.Status)
	}
	for _, f := range h.afterHeader {
		f.AfterReadReplyHeader(ctx, info, err)
	}
	if err != nil {
		return c.ended(s, sc)
	}
	for _, f := range h.beforeBody {
		if err := f.BeforeReadReplyBody(ctx, info); err != nil {
			sc.Drop()
			return hookError(err, sc.Method, Executed)
		}
	}
	s.Finish(sc)
	err = c.ended(s, sc)
	for _, f := range h.afterBody {
		f.AfterReadReplyBody(ctx, info, err)
	}
	return err
}

// open opens a streaming call on a route.
func (c *caller) open(ctx context.Context, r route, method string, sample any, opts []CallOption) (RawStream, error) {
	x := &outgoing{route: r, sample: sample, info: CallInfo{Method: method, Stream: true}}
	x.info.Peer, _ = r.(*Peer)
	if err := c.resolve(ctx, &x.o, true, opts); err != nil {
		return nil, notSent(err, method)
	}
	x.info.Attempt, x.info.OwnCredential = x.o.attempt, x.o.credential != nil
	if c.stream == nil {
		return r.openOnce(ctx, x)
	}
	x.info.Codec, x.info.out = c.codecFor(&x.o, sample).Name(), x
	stream, err := c.stream(ctx, &x.info)
	return stream, asError(err, method)
}

// streamEnded returns the function that counts a stream which is opened now, once, with the code that it ended with. bytes are those of its messages.
func streamEnded(all *stats.Callers, p *Peer, method string, bytes func() (sent, came int)) func(Code) {
	from, counted := session.Nanos(), new(atomic.Bool)
	method = all.Kept(method)
	return func(code Code) {
		if !counted.Swap(true) {
			m := all.Of(method)
			sent, came := bytes()
			m.Bytes(p.number, sent, came)
			m.Ended(p.number, uint16(code), session.Nanos()-from)
		}
	}
}

// openOn opens a stream on a connection.
func (c *caller) openOn(ctx context.Context, p *Peer, x *outgoing) (RawStream, error) {
	if p.s == nil {
		return c.openForeign(ctx, p, x)
	}
	sc := session.NewCall()
	if err := c.fill(ctx, sc, x, x.sample); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	stream, st := p.s.OpenStream(ctx, sc)
	if st != nil {
		cancel()
		return nil, failed(p.s, sc.Method, st)
	}
	// A context that ends while no goroutine sends or receives must still reach the server.
	end := &rawStream{s: stream, ctx: ctx, method: sc.Method, peer: p.Addr().String(), meta: x.o.reply}
	end.ended = streamEnded(&c.stats, p, sc.Method, func() (sent, came int) { return session.StreamBytes(stream) })
	unwatch := context.AfterFunc(ctx, func() {
		stream.ContextEnded()
		end.ended(CodeOf(ctx.Err()))
	})
	end.stop = func() {
		unwatch()
		cancel()
	}
	return end, nil
}
