package otel_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/plugin/otel"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// recorder is the SDK with its recorders in memory, and a Telemetry that uses it.
type recorder struct {
	*otel.Telemetry
	spans  *tracetest.SpanRecorder
	reader *sdkmetric.ManualReader
}

func record(t testing.TB, change func(*otel.Config), options ...sdktrace.TracerProviderOption) *recorder {
	t.Helper()
	r := &recorder{spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	cfg := otel.Config{
		TracerProvider: sdktrace.NewTracerProvider(append(options, sdktrace.WithSpanProcessor(r.spans))...),
		MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader)),
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	r.Telemetry, err = otel.New(&cfg)
	must(t, err)
	return r
}

// ended waits for n spans and returns all that have ended, in the order of their beginnings.
func (r *recorder) ended(t testing.TB, n int) []sdktrace.ReadOnlySpan {
	t.Helper()
	polltest.Until(t, 30*time.Second, fmt.Sprintf("%d spans have ended", n), func() error {
		if got := len(r.spans.Ended()); got != n {
			return fmt.Errorf("%d", got)
		}
		return nil
	})
	all := slices.Clone(r.spans.Ended())
	slices.SortStableFunc(all, func(a, b sdktrace.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
	return all
}

func plugins(r *recorder) []weft.Plugin { return []weft.Plugin{r.Plugin()} }

// is checks a span: name, kind, status, and its attributes, all of them, as "key=value …".
// network.peer.address and .port are left out.
func is(t testing.TB, s sdktrace.ReadOnlySpan, name string, kind trace.SpanKind, attributes string) {
	t.Helper()
	if s.Name() != name || s.SpanKind() != kind {
		t.Errorf("the span is %q, %v, want %q, %v", s.Name(), s.SpanKind(), name, kind)
	}
	if got := shown(s.Attributes()); got != attributes {
		t.Errorf("the span %s has the attributes\n%s, want\n%s", name, got, attributes)
	}
}

func shown(attributes []attribute.KeyValue) string {
	all := make(map[string]string)
	for _, a := range attributes {
		if key := string(a.Key); !strings.HasPrefix(key, "network.peer.") {
			all[key] = a.Value.String()
		}
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		out = append(out, key+"="+all[key])
	}
	return strings.Join(out, " ")
}

// below checks that a span is the child of another.
func below(t testing.TB, child, parent sdktrace.ReadOnlySpan) {
	t.Helper()
	if child.Parent().SpanID() != parent.SpanContext().SpanID() || child.SpanContext().TraceID() != parent.SpanContext().TraceID() {
		t.Errorf("%s (%v) is not below %s (%v)", child.Name(), child.SpanKind(), parent.Name(), parent.SpanKind())
	}
}

// histogram returns the points of a metric, by their attributes, and checks what is the same
// for all of it.
func (r *recorder) histogram(t testing.TB, name string) map[string]metricdata.HistogramDataPoint[float64] {
	t.Helper()
	var all metricdata.ResourceMetrics
	must(t, r.reader.Collect(context.Background(), &all))
	out := make(map[string]metricdata.HistogramDataPoint[float64])
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			if m.Name != name {
				continue
			}
			h, ok := m.Data.(metricdata.Histogram[float64])
			if m.Unit != "s" || m.Description == "" || !ok {
				t.Errorf("%s has the unit %q, the description %q, the type %T", name, m.Unit, m.Description, m.Data)
			}
			for _, p := range h.DataPoints {
				if !slices.Equal(p.Bounds, []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}) {
					t.Errorf("%s has the bounds %v", name, p.Bounds)
				}
				out[shown(p.Attributes.ToSlice())] = p
			}
		}
	}
	return out
}

// counts waits until a metric has these counts.
func (r *recorder) counts(t testing.TB, name string, want map[string]uint64) {
	t.Helper()
	polltest.Until(t, 30*time.Second, name, func() error {
		got := make(map[string]uint64)
		for attributes, p := range r.histogram(t, name) {
			got[attributes] = p.Count
		}
		if !maps.Equal(got, want) {
			return errors.New(fmt.Sprint(got))
		}
		return nil
	})
}
