package weft

import (
	"context"
	"sync"
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

	calls sync.Pool // of *session.Call
	stats sync.Map  // method name → *stats.Method
}

func (c *caller) setDefaults(chosen codec.Codec) {
	c.codec, c.proto, c.other = chosen, protobuf.New(), msgpack.New()
	c.calls.New = func() any { return session.NewCall() }
}

// callOptions are what the options of one call add up to.
type callOptions struct {
	codec      codec.Codec
	compressor compress.Compressor
	timeout    time.Duration
	credential *Credential
	reply      *Metadata
	oneway     bool
}

// CallOption changes one call. The options are WithCodec, WithCompressor,
// WithTimeout, WithCredential and WithReplyMetadata.
type CallOption interface{ apply(o *callOptions) error }

type optionFunc func(o *callOptions) error

func (f optionFunc) apply(o *callOptions) error { return f(o) }

// WithCodec sets the codec of a call. The server must have it too.
func WithCodec(c codec.Codec) CallOption {
	return optionFunc(func(o *callOptions) error { o.codec = c; return nil })
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
		o.timeout = d
		return nil
	})
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

func (c *caller) options(opts []CallOption) (callOptions, error) {
	o := callOptions{compressor: c.compressor, timeout: c.timeout}
	for _, opt := range opts {
		if err := opt.apply(&o); err != nil {
			return o, err
		}
	}
	return o, nil
}

// codecFor chooses the codec of a call by its option, the configuration, or the
// type of its argument.
func (c *caller) codecFor(o *callOptions, sample any) codec.Codec {
	switch {
	case o.codec != nil:
		return o.codec
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
	sc.Codec = c.codecFor(o, sample)
	sc.Sizer, _ = sc.Codec.(codec.Sizer)
	sc.Compress = o.compressor
	sc.KeepMeta = o.reply != nil
	if deadline, ok := ctx.Deadline(); ok {
		sc.Deadline = session.Nanos() + int64(time.Until(deadline))
		if o.timeout != c.timeout && o.timeout > 0 {
			sc.Timeout = int64(o.timeout)
		}
	} else if o.timeout > 0 {
		sc.Timeout = int64(o.timeout)
	}
	if err := checkCall(method); err != nil {
		return err
	}
	m, _ := ctx.Value(outgoingKey{}).(Metadata)
	if o.credential == nil && c.credential != nil {
		cred, err := c.credential(ctx, method)
		if err != nil {
			e := Errorf(CodeOf(unauthenticated(err)), "credential: %w", err)
			e.Method, e.Outcome = method, NotSent
			return e
		}
		o.credential = &cred
	}
	if o.credential != nil {
		m = m.With(authorization, o.credential.encode())
	}
	if m.wrong != "" {
		return &Error{Code: InvalidArgument, Outcome: NotSent, Method: method, Message: m.wrong}
	}
	sc.Meta = m.pairs
	return nil
}

// checkCall refuses a method name that cannot travel.
func checkCall(method string) error {
	if method == "" || len(method) > wire.MaxMethodName {
		return &Error{Code: InvalidArgument, Outcome: NotSent, Method: method, Message: "a method name has 1 to 255 bytes"}
	}
	return nil
}

// call makes a unary call on a session.
func (c *caller) call(ctx context.Context, s *session.Session, method string, args, reply any, o callOptions) error {
	sc := c.calls.Get().(*session.Call)
	sc.Args, sc.Reply, sc.Oneway = args, reply, o.oneway
	err := c.fill(ctx, sc, method, args, &o)
	if err == nil {
		if c.hooks.any {
			err = c.hooked(ctx, s, sc, o.oneway)
		} else if st := s.Start(ctx, sc); st != nil {
			err = fromStatus(st, method, s.Conn().RemoteAddr().String())
		} else {
			err = c.await(ctx, s, sc)
		}
	}
	if o.reply != nil {
		*o.reply = metadataOf(sc.ReplyMeta)
	}
	sc.Reset()
	c.calls.Put(sc)
	return err
}

// await waits for a call that was started and counts it.
func (c *caller) await(ctx context.Context, s *session.Session, sc *session.Call) error {
	s.Wait(ctx, sc)
	s.Finish(sc)
	return c.ended(s, sc)
}

// ended counts a call and makes the error of its status.
func (c *caller) ended(s *session.Session, sc *session.Call) error {
	m := c.statsOf(sc.Method)
	if sc.Ended != 0 {
		m.Time(s.Number(), sc.Ended-sc.Sent)
	}
	if sc.Status == nil {
		m.Count(s.Number(), 0)
		return nil
	}
	m.Count(s.Number(), uint16(sc.Status.Code))
	return fromStatus(sc.Status, sc.Method, s.Conn().RemoteAddr().String())
}

func (c *caller) statsOf(method string) *stats.Method {
	if m, ok := c.stats.Load(method); ok {
		return m.(*stats.Method)
	}
	m, _ := c.stats.LoadOrStore(method, new(stats.Method))
	return m.(*stats.Method)
}

// hooked makes a call with hooks around its parts.
func (c *caller) hooked(ctx context.Context, s *session.Session, sc *session.Call, oneway bool) error {
	peer, _ := s.Owner.(*Peer)
	info := &CallInfo{Method: sc.Method, Codec: sc.Codec.Name(), Oneway: oneway, Peer: peer, Reply: sc.Reply}
	h := &c.hooks
	for _, f := range h.beforeRequest {
		if err := f.BeforeWriteRequest(ctx, info, sc.Args); err != nil {
			return hookError(err, sc.Method, NotSent)
		}
	}
	sc.Late = true
	var err error
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
func (c *caller) open(ctx context.Context, s *session.Session, method string, o callOptions, sample any) (StreamEnd, error) {
	sc := session.NewCall()
	if o.timeout == c.timeout {
		// The default timeout is for unary calls.
		o.timeout = 0
		if _, ok := ctx.Deadline(); ok {
			o.timeout = c.timeout
		}
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
	end := &streamEnd{s: stream, ctx: ctx, method: method, peer: s.Conn().RemoteAddr().String(), meta: o.reply}
	end.stop = func() {
		unwatch()
		cancel()
	}
	return end, nil
}
