package weft

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"strings"
	"sync"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/stats"
	"github.com/weftrpc/weft/internal/wire"
)

// host runs the calls that the other side makes, on a server as well as on a
// client. What happens to a call does not depend on how it came here: it is a
// method, a context with metadata and deadline, a codec and bytes.
type host struct {
	services   *Services
	codecs     map[string]codec.Codec
	names      []string // of the codecs, in order
	compressor compress.Compressor
	log        *slog.Logger

	authenticate func(context.Context, Credential, *CallInfo) (any, error)
	unary        []UnaryInterceptor
	streams      []StreamInterceptor
	hooks        requestHooks
	plain        bool // none of these: the short way

	mu     sync.Mutex
	served map[*method]*served
}

// served is a method as one host runs it.
type served struct {
	h     *host
	m     *method
	s     *session.Method
	stats stats.Method
}

func (h *host) setCodecs(all []codec.Codec) error {
	if all == nil {
		all = DefaultCodecs()
	}
	h.codecs = make(map[string]codec.Codec, len(all))
	if len(all) > wire.MaxNames {
		return Errorf(InvalidArgument, "weft: %d codecs are configured, at most %d are allowed", len(all), wire.MaxNames)
	}
	for i, c := range all {
		if c == nil {
			return Errorf(InvalidArgument, "weft: codec %d of the configuration is nil", i)
		}
		name := c.Name()
		if err := wire.CheckName(name); err != nil {
			return Errorf(InvalidArgument, "weft: codec %q of type %T has a %w", name, c, err)
		}
		if h.codecs[name] != nil {
			return Errorf(InvalidArgument, "weft: two codecs have the name %q", name)
		}
		h.codecs[name] = c
		h.names = append(h.names, name)
	}
	return nil
}

// ready is called when the fields are set.
func (h *host) ready() {
	h.served = make(map[*method]*served)
	h.plain = h.authenticate == nil && len(h.unary) == 0 && len(h.streams) == 0 && !h.hooks.any
}

// resolve finds what a caller has bound.
func (h *host) resolve(codecName, name string) (*session.Binding, *wire.Status) {
	m, st := h.services.find(name)
	if st != nil {
		if h.authenticate != nil {
			// What there is instead is not for strangers.
			st.Message = "there is no method " + name
		}
		return nil, st
	}
	c := h.codecs[codecName]
	if c == nil {
		return nil, &wire.Status{Code: wire.Unimplemented, Outcome: wire.Refused, Reason: "NO_CODEC",
			Message: fmt.Sprintf("there is no codec %q here; there are %s", codecName, strings.Join(h.names, ", "))}
	}
	z, _ := c.(codec.Sizer)
	return &session.Binding{Method: h.serve(m), Codec: c, Sizer: z}, nil
}

// serve returns the method as this host serves it.
func (h *host) serve(m *method) *session.Method {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.served[m]
	if s != nil && !s.s.Removed() {
		return s.s
	}
	if s == nil {
		maps.DeleteFunc(h.served, func(_ *method, old *served) bool { return old.s.Removed() })
		s = &served{h: h, m: m}
		s.stats.Sampled = true
		h.served[m] = s
	}
	s.s = &session.Method{Name: m.name, Streaming: m.kind != Unary, Serve: s.run, Data: s}
	m.serve(s.s)
	return s.s
}

// run answers one call.
func (s *served) run(r *session.Request) {
	err := error(Internal) // if the handler panics
	defer func() {
		where := r.Ctx.Session.Number()
		s.stats.Count(where, uint16(CodeOf(err)))
		if r.Sampled {
			s.stats.Time(where, r.Ended-r.Ctx.Received())
		}
	}()
	err = s.answer(r)
}

// answer runs the call and answers it; the error is what the caller was told.
func (s *served) answer(r *session.Request) error {
	r.Compress = s.h.compressor
	if !s.h.plain || s.m.kind != Unary {
		return s.answerAround(r)
	}
	if st := r.Open(); st != nil {
		return fail(r, st)
	}
	if s.m.raw != nil {
		return s.answerRaw(r)
	}
	req := s.m.newRequest()
	if err := session.Decode(r.Codec, r.Body, req); err != nil {
		return fail(r, decodeStatus(r, err))
	}
	reply, err := s.m.call(r.Ctx, req)
	if err != nil {
		return fail(r, toStatus(err))
	}
	r.Reply(reply)
	return nil
}

func (s *served) answerRaw(r *session.Request) error {
	if r.Codec.Name() != "raw" {
		return fail(r, &wire.Status{Code: wire.InvalidArgument, Outcome: wire.Refused, Message: s.m.name + " takes raw bytes: call it with codec raw, not " + r.Codec.Name()})
	}
	reply, err := s.m.raw(r.Ctx, r.Body, r.Scratched())
	if err != nil {
		return fail(r, toStatus(err))
	}
	r.ReplyBytes(reply)
	return nil
}

func fail(r *session.Request, st *wire.Status) error {
	r.Fail(st)
	return Code(st.Code)
}

func decodeStatus(r *session.Request, err error) *wire.Status {
	return &wire.Status{Code: wire.InvalidArgument, Outcome: wire.Refused, Reason: "DECODE",
		Message: "decode the request with codec " + r.Codec.Name() + ": " + err.Error()}
}

