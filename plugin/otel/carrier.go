package otel

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftrpc/weft"
)

// received reads what came with a call.
type received struct{ m weft.Metadata }

var _ propagation.ValuesGetter = received{}

// Get implements propagation.TextMapCarrier.
func (r received) Get(key string) string { return r.m.Get(key) }

// Values implements propagation.ValuesGetter.
func (r received) Values(key string) []string { return r.m.Values(key) }

// Set implements propagation.TextMapCarrier. Nothing is set on what was received.
func (r received) Set(string, string) {}

// Keys implements propagation.TextMapCarrier.
func (r received) Keys() []string {
	keys := make([]string, 0, r.m.Len())
	for key := range r.m.All() {
		keys = append(keys, key)
	}
	return keys
}

// sent collects what goes with a call.
type sent struct{ pairs []string }

// Get implements propagation.TextMapCarrier.
func (s *sent) Get(string) string { return "" }

// Set implements propagation.TextMapCarrier.
func (s *sent) Set(key, value string) { s.pairs = append(s.pairs, key, value) }

// Keys implements propagation.TextMapCarrier.
func (s *sent) Keys() []string { return nil }

// inject returns a context whose call carries the trace.
func (t *Telemetry) inject(ctx context.Context) context.Context {
	var pairs []string
	span := trace.SpanContextFromContext(ctx)
	begins := t.cfg.Sample > 0 && !t.untraced && !span.IsValid()
	if begins {
		span = notSampled()
	}
	if t.cfg.Propagator == nil {
		var room [6]string
		pairs = w3c{}.inject(ctx, span, room[:0])
	} else {
		from := ctx
		if begins {
			from = trace.ContextWithSpanContext(ctx, span)
		}
		var s sent
		t.cfg.Propagator.Inject(from, &s)
		pairs = s.pairs
	}
	if len(pairs) == 0 {
		return ctx
	}
	return weft.WithMetadata(ctx, pairs...)
}

// extract returns ctx with the trace that came with a call.
func (t *Telemetry) extract(ctx context.Context, m weft.Metadata) context.Context {
	if t.cfg.Propagator == nil {
		return w3c{}.extract(ctx, m)
	}
	return t.cfg.Propagator.Extract(ctx, received{m})
}
