package weft

import (
	"context"
	"errors"
	"io"

	"github.com/weftrpc/weft/internal/session"
)

// Inbound is what a door implements for a call that has come in: it reads the request and writes the reply. It may be an InboundSizer as
// well. The server calls Decode or Stream at most once, and then Reply or Fail exactly once. All are called by one goroutine.
type Inbound interface {
	// Decode decodes the request into v, a pointer, by DoorCall.DecodeBody. It is called after the caller was authenticated and the method
	// was found. An error that is no *Error gets InvalidArgument and ReasonDecode.
	Decode(v any) error
	// Reply ends the call well: it sends v, a pointer, and the handler's metadata. An error means that nothing was sent; Fail follows.
	Reply(v any, m Metadata) error
	// Fail ends the call with an error, whose Code, Message, Reason, Details and Outcome are for the caller.
	Fail(e *Error, m Metadata)
	// Stream is the server's end of a streaming call; ctx is that of the call.
	Stream(ctx context.Context) RawStream
}

// arrival is one call on its way through a host: the one pipeline, whatever the wire. The order is: hooks on the header, authentication,
// the look for the method, hooks on the body, decoding, interceptors, the handler, hooks on the reply.
type arrival struct {
	info *CallInfo // which interceptors may keep: it is not used for another call
	h    *host
	e    *endpoint // without a method if there is none of that name
	ctx  *session.Context
	in   Inbound
	req  any

	size   int     // bytes of the request
	tapped *tapped // nil: there are no taps
}

// serve runs the whole call and answers it. The error is what the caller was told.
func (a *arrival) serve() error {
	if all := a.h.taps.All(); all != nil {
		return a.serveTapped(all)
	}
	return a.serveAll()
}

// serveAll is serve without taps.
func (a *arrival) serveAll() error {
	if err := a.open(); err != nil {
		return a.refuse(err)
	}
	return a.run()
}

// open does what comes before the interceptors. An error refuses the call, and so does a panic: the handler has not run.
func (a *arrival) open() (err error) {
	runs := "" // the function that may panic
	defer func() {
		if v := recover(); v != nil {
			err = a.h.panickedBefore(runs, a.info.Peer, v)
		}
	}()
	if m := a.e.m; m != nil && m.facts.timeout > 0 {
		a.ctx.Limit(session.Nanos() + int64(m.facts.timeout))
	}
	h := &a.h.hooks
	for _, f := range h.afterHeader {
		runs = "AfterReadRequestHeader"
		f.AfterReadRequestHeader(a.ctx, a.info)
	}
	runs = "Authenticate"
	if err := a.authenticate(); err != nil {
		return err
	}
	if err := a.fits(); err != nil {
		return err
	}
	for _, f := range h.beforeBody {
		runs = "BeforeReadRequestBody"
		if err := f.BeforeReadRequestBody(a.ctx, a.info); err != nil {
			return err
		}
	}
	if a.info.Stream {
		return nil
	}
	a.req = a.e.m.newRequest()
	runs = "Decode"
	if err = a.in.Decode(a.req); err != nil {
		a.req = nil
		if e := (*Error)(nil); !asWeft(err, &e) {
			err = Errorf(InvalidArgument, "decode the request with codec %s: %w", a.info.Codec, err).WithReason(ReasonDecode)
		}
	}
	for _, f := range h.afterBody {
		runs = "AfterReadRequestBody"
		f.AfterReadRequestBody(a.ctx, a.info, a.req, err)
	}
	return err
}

// authenticate decides whether the caller may make this call.
func (a *arrival) authenticate() error {
	if a.h.authenticate != nil {
		if err := a.ask(a.h.authenticate); err != nil {
			return err
		}
	}
	if m := a.e.m; m != nil && m.facts.admit != nil {
		return a.ask(m.facts.admit)
	}
	return nil
}

