// Package producer gives OpenTelemetry the statistics that servers and clients keep anyway: the
// histograms rpc.server.call.duration and rpc.client.call.duration, and what plugin/metrics has beside
// them. They are read when the SDK collects, so calls cost nothing.
//
//	p := producer.New(nil)
//	p.Server("", srv)
//	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(p)) // go.opentelemetry.io/otel/sdk/metric
//
// With it, plugin/otel is for traces alone: give it a MeterProvider of
// go.opentelemetry.io/otel/metric/noop, or the histograms are there twice. docs/guide/observability.md
// has the names.
package producer

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/plugin/internal/figures"
)

// Config configures a Producer. The zero value, and a nil pointer to one, give the defaults.
type Config struct {
	// Bounds are the upper bounds of the buckets of histograms, in seconds, in order. nil: those that
	// the conventions of OpenTelemetry advise, 5 ms to 10 s, and five below, from 0.1 ms.
	Bounds []float64
}

// Producer is a metric.Producer for the statistics of what was added to it. Its methods may be called
// from any goroutine.
type Producer struct {
	source figures.Source
	bounds []float64
	began  time.Time
}

var _ metric.Producer = (*Producer)(nil)

// New makes a producer of nothing. It panics if the bounds are not in order.
func New(cfg *Config) *Producer {
	if cfg == nil {
		cfg = &Config{}
	}
	return &Producer{bounds: figures.BoundsOf("producer", cfg.Bounds), began: time.Now()}
}

// Server adds a server. name becomes the attribute weft.name of its metrics, which tells several apart
// in one process; "": there is no such attribute.
func (p *Producer) Server(name string, srv *weft.Server) { p.source.Server(name, srv) }

// Client adds a client of one server; see Server.
func (p *Producer) Client(name string, c *weft.Client) { p.source.Client(name, c) }

// Cluster adds a client of many servers; see Server.
func (p *Producer) Cluster(name string, c *cluster.Client) { p.source.Cluster(name, c) }

// Produce implements metric.Producer.
func (p *Producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	now := time.Now()
	out := metricdata.ScopeMetrics{Scope: instrumentation.Scope{Name: "github.com/weftrpc/weft", SchemaURL: semconv.SchemaURL}}
	for _, f := range p.source.Read() {
		name, unit := nameOf(f)
		out.Metrics = append(out.Metrics, metricdata.Metrics{Name: name, Unit: unit, Description: f.Help, Data: p.data(f, now)})
	}
	return []metricdata.ScopeMetrics{out}, nil
}

// data are the time series of a family.
func (p *Producer) data(f figures.Family, now time.Time) metricdata.Aggregation {
	switch f.Kind {
	case figures.Histogram:
		return p.histogram(f, now)
	case figures.Counter:
		return metricdata.Sum[float64]{DataPoints: p.points(f, now), Temporality: metricdata.CumulativeTemporality, IsMonotonic: true}
	}
	return metricdata.Gauge[float64]{DataPoints: p.points(f, now)}
}

func (p *Producer) points(f figures.Family, now time.Time) []metricdata.DataPoint[float64] {
	out := make([]metricdata.DataPoint[float64], len(f.Samples))
	for i, s := range f.Samples {
		out[i] = metricdata.DataPoint[float64]{Attributes: attributesOf(s.Labels), StartTime: p.began, Time: now, Value: s.Value}
	}
	return out
}

func (p *Producer) histogram(f figures.Family, now time.Time) metricdata.Histogram[float64] {
	h := metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality}
	for _, s := range f.Samples {
		d := metricdata.HistogramDataPoint[float64]{Attributes: attributesOf(s.Labels), StartTime: p.began, Time: now,
			Count: s.Distribution.Count, Sum: s.Distribution.Sum, Bounds: p.bounds, BucketCounts: make([]uint64, len(p.bounds)+1)}
		var below uint64
		for i, n := range s.Distribution.Fold(p.bounds) {
			d.BucketCounts[i] = n - below
			below = n
		}
		d.BucketCounts[len(p.bounds)] = d.Count - below
		h.DataPoints = append(h.DataPoints, d)
	}
	return h
}

// nameOf is the name of a family in OpenTelemetry, and its unit. Its translation to Prometheus, which
// adds the unit and the ending of counters, is the name of the family.
func nameOf(f figures.Family) (name, unit string) {
	name = strings.TrimSuffix(f.Name, "_total")
	if short, ok := strings.CutSuffix(name, "_seconds"); ok {
		name, unit = short, "s"
	} else if strings.HasSuffix(name, "_bytes") {
		unit = "By" // "request" alone would not tell what is counted
	}
	if strings.HasPrefix(name, "rpc_") {
		return strings.ReplaceAll(name, "_", "."), unit
	}
	return strings.Replace(name, "_", ".", 2), unit // weft.server.calls_in_flight
}

// attributesOf are the attributes of labels.
func attributesOf(labels []figures.Label) attribute.Set {
	all := make([]attribute.KeyValue, len(labels))
	for i, l := range labels {
		all[i] = attribute.String(keyOf(l.Name), l.Value)
	}
	return attribute.NewSet(all...)
}

// keyOf is the attribute of a label.
func keyOf(label string) string {
	switch label {
	case "rpc_system_name":
		return string(semconv.RPCSystemNameKey)
	case "rpc_method":
		return string(semconv.RPCMethodKey)
	case "rpc_response_status_code":
		return string(semconv.RPCResponseStatusCodeKey)
	case "error_type":
		return string(semconv.ErrorTypeKey)
	case "weft_name":
		return "weft.name"
	}
	return label
}
