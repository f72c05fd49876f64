package weft

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/stats"
	"github.com/weftrpc/weft/internal/wire"
)

// caller makes calls on sessions. A client has one for all its connections, a
// server one for each peer.
type caller struct {
	codec      codec.Codec // nil: chosen by the message
	proto      codec.Codec
	other      codec.Codec
	compressor compress.Compressor
	timeout    time.Duration // of calls without a deadline; not above zero: none
	credential func(context.Context, string) (Credential, error)
	hooks      replyHooks
	unary      []UnaryInterceptor
	streams    []ClientStreamInterceptor

	plain  bool      // nothing of the above concerns a call without options
	calls  sync.Pool // of *session.Call
	stats  sync.Map  // method name → *methodStats
	named  atomic.Int32
	others methodStats // of all methods beyond maxNamed
	last   atomic.Pointer[methodStats]
}

// maxNamed is how many methods have statistics of their own: a client may call what
// others name, and must not remember all of it.
const maxNamed = 1 << 12

// methodStats are the statistics of a method that was called.
type methodStats struct {
	name string
	stats.Method
}

func (c *caller) setDefaults(chosen codec.Codec) {
	c.codec, c.proto, c.other = chosen, protobuf.New(), msgpack.New()
	c.plain = c.compressor == nil && c.credential == nil && !c.hooks.any && len(c.unary) == 0
	c.calls.New = func() any { return session.NewCall() }
}

// callOptions are what the options of one call add up to.
type callOptions struct {
	codec      codec.Codec
	compressor compress.Compressor
	timeout    time.Duration // not above zero: none
	bounded    bool          // the timeout is the call's own, not the configured one
	credential *Credential
	reply      *Metadata
	oneway     bool
	attempt    int   // how many times the call was tried before
	deadline   int64 // of a call that was tried, on the clock of session.Nanos; 0 for none
}

// CallOption changes one call. The options are WithCodec, WithCompressor,
// WithTimeout, WithCredential, WithReplyMetadata and WithAttempt.
type CallOption interface{ apply(o *callOptions) error }

type optionFunc func(o *callOptions) error

func (f optionFunc) apply(o *callOptions) error { return f(o) }

// WithCodec sets the codec of a call; nil chooses it as if there were no such
// option. The server must have it too.
func WithCodec(c codec.Codec) CallOption {
	return optionFunc(func(o *callOptions) error {
		if c != nil {
			if err := wire.CheckName(c.Name()); err != nil {
				return Errorf(InvalidArgument, "weft: codec of type %T has a %w", c, err)
			}
		}
		o.codec = c
		return nil
	})
}

// WithCompressor sets the compressor of a call's request; nil sends it as it is.
// Small requests, and requests to a server that cannot undo it, are sent as they are.
func WithCompressor(c compress.Compressor) CallOption {
	return optionFunc(func(o *callOptions) error { o.compressor = c; return nil })
}

// WithTimeout bounds a call in time. The earlier of this and the context's
// deadline counts. A timeout below zero lets a unary call run as long as its
// context does; zero is an error.
func WithTimeout(d time.Duration) CallOption {
	return optionFunc(func(o *callOptions) error {
		if d == 0 {
			return Errorf(InvalidArgument, "weft: a timeout of zero leaves no time for the call")
		}
		o.timeout, o.bounded = d, true
		return nil
	})
}

// TimeoutOf returns the timeout that options give a call; set is false when they
// give none. It is for what makes calls on behalf of others.
func TimeoutOf(opts ...CallOption) (d time.Duration, set bool) {
	o := applied(opts)
	return o.timeout, o.bounded
}

// ReplyMetadataOf is where the last WithReplyMetadata among opts has the metadata
// stored; nil if there is none. It is for those who make several calls of one.
func ReplyMetadataOf(opts ...CallOption) *Metadata { return applied(opts).reply }

// applied is what options say; nothing if one of them is wrong, as the call itself
// will say.
func applied(opts []CallOption) (o callOptions) {
	for _, opt := range opts {
		if opt.apply(&o) != nil {
			return callOptions{}
		}
	}
	return o
}

// WithCredential sets the credential of a call.
func WithCredential(cred Credential) CallOption {
	return optionFunc(func(o *callOptions) error { o.credential = &cred; return nil })
}

// WithReplyMetadata stores the metadata that comes back with the reply, or with
// the error, in m. Of a streaming call it is stored when Recv or Send has reported
// the end.
func WithReplyMetadata(m *Metadata) CallOption {
	return optionFunc(func(o *callOptions) error { o.reply = m; return nil })
}

