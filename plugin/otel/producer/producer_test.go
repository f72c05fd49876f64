package producer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/otel/producer"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// read has the SDK collect, and returns each time series as a line.
func read(t testing.TB, p *producer.Producer) []string {
	t.Helper()
	reader := metric.NewManualReader(metric.WithProducer(p))
	defer func() { must(t, reader.Shutdown(context.Background())) }()
	metric.NewMeterProvider(metric.WithReader(reader))
	var all metricdata.ResourceMetrics
	must(t, reader.Collect(t.Context(), &all))
	var lines []string
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			if m.Description == "" {
				t.Errorf("%s has no description", m.Name)
			}
			lines = append(lines, shown(t, m)...)
		}
	}
	return lines
}

// shown are the time series of a metric.
func shown(t testing.TB, m metricdata.Metrics) (lines []string) {
	line := func(kind string, set attribute.Set, at time.Time, value any) {
		if at.IsZero() {
			t.Errorf("%s has no time", m.Name)
		}
		lines = append(lines, fmt.Sprintf("%s %s %q {%s} %v", kind, m.Name, m.Unit, set.Encoded(attribute.DefaultEncoder()), value))
	}
	switch d := m.Data.(type) {
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			var n uint64
			for _, c := range p.BucketCounts {
				n += c
			}
			if n != p.Count || len(p.BucketCounts) != len(p.Bounds)+1 || p.Sum <= 0 || d.Temporality != metricdata.CumulativeTemporality {
				t.Errorf("%s: %+v", m.Name, p)
			}
			line("histogram", p.Attributes, p.Time, p.Count)
		}
	case metricdata.Sum[float64]:
		for _, p := range d.DataPoints {
			line("sum", p.Attributes, p.Time, p.Value)
		}
	case metricdata.Gauge[float64]:
		for _, p := range d.DataPoints {
			line("gauge", p.Attributes, p.Time, p.Value)
		}
	}
	return lines
}

// The SDK gets the statistics of servers and clients, whose calls run around no interceptor.
func TestProduce(t *testing.T) {
	w := plugintest.Serve(t, nil)
	c, cc := w.Dial(t, nil), w.DialCluster(t)
	p := producer.New(&producer.Config{Bounds: []float64{0.001, 60}})
	p.Server("main", w.Server)
	p.Client("direct", c)
	p.Cluster("fleet", cc)
	for range 100 {
		must(t, c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil))
	}
	for range 3 {
		plugintest.IsError(t, cc.Call(t.Context(), "Arith.Fail", &plugintest.Args{A: int(weft.Internal)}, nil), weft.Internal, weft.Executed)
	}
	for _, want := range []string{
		`histogram rpc.server.call.duration "s" {rpc.method=Arith/Mul,rpc.response.status_code=OK,rpc.system.name=weft,weft.name=main} 100`,
		`histogram rpc.server.call.duration "s" {error.type=INTERNAL,rpc.method=Arith/Fail,rpc.response.status_code=INTERNAL,rpc.system.name=weft,weft.name=main} 3`,
		`histogram rpc.client.call.duration "s" {error.type=INTERNAL,rpc.method=Arith/Fail,rpc.response.status_code=INTERNAL,rpc.system.name=weft,weft.name=fleet} 3`,
		`gauge weft.server.calls_in_flight "" {weft.name=main} 0`,
		`sum weft.server.request_bytes "By" {rpc.method=Arith/Fail,weft.name=main} `,
		`sum weft.server.connections_accepted "" {weft.name=main} 2`,
		`sum weft.client.attempts "" {outcome=executed,rpc.method=Arith/Fail,weft.name=fleet} 3`,
		`gauge weft.registry.up "" {kind=static,service=Arith,weft.name=fleet} 1`,
	} {
		polltest.Until(t, 30*time.Second, want, func() error {
			if lines := read(t, p); !slices.ContainsFunc(lines, func(line string) bool {
				return line == want || strings.HasSuffix(want, " ") && strings.HasPrefix(line, want)
			}) {
				return fmt.Errorf("it is not among\n%s", strings.Join(lines, "\n"))
			}
			return nil
		})
	}
}

func TestBounds(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("bounds that are not in order are accepted")
		}
	}()
	producer.New(&producer.Config{Bounds: []float64{2, 1}})
}