// answerAround is answer with everything that may be around a call. The order is:
// hooks on the header, authentication, hooks on the body, decoding, interceptors,
// the handler, hooks on the reply.
func (s *served) answerAround(r *session.Request) error {
	ctx := r.Ctx
	peer, _ := ctx.Session.Owner.(*Peer)
	info := &CallInfo{Method: s.m.name, Codec: r.Codec.Name(), Stream: s.m.kind != Unary, Peer: peer}
	for _, h := range s.h.hooks.beforeHeader {
		if err := h.BeforeReadRequestHeader(ctx, peer); err != nil {
			return fail(r, refusal(err))
		}
	}
	for _, h := range s.h.hooks.afterHeader {
		h.AfterReadRequestHeader(ctx, info)
	}
	if err := s.h.admit(ctx, info); err != nil {
		return fail(r, refusal(err))
	}
	for _, h := range s.h.hooks.beforeBody {
		if err := h.BeforeReadRequestBody(ctx, info); err != nil {
			return fail(r, refusal(err))
		}
	}
	if info.Stream {
		return s.answerStream(r, info)
	}
	req, st := s.decode(r)
	var failed error
	if st != nil {
		failed = fromStatus(st, s.m.name, "")
	}
	for _, h := range s.h.hooks.afterBody {
		h.AfterReadRequestBody(ctx, info, req, failed)
	}
	if st != nil {
		return fail(r, st)
	}
	reply, err := chainUnary(s.h.unary, info, func(ctx context.Context, req any) (reply any, err error) {
		defer s.caught(r, &err)
		return s.m.call(ctx, req)
	})(ctx, req)
	return s.finish(r, info, reply, err)
}

// caught turns a panic of the handler into an error, so that what runs around the
// call sees its end.
func (s *served) caught(r *session.Request, err *error) {
	if p := recover(); p != nil {
		*err = fromStatus(r.Panicked(p), s.m.name, "")
	}
}

// finish answers a unary call with hooks around it.
func (s *served) finish(r *session.Request, info *CallInfo, reply any, err error) error {
	for _, h := range s.h.hooks.beforeReply {
		if herr := h.BeforeWriteReply(r.Ctx, info, reply, err); herr != nil {
			reply, err = nil, herr
			break
		}
	}
	if err == nil && reply == nil {
		err = Errorf(Internal, "an interceptor returned neither a reply nor an error")
	}
	if err != nil {
		r.Fail(toStatus(err))
	} else {
		r.Reply(reply)
	}
	for _, h := range s.h.hooks.afterReply {
		h.AfterWriteReply(r.Ctx, info, reply, err)
	}
	if err != nil {
		return Code(CodeOf(err))
	}
	return nil
}

func (s *served) decode(r *session.Request) (any, *wire.Status) {
	if st := r.Open(); st != nil {
		return nil, st
	}
	if s.m.raw != nil && r.Codec.Name() != "raw" {
		return nil, &wire.Status{Code: wire.InvalidArgument, Outcome: wire.Refused, Message: s.m.name + " takes raw bytes: call it with codec raw, not " + r.Codec.Name()}
	}
	req := s.m.newRequest()
	if err := session.Decode(r.Codec, r.Body, req); err != nil {
		return nil, decodeStatus(r, err)
	}
	return req, nil
}

// admit decides whether the caller may make this call.
func (h *host) admit(ctx *session.Context, info *CallInfo) error {
	if h.authenticate == nil {
		return nil
	}
	cred := parseCredential(metadataOf(ctx.Meta()).Get(authorization))
	principal, err := h.authenticate(ctx, cred, info)
	if err != nil {
		return unauthenticated(err)
	}
	if principal != nil {
		ctx.SetPrincipal(principal)
	}
	return nil
}

// unauthenticated gives an error of an authentication its code.
func unauthenticated(err error) error {
	if CodeOf(err) != Unknown {
		return err
	}
	e := Errorf(Unauthenticated, "%w", err)
	return e
}

// answerStream runs a streaming call.
func (s *served) answerStream(r *session.Request, info *CallInfo) error {
	stream := r.Ctx.Stream()
	stream.SetCompress(s.h.compressor)
	end := &rawStream{s: stream, ctx: r.Ctx, method: s.m.name, server: true}
	err := chainStream(s.h.streams, info, func(ctx context.Context, end RawStream) (err error) {
		defer s.caught(r, &err)
		return s.m.stream(ctx, end)
	})(r.Ctx, end)
	if errors.Is(err, io.EOF) {
		// A handler that passes the end of its input on has nothing to complain of.
		err = nil
	}
	for _, h := range s.h.hooks.beforeReply {
		if herr := h.BeforeWriteReply(r.Ctx, info, nil, err); herr != nil {
			err = herr
			break
		}
	}
	if err != nil {
		r.Fail(toStatus(err))
	} else {
		r.ReplyBytes(nil)
	}
	for _, h := range s.h.hooks.afterReply {
		h.AfterWriteReply(r.Ctx, info, nil, err)
	}
	if err != nil {
		return Code(CodeOf(err))
	}
	return nil
}