func (c *caller) options(method string, opts []CallOption) (callOptions, error) {
	o := callOptions{compressor: c.compressor, timeout: c.timeout}
	for _, opt := range opts {
		if err := opt.apply(&o); err != nil {
			return o, notSent(err, method)
		}
	}
	return o, nil
}

// notSent is the error of a call that failed before anything was sent.
func notSent(err error, method string) error {
	e := Errorf(CodeOf(err), "%w", err)
	if known := (*Error)(nil); asWeft(err, &known) {
		*e = *known
	}
	e.Method, e.Outcome = method, NotSent
	return e
}

// codecFor chooses the codec of a call by its option, the configuration, or the
// type of its argument.
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

// fill readies a session's call.
func (c *caller) fill(ctx context.Context, sc *session.Call, method string, sample any, o *callOptions) error {
	sc.Method = method
	used := c.codecFor(o, sample)
	sc.Codec = used
	sc.Compress = o.compressor
	sc.KeepMeta = o.reply != nil
	deadline, limited := ctx.Deadline()
	if limited {
		sc.Deadline = session.At(deadline)
	}
	if (o.bounded || !limited) && o.timeout > 0 {
		sc.Timeout = int64(o.timeout)
	}
	if ctx.Err() != nil {
		return tooLate(ctx, method)
	}
	m, _ := ctx.Value(outgoingKey{}).(Metadata)
	if o.credential == nil && c.credential != nil {
		ask := ctx
		if sc.Timeout > 0 {
			// The time of the call begins here.
			until := session.Nanos() + sc.Timeout
			if sc.Deadline == 0 || until < sc.Deadline {
				sc.Deadline = until
			}
			var cancel context.CancelFunc
			ask, cancel = context.WithTimeout(ctx, time.Duration(sc.Timeout))
			defer cancel()
			sc.Timeout = 0
		}
		cred, err := c.credential(ask, method)
		if err != nil {
			return notSent(Errorf(CodeOf(unauthenticated(err)), "credential: %w", err), method)
		}
		o.credential = &cred
	}
	if o.credential != nil {
		m = m.before(authorization, o.credential.encode())
	}
	if o.attempt > 0 {
		// Without room for it the attempt is made without saying which it is.
		if told := m.reserved(attemptKey, strconv.Itoa(o.attempt)); told.wrong == "" && len(told.pairs) <= DefaultMaxMetadata {
			m = told
		}
	}
	if m.wrong != "" {
		return &Error{Code: InvalidArgument, Outcome: NotSent, Method: method, Message: m.wrong}
	}
	sc.Meta = m.pairs
	return nil
}

// call makes a unary call on a session. When it fails, the options say until
// when it may be tried again.
func (c *caller) call(ctx context.Context, s *session.Session, method string, args, reply any, o *callOptions) error {
	sc := c.calls.Get().(*session.Call)
	sc.Args, sc.Reply, sc.Oneway = args, reply, o.oneway
	err := c.fill(ctx, sc, method, args, o)
	if err == nil {
		switch {
		case o.oneway:
			return c.send(ctx, s, sc, o)
		case c.hooks.any:
			err = c.hooked(ctx, s, sc)
		default:
			if st := s.Start(ctx, sc); st != nil {
				err = fromStatus(st, method, s.Conn().RemoteAddr().String())
			} else {
				err = c.await(ctx, s, sc)
			}
		}
	}
	if o.reply != nil {
		*o.reply = metadataOf(sc.ReplyMeta)
	}
	c.recycle(sc, o)
	return err
}

// recycle readies a session's call for its next use.
func (c *caller) recycle(sc *session.Call, o *callOptions) {
	o.deadline = sc.Deadline
	sc.Reset()
	c.calls.Put(sc)
}

// beforeRequest runs the hooks before a request is encoded.
func (c *caller) beforeRequest(ctx context.Context, s *session.Session, sc *session.Call) (*CallInfo, error) {
	if !c.hooks.any {
		return nil, nil
	}
	peer, _ := s.Owner.(*Peer)
	info := &CallInfo{Method: sc.Method, Codec: sc.Codec.Name(), Oneway: sc.Oneway, Peer: peer, Reply: sc.Reply}
	for _, f := range c.hooks.beforeRequest {
		if err := f.BeforeWriteRequest(ctx, info, sc.Args); err != nil {
			return nil, hookError(err, sc.Method, NotSent)
		}
	}
	return info, nil
}

