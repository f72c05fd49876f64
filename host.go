package weft

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/fence"
	"github.com/weftrpc/weft/internal/overload"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/stats"
	"github.com/weftrpc/weft/internal/taps"
	"github.com/weftrpc/weft/internal/turns"
	"github.com/weftrpc/weft/internal/wire"
)

// host is what a server, or a client with Services, has to answer calls with: methods, codecs, and what runs around a call. It does not
// know by which wire a call came; see arrival.
type host struct {
	services   *Services
	codecs     map[string]codec.Codec
	names      []string // of the codecs, in order
	compressor compress.Compressor
	log        *slog.Logger

	authenticate func(context.Context, Credential, *CallInfo) (any, error)
	hooks        requestHooks
	unary        UnaryFunc  // the interceptors around the handler
	stream       StreamFunc // the same of streaming calls
	plain        bool       // nothing of these: the short way
	taps         taps.List[func(*TappedCall)]

	overload *protection // nil: every call is taken
	refused  stats.Tally // calls that were refused, by reason or else by code
	fence    fence.Fence
	decoding turns.Shared // of large messages

	mu        sync.Mutex
	endpoints map[*method]*endpoint
	removed   map[string]*stats.Summary // what methods did that were removed, by name
}

// endpoint is a method as one host runs it.
type endpoint struct {
	h     *host
	m     *method // nil: there is no such method
	s     *session.Method
	stats stats.Method
	load  *overload.Method // nil: its calls are not limited
	short bool             // nothing runs around the handler
}

// setup is called when the fields that a configuration gives are set.
func (h *host) setup(codecs []codec.Codec, unary []UnaryInterceptor, streams []StreamInterceptor) error {
	if codecs == nil {
		codecs = DefaultCodecs()
	}
	h.fence.Log = h.log
	if len(codecs) > wire.MaxNames {
		return Errorf(InvalidArgument, "weft: %d codecs are configured, at most %d are allowed", len(codecs), wire.MaxNames)
	}
	h.codecs, h.names = make(map[string]codec.Codec, len(codecs)), make([]string, 0, len(codecs))
	for i, c := range codecs {
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
	h.endpoints, h.removed = make(map[*method]*endpoint), make(map[string]*stats.Summary)
	h.plain = h.authenticate == nil && len(unary) == 0 && len(streams) == 0 && !h.hooks.any
	h.unary, h.stream = chainUnary(unary, handleUnary), chainStream(streams, handleStream)
	return nil
}

// resolve finds what a caller of weft's own wire has bound.
func (h *host) resolve(codecName, name string) (*session.Binding, *wire.Status) {
	c := h.codecs[codecName]
	if c == nil {
		return nil, &wire.Status{Code: wire.Unimplemented, Outcome: wire.Refused, Reason: wire.ReasonNoCodec,
			Message: fmt.Sprintf("there is no codec %q here; there are %s", codecName, strings.Join(h.names, ", "))}
	}
	z, _ := c.(codec.Sizer)
	b := &session.Binding{Codec: c, Sizer: z}
	m := h.services.find(name)
	switch {
	case m != nil:
		_, b.Method = h.endpoint(m)
	case h.authenticate == nil:
		return nil, h.services.missing(name)
	default:
		// Its caller is authenticated before it is told; the next call looks again.
		missing := &endpoint{h: h}
		missing.s = &session.Method{Name: name, Either: true, Serve: missing.run, Data: missing}
		missing.s.Remove()
		b.Method = missing.s
	}
	return b, nil
}

// endpoint returns the method as this host runs it, and what stands for it in a session.
func (h *host) endpoint(m *method) (*endpoint, *session.Method) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.endpoints[m]
	if e != nil && !e.s.Removed() {
		return e, e.s
	}
	if e == nil {
		h.forgetRemovedLocked()
		e = &endpoint{h: h, m: m, short: h.plain && m.kind == Unary && m.facts.timeout == 0 && m.facts.admit == nil}
		e.stats.Sampled = true
		e.load = h.overload.method(m)
		h.endpoints[m] = e
	}
	e.s = &session.Method{Name: m.name, Streaming: m.kind != Unary, Either: h.authenticate != nil || m.facts.admit != nil, Serve: e.run, Data: e}
	e.limit(e.s)
	m.bind(e.s)
	return e, e.s
}

// forgetRemovedLocked drops the methods that were removed, and keeps what they have done:
// of the first stats.MaxNamed each by itself, of the others together.
func (h *host) forgetRemovedLocked() {
	for m, e := range h.endpoints {
		if !e.s.Removed() {
			continue
		}
		name := m.name
		if h.removed[name] == nil && len(h.removed) >= stats.MaxNamed {
			name = ""
		}
		if h.removed[name] == nil {
			h.removed[name] = new(stats.Summary)
		}
		h.removed[name].Add(e.stats.Summary())
		delete(h.endpoints, m)
	}
}

// panicked logs a panic of a handler, or of an interceptor around it, and returns what the caller is told. It is
// called by the function that recovered, so that the stack is still there.
func (h *host) panicked(method string, p *Peer, v any) *Error {
	h.fence.Panicked("method", method, addrOf(p), v)
	return &Error{Code: Internal, Outcome: Executed, Reason: ReasonPanic, Message: "the handler panicked"}
}

// panickedBefore is panicked for a function that runs before the handler, which has not run.
func (h *host) panickedBefore(function string, p *Peer, v any) *Error {
	h.fence.Panicked("function", function, addrOf(p), v)
	return &Error{Code: Internal, Outcome: Refused, Reason: ReasonPanic, Message: "the server's " + function + " panicked"}
}

// addrOf is the address of a peer, which an interceptor may have taken out of its CallInfo.
func addrOf(p *Peer) net.Addr {
	if p == nil {
		return nil
	}
	return p.Addr()
}

// countRefused counts a call that was refused.
func (h *host) countRefused(code Code, reason string) {
	h.refused.Count(orDefault(reason, code.String()))
}
