package otel

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// LogHandler returns a handler that adds trace_id and span_id to the records that are logged
// with the context of a call, so that logs and traces can be joined. One that a record has already, as those of accesslog
// have trace_id, stays as it is.
func LogHandler(h slog.Handler) slog.Handler { return logHandler{h} }

// The keys of what is added.
const traceKey, spanKey = "trace_id", "span_id"

type logHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if s := trace.SpanContextFromContext(ctx); s.IsValid() {
		hasTrace, hasSpan := false, false
		r.Attrs(func(a slog.Attr) bool {
			hasTrace, hasSpan = hasTrace || a.Key == traceKey, hasSpan || a.Key == spanKey
			return true
		})
		r = r.Clone()
		if !hasTrace {
			r.AddAttrs(slog.String(traceKey, s.TraceID().String()))
		}
		if !hasSpan {
			r.AddAttrs(slog.String(spanKey, s.SpanID().String()))
		}
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.Handler.WithGroup(name)}
}
