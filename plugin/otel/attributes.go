package otel

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/figures"
)

// systemOf is the value of rpc.system.name for a wire by its name.
func systemOf(wire string) string {
	wire = strings.ToLower(wire)
	switch {
	case wire == "":
		return "weft"
	case strings.HasPrefix(wire, "grpc"):
		return "grpc"
	case strings.HasPrefix(wire, "connect"):
		return "connectrpc"
	case strings.HasPrefix(wire, "jsonrpc"), strings.HasPrefix(wire, "json-rpc"):
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
		return "weft"
	}
	return systemOf(p.Wire())
}

// startKey tells apart the spans that begin alike.
type startKey struct {
	system, method string
	kind           trace.SpanKind
}

// start are the options of a span at its beginning.
func (t *Telemetry) start(system, method string, kind trace.SpanKind) []trace.SpanStartOption {
	key := startKey{system, method, kind}
	if found, ok := t.starts.Load(key); ok {
		return found.([]trace.SpanStartOption)
	}
	attributes := []attribute.KeyValue{semconv.RPCSystemNameKey.String(system), semconv.RPCMethod(figures.MethodName(method))}
	if kind == trace.SpanKindClient {
		attributes = append(attributes, t.address...)
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(kind), trace.WithAttributes(attributes...)}
	t.starts.Store(key, options)
	return options
}

// resultKey tells apart the measurements with equal attributes.
type resultKey struct {
	system, method string
	code           weft.Code
	client         bool
}

// result are the options of a measurement.
func (t *Telemetry) result(system, method string, code weft.Code, client bool) []metric.RecordOption {
	key := resultKey{system, method, code, client}
	if found, ok := t.results.Load(key); ok {
		return found.([]metric.RecordOption)
	}
	attributes := append([]attribute.KeyValue{
		semconv.RPCSystemNameKey.String(system), semconv.RPCMethod(figures.MethodName(method)),
	}, resultOf(code, client)...)
	if client {
		attributes = append(attributes, t.address...)
	}
	options := []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attributes...))}
	t.results.Store(key, options)
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

// end ends the span of a call and measures the call.
func (t *Telemetry) end(ctx context.Context, span trace.Span, system, method string, began time.Time, err error, client bool) {
	code := codeOf(err)
	histogram := t.server
	if client {
		histogram = t.client
	}
	if histogram.Enabled(ctx) {
		histogram.Record(ctx, time.Since(began).Seconds(), t.result(system, method, code, client)...)
	}
	t.endSpan(span, code, err, client)
}

func (t *Telemetry) endSpan(span trace.Span, code weft.Code, err error, client bool) {
	if span.IsRecording() {
		span.SetAttributes(resultOf(code, client)...)
		if isError(code, client) {
			message := ""
			if e, ok := errors.AsType[*weft.Error](err); ok && t.cfg.ErrorMessages {
				message = e.Message
			}
			span.SetStatus(codes.Error, message)
		}
		if e, ok := errors.AsType[*weft.Error](err); ok && client {
			span.SetAttributes(attribute.String("weft.outcome", e.Outcome.String()))
		}
	}
	span.End()
}

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
			out = append(out, of(strings.ToLower(key), values...))
		}
	}
	return out
}