// await waits for a call that was started and counts it.
func (c *caller) await(ctx context.Context, s *session.Session, sc *session.Call) error {
	s.Wait(ctx, sc)
	s.Finish(sc)
	return c.ended(s, sc)
}

// quick is call for what most calls are: without options, credentials, hooks. It
// uses little stack; see session.startAny. deadline is that of the call.
func (c *caller) quick(ctx context.Context, s *session.Session, method string, args, reply any) (deadline int64, err error) {
	sc := c.calls.Get().(*session.Call)
	sc.Method, sc.Args, sc.Reply = method, args, reply
	sc.Codec, sc.Plain = c.usualCodec(args), true
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
	c.calls.Put(sc)
	return deadline, err
}

// heed takes over what a context says of a call.
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
	if m := ctx.Value(outgoingKey{}); m != nil {
		m := m.(Metadata)
		if m.wrong != "" {
			return &Error{Code: InvalidArgument, Outcome: NotSent, Method: sc.Method, Message: m.wrong}
		}
		sc.Meta, sc.Plain = m.pairs, false
	}
	return nil
}

func tooLate(ctx context.Context, method string) error {
	e := contextStatus(ctx, "the context ended before the call was sent")
	e.Method = method
	return e
}

//go:noinline
func failed(s *session.Session, method string, st *wire.Status) error {
	return fromStatus(st, method, s.Conn().RemoteAddr().String())
}

// ended counts a call and makes the error of its status.
func (c *caller) ended(s *session.Session, sc *session.Call) error {
	m := c.last.Load()
	if m == nil || m.name != sc.Method {
		m = c.statsOf(sc.Method)
	}
	at := sc.Ended
	if at == 0 {
		at = session.Nanos()
	}
	if sc.Status == nil {
		m.Ended(s.Number(), 0, at-sc.Sent)
		return nil
	}
	m.Ended(s.Number(), uint16(sc.Status.Code), at-sc.Sent)
	return failed(s, sc.Method, sc.Status)
}

// statsOf finds the statistics of a method and remembers them: callers repeat
// themselves.
//
//go:noinline
func (c *caller) statsOf(method string) *methodStats {
	found, ok := c.stats.Load(method)
	if !ok {
		if c.named.Load() >= maxNamed {
			return &c.others
		}
		if found, ok = c.stats.LoadOrStore(method, &methodStats{name: method}); !ok {
			c.named.Add(1)
		}
	}
	m := found.(*methodStats)
	c.last.Store(m)
	return m
}

// hooked makes a call with hooks around its parts.
func (c *caller) hooked(ctx context.Context, s *session.Session, sc *session.Call) error {
	info, err := c.beforeRequest(ctx, s, sc)
	if err != nil {
		return err
	}
	h := &c.hooks
	sc.Late = true
	if st := s.Start(ctx, sc); st != nil {
		err = fromStatus(st, sc.Method, s.Conn().RemoteAddr().String())
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
		err = fromStatus(sc.Status, sc.Method, s.Conn().RemoteAddr().String())
	}
	for _, f := range h.afterHeader {
		f.AfterReadReplyHeader(ctx, info, err)
	}
	if err != nil {
		return c.ended(s, sc)
	}
	for _, f := range h.beforeBody {
		if err := f.BeforeReadReplyBody(ctx, info); err != nil {
			s.Drop(sc)
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

// hookError is the error of a call that a hook has refused.
func hookError(err error, method string, outcome Outcome) error {
	e := fromStatus(toStatus(err), method, "")
	e.Outcome, e.cause = outcome, err
	return e
}

// open opens a stream on a session. sample is a message that will be sent.
func (c *caller) open(ctx context.Context, s *session.Session, method string, o callOptions, sample any) (RawStream, error) {
	sc := session.NewCall()
	if !o.bounded {
		o.timeout = 0 // the configured one is for unary calls
	}
	if err := c.fill(ctx, sc, method, sample, &o); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	stream, st := s.OpenStream(ctx, sc)
	if st != nil {
		cancel()
		return nil, fromStatus(st, method, s.Conn().RemoteAddr().String())
	}
	// A context that ends while nobody sends or receives must still reach the server.
	unwatch := context.AfterFunc(ctx, stream.ContextEnded)
	end := &rawStream{s: stream, ctx: ctx, method: method, peer: s.Conn().RemoteAddr().String(), meta: o.reply}
	end.stop = func() {
		unwatch()
		cancel()
	}
	return end, nil
}
