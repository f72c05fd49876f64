package otel

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/plugin/internal/figures"
)

// maxKnown is how many beginnings are kept: the names of methods that a client calls
// may come from its own callers.
const maxKnown = 1 << 12

// systemOf is the value of rpc.system.name for a wire by its name: that of the semantic conventions where they
// name the system, for all variants of its wire, and otherwise the name of the wire without its variant.
func systemOf(wire string) string {
	wire, _, _ = strings.Cut(strings.ToLower(wire), "+")
	switch {
	case wire == "":
		return weft.WireWeft
	case strings.HasPrefix(wire, weft.WireGRPC):
		return "grpc"
	case strings.HasPrefix(wire, "connect"):
		return "connectrpc"
	case strings.HasPrefix(wire, weft.WireJSONRPC):
		return "jsonrpc"
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, wire)
}

func systemOfPeer(p *weft.Peer) string {
	if p == nil {
		return weft.WireWeft
	}
	wire := p.Wire()
	if wire == weft.WireWeft {
		return wire
	}
	return systemOf(wire)
}

// startKey tells apart the spans that begin alike.
type startKey struct {
	system, method string
	kind           trace.SpanKind
}

// beginning is what the calls of a method have in common.
type beginning struct {
	key           startKey
	name, attempt string
	options       []trace.SpanStartOption
	results       [weft.Unauthenticated + 2]atomic.Pointer[[]metric.RecordOption] // by code, made when they are used
}

// start is what a span has at its beginning.
func (t *Telemetry) start(system, method string, kind trace.SpanKind) *beginning {
	key := startKey{system, method, kind}
	last := &t.last[kind&1]
	if b := last.Load(); b != nil && b.key == key {
		return b // callers repeat themselves
	}
	if found, ok := t.starts.Load(key); ok {
		b := found.(*beginning)
		last.Store(b)
		return b
	}
	key.method = strings.Clone(method) // the caller's may be in memory that is used again
	name := text(figures.MethodName(key.method))
	attributes := []attribute.KeyValue{semconv.RPCSystemNameKey.String(system), semconv.RPCMethod(name)}
	if kind == trace.SpanKindClient {
		attributes = append(attributes, t.address...)
	}
	b := &beginning{key: key, name: name, attempt: "attempt " + name, options: []trace.SpanStartOption{trace.WithSpanKind(kind), trace.WithAttributes(attributes...)}}
	if t.known.Load() < maxKnown && t.known.Add(1) <= maxKnown {
		t.starts.Store(key, b)
	}
	return b
}

// result are the options of a measurement.
func (t *Telemetry) result(from *beginning, code weft.Code) []metric.RecordOption {
	code = min(code, weft.Unauthenticated+1) // one place for codes that do not exist
	if found := from.results[code].Load(); found != nil {
		return *found
	}
	client := from.key.kind == trace.SpanKindClient
	attributes := append([]attribute.KeyValue{semconv.RPCSystemNameKey.String(from.key.system), semconv.RPCMethod(from.name)}, resultOf(code, client)...)
	if client {
		attributes = append(attributes, t.address...)
	}
	options := []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attributes...))}
	from.results[code].Store(&options)
	return options
}

// resultOf are the attributes that say how a call ended. The key of the status is in this
// place alone: the conventions will rename it.
func resultOf(code weft.Code, client bool) []attribute.KeyValue {
	status := figures.Status(code)
	out := []attribute.KeyValue{semconv.RPCResponseStatusCode(status)}
	if isError(code, client) {
		out = append(out, semconv.ErrorTypeKey.String(status))
	}
	return out
}

func isError(code weft.Code, client bool) bool {
	if client {
		return figures.ClientError(code)
	}
	return figures.ServerError(code)
}

// codeOf is the code of a call that may have gone well.
func codeOf(err error) weft.Code {
	if err == nil {
		return 0
	}
	return weft.CodeOf(err)
}

// running is a call under way.
type running struct {
	t     *Telemetry
	from  *beginning
	span  trace.Span // nil: Config.Sample has not chosen the call
	began int64      // on the clock of session.Nanos
}

// end ends the span of a call and measures the call.
func (r *running) end(ctx context.Context, err error) {
	code, client := codeOf(err), r.from.key.kind == trace.SpanKindClient
	histogram := r.t.server
	if client {
		histogram = r.t.client
	}
	if histogram.Enabled(ctx) {
		histogram.Record(ctx, time.Duration(session.Nanos()-r.began).Seconds(), r.t.result(r.from, code)...)
	}
	r.t.endSpan(r.span, code, err, client)
}

func (t *Telemetry) endSpan(span trace.Span, code weft.Code, err error, client bool) {
	if span == nil {
		return
	}
	if span.IsRecording() {
		span.SetAttributes(resultOf(code, client)...)
		if isError(code, client) {
			message := ""
			if e, ok := errors.AsType[*weft.Error](err); ok && t.cfg.ErrorMessages {
				message = text(e.Message)
			}
			span.SetStatus(codes.Error, message)
		}
		if e, ok := errors.AsType[*weft.Error](err); ok {
			span.SetAttributes(ofError(e, client)...)
		}
	}
	span.End()
}

// maxReason is how many bytes of the reason of an error a span shows.
const maxReason = 64

// ofError are the attributes of an error beside its code: on a client how far the call got, and the reason, such as
// FAULT_INJECTED or RATE_LIMITED.
func ofError(e *weft.Error, client bool) []attribute.KeyValue {
	out := make([]attribute.KeyValue, 0, 2)
	if client {
		out = append(out, attribute.String("weft.outcome", e.Outcome.String()))
	}
	if e.Reason != "" {
		out = append(out, attribute.String("weft.reason", text(e.Reason[:min(len(e.Reason), maxReason)])))
	}
	return out
}

// text is valid UTF-8: an exporter drops all spans of a batch of which one has a text that is not, and a peer may send any bytes.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// peerOf are the attributes of the peer of a connection.
func peerOf(p *weft.Peer) []attribute.KeyValue {
	if p == nil {
		return nil
	}
	host, port, err := net.SplitHostPort(p.Addr().String())
	n, wrong := strconv.Atoi(port)
	if err != nil || wrong != nil {
		return []attribute.KeyValue{semconv.NetworkPeerAddress(p.Addr().String())}
	}
	return []attribute.KeyValue{semconv.NetworkPeerAddress(host), semconv.NetworkPeerPort(n)}
}

// metadataOf are the attributes of the chosen keys of metadata.
func metadataOf(keys []string, m weft.Metadata, of func(string, ...string) attribute.KeyValue) []attribute.KeyValue {
	out := make([]attribute.KeyValue, 0, len(keys))
	for _, key := range keys {
		if values := m.Values(key); len(values) > 0 {
			for i, v := range values {
				values[i] = text(v)
			}
			out = append(out, of(strings.ToLower(key), values...))
		}
	}
	return out
}