// ask has a function decide over the call by its credential.
func (a *arrival) ask(f authenticator) error {
	cred := parseCredential(metadataOf(a.ctx.Meta()).Get(authorization))
	principal, err := f(a.ctx, cred, a.info)
	if err != nil {
		return unauthenticated(err)
	}
	if principal != nil {
		a.ctx.SetPrincipal(principal)
	}
	return nil
}

// fits finds out whether there is a method that takes the call.
func (a *arrival) fits() error {
	m := a.e.m
	switch {
	case m == nil:
		if a.h.services.find(a.info.Method) != nil {
			return Errorf(Unavailable, "method %s has just been registered; call again", a.info.Method)
		}
		return fromStatus(a.h.services.missing(a.info.Method), "", "")
	case (m.kind != Unary) != a.info.Stream:
		what := "a unary method and was opened as a stream"
		if m.kind != Unary {
			what = "a streaming method and was called as a unary one"
		}
		return Errorf(Unimplemented, "%s is %s", m.name, what).WithReason(ReasonWrongKind)
	case m.raw != nil && a.info.Codec != "raw":
		return Errorf(InvalidArgument, "%s takes raw bytes: call it with codec raw, not %s", m.name, a.info.Codec)
	}
	return nil
}

// refuse answers a call that does not reach its handler.
func (a *arrival) refuse(err error) error {
	e := *answerOf(err)
	e.Outcome = Refused
	a.h.countRefused(e.Code, e.Reason)
	a.tapped.note(nil, &e)
	a.in.Fail(&e, metadataOf(a.ctx.ReplyMeta()))
	return e.Code
}

// run runs the interceptors and the handler, and answers the call.
func (a *arrival) run() error {
	var reply any
	var err error
	if a.info.Stream {
		err = a.h.stream(a.ctx, a.info, a.tapped.around(a.in.Stream(a.ctx)))
		if errors.Is(err, io.EOF) {
			err = nil // the handler has passed on the end of its input
		}
	} else if reply, err = a.h.unary(a.ctx, a.info, a.req); err == nil && reply == nil {
		err = Errorf(Internal, "an interceptor returned neither a reply nor an error")
	}
	for _, f := range a.h.hooks.beforeReply {
		if herr := f.BeforeWriteReply(a.ctx, a.info, reply, err); herr != nil {
			reply, err = nil, herr
			break
		}
	}
	m := metadataOf(a.ctx.ReplyMeta())
	if err == nil {
		err = a.in.Reply(reply, m)
	}
	if err != nil {
		a.in.Fail(answerOf(err), m)
	}
	a.tapped.note(reply, err)
	for _, f := range a.h.hooks.afterReply {
		f.AfterWriteReply(a.ctx, a.info, reply, err)
	}
	if err != nil {
		return Code(CodeOf(err))
	}
	return nil
}

// handleUnary is the innermost function of a host's chain.
func handleUnary(ctx context.Context, info *CallInfo, req any) (reply any, err error) {
	if info == nil || info.in == nil || info.in.m == nil {
		return nil, errForeignInfo()
	}
	defer info.in.caught(info.Peer, &err)
	return info.in.m.call(ctx, req)
}

// handleStream is the innermost function of a host's chain around streams.
func handleStream(ctx context.Context, info *CallInfo, stream RawStream) (err error) {
	if info == nil || info.in == nil || info.in.m == nil {
		return errForeignInfo()
	}
	defer info.in.caught(info.Peer, &err)
	return info.in.m.stream(ctx, stream)
}

// caught turns a panic of the handler into an error, so that what runs around the call sees its end.
func (e *endpoint) caught(peer *Peer, err *error) {
	if p := recover(); p != nil {
		*err = e.h.panicked(e.m.name, peer, p)
	}
}

// answerOf is what a caller is told of an error: code, message, reason and details. What
// describes the handler's own calls, such as their peer, does not travel.
func answerOf(err error) *Error { return fromStatus(toStatus(err), "", "") }
