package otel

import (
	"context"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftrpc/weft"
)

// FuzzW3C holds the propagator to those of OpenTelemetry, in both directions.
func FuzzW3C(f *testing.F) {
	const id = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"
	for _, parent := range []string{"00-" + id + "-01", "00-" + id + "-00", "00-" + id + "-03", "01-" + id + "-01-more", "ff-" + id + "-01",
		"00-" + strings.ToUpper(id) + "-01", "00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01", "00-" + id + "-0g", "00-" + id, ""} {
		f.Add(parent, "", "")
		f.Add(parent, "vendor=1,other=2", "user=ada,tenant=blue;ttl=1")
	}
	f.Fuzz(func(t *testing.T, parent, state, bag string) {
		var pairs []string
		for _, p := range [][2]string{{traceparent, parent}, {tracestate, state}, {baggageKey, bag}} {
			if p[1] != "" {
				pairs = append(pairs, p[0], p[1])
			}
		}
		m := weft.NewMetadata(pairs...)
		theirs := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
		want, got := theirs.Extract(context.Background(), received{m}), w3c{}.extract(context.Background(), m)
		if a, b := trace.SpanContextFromContext(want), trace.SpanContextFromContext(got); !a.Equal(b) {
			t.Fatalf("%q %q: %v, want %v", parent, state, b, a)
		}
		if a, b := baggage.FromContext(want).String(), baggage.FromContext(got).String(); a != b && len(a) != len(b) {
			t.Fatalf("%q: the baggage is %q, want %q", bag, b, a)
		}
		if baggage.FromContext(got).Len() > 1 {
			return // its order is that of a map
		}
		var sends sent
		theirs.Inject(got, &sends)
		sends2 := w3c{}.inject(got, trace.SpanContextFromContext(got), nil)
		if a, b := weft.NewMetadata(sends.pairs...), weft.NewMetadata(sends2...); a.Len() != b.Len() || a.Get(traceparent) != b.Get(traceparent) ||
			a.Get(tracestate) != b.Get(tracestate) || a.Get(baggageKey) != b.Get(baggageKey) {
			t.Fatalf("%v is sent, want %v", b, a)
		}
	})
}
