// Package otel traces and measures calls with OpenTelemetry, by its conventions for RPC: a span
// for each call on both sides, one for each attempt of a cluster.Client, the trace context and
// baggage of the W3C in the metadata, and the histograms rpc.server.call.duration and
// rpc.client.call.duration. It needs the API of OpenTelemetry alone; the program chooses an SDK.
//
//	t, err := otel.New(nil)                               // the global providers
//	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{t.Plugin()}})
//	c, err := weft.Dial(ctx, addr, &weft.ClientConfig{Plugins: []weft.Plugin{t.Plugin()}})
//	cfg := cluster.Config{Registry: reg}
//	t.Cluster(&cfg)                                       // calls, attempts and what happens between
//
// docs/guide/observability.md has the attributes.
package otel

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"

	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/plugin/internal/match"
)

// Config configures a Telemetry. The zero value, and a nil pointer to one, give the defaults.
type Config struct {
	// TracerProvider makes the spans. nil: the global one. That of package trace/noop makes none: traces of callers
	// are passed on.
	TracerProvider trace.TracerProvider
	// MeterProvider makes the histograms. nil: the global one.
	MeterProvider metric.MeterProvider
	// Propagator carries the trace between processes. nil: the trace context and baggage of
	// the W3C, whose keys are traceparent, tracestate and baggage.
	Propagator propagation.TextMapPropagator
	// Public says that the server's callers are not trusted: a call begins a trace of its own,
	// with a link to its caller's span, and the caller's baggage is not taken.
	Public bool
	// Sample is the share of the traces that are sampled of those that begin in this process, above 0
	// to 1: it is decided before a span is made, so that a call that is not sampled costs next to
	// nothing. Such a call has no span in its context; what it calls is told that it is not sampled.
	// The sampler of the TracerProvider must then be the one of the SDK's defaults, or another that
	// follows the parent and samples what has none. 0: the sampler alone decides, for which a span
	// is made of each call.
	Sample float64
	// ServerAddress is what the program dials, such as "orders.internal:8972" or
	// "etcd:///Orders": the attributes server.address and server.port of a client. "": none.
	ServerAddress string
	// RequestMetadata are the keys of metadata that spans show as
	// rpc.request.metadata.<key>. Do not name keys that carry secrets. nil: none.
	RequestMetadata []string
	// ErrorMessages shows the messages of errors in the spans. They may hold what is private.
	ErrorMessages bool
	// HistogramOptions are for both histograms, behind those of this package, so that they
	// count.
	HistogramOptions []metric.Float64HistogramOption
}

// Telemetry traces and measures calls. Its methods may be called from any goroutine.
type Telemetry struct {
	cfg            Config
	tracer         trace.Tracer
	untraced       bool // Config.TracerProvider makes no spans
	server, client metric.Float64Histogram
	address        []attribute.KeyValue // of Config.ServerAddress

	answers atomic.Bool                  // it has seen a call that came in
	starts  sync.Map                     // startKey → *beginning
	known   atomic.Int32                 // how many were to be kept
	last    [2]atomic.Pointer[beginning] // the ones used last, by kind
}

const scope = "github.com/weftrpc/weft/plugin/otel"

// New makes a Telemetry. The error is that of the meter.
func New(cfg *Config) (*Telemetry, error) {
	t := &Telemetry{}
	if cfg != nil {
		t.cfg = *cfg
	}
	c := &t.cfg
	if c.TracerProvider == nil {
		c.TracerProvider = api.GetTracerProvider()
	}
	if c.MeterProvider == nil {
		c.MeterProvider = api.GetMeterProvider()
	}
	if !(c.Sample >= 0 && c.Sample <= 1) {
		return nil, weft.Errorf(weft.InvalidArgument, "otel: Config.Sample is %v, want 0 to 1", c.Sample)
	}
	for _, key := range c.RequestMetadata {
		if match.Credential(key) {
			return nil, weft.Errorf(weft.InvalidArgument, "otel: Config.RequestMetadata names %q, which carries credentials", key)
		}
	}
	t.address = addressOf(c.ServerAddress)
	_, t.untraced = c.TracerProvider.(noop.TracerProvider)
	t.tracer = c.TracerProvider.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL))
	meter := c.MeterProvider.Meter(scope, metric.WithSchemaURL(semconv.SchemaURL))
	var err error
	if t.server, err = meter.Float64Histogram("rpc.server.call.duration",
		t.options("Measures the duration of an incoming Remote Procedure Call (RPC).")...); err != nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	if t.client, err = meter.Float64Histogram("rpc.client.call.duration",
		t.options("Measures the duration of an outgoing Remote Procedure Call (RPC).")...); err != nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	return t, nil
}

func (t *Telemetry) options(description string) []metric.Float64HistogramOption {
	return append([]metric.Float64HistogramOption{
		metric.WithDescription(description), metric.WithUnit("s"),
		metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10),
	}, t.cfg.HistogramOptions...)
}

// addressOf are the attributes of an address as the user wrote it.
func addressOf(address string) []attribute.KeyValue {
	if address == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if n, wrong := strconv.Atoi(port); err == nil && wrong == nil {
		return []attribute.KeyValue{semconv.ServerAddress(host), semconv.ServerPort(n)}
	}
	return []attribute.KeyValue{semconv.ServerAddress(address)}
}

// Plugin is for the Plugins of a server and of a client of one server: it makes the spans and the measurements of calls. For those of
// a cluster.Client use Cluster.
func (t *Telemetry) Plugin() weft.Plugin { return t.plugin(t.inject) }

func (t *Telemetry) plugin(within func(context.Context) context.Context) weft.Plugin {
	c := caller{t, within}
	return weft.Plugin{Name: "otel", Server: t.serve, ServerStream: t.serveStream, Client: c.call, ClientStream: c.open}
}

// Attempts is for Config.Client.Plugins of a cluster: it makes a span for each attempt, which
// is linked to the one before. The servers' spans are below those of the attempts.
func (t *Telemetry) Attempts() weft.Plugin {
	return weft.Plugin{Name: "otel attempts", Client: t.attempt, ClientStream: t.openAttempt}
}

// Cluster puts everything into the configuration of a cluster.Client: the spans of calls and
// of attempts, and what happens between them as events.
func (t *Telemetry) Cluster(cfg *cluster.Config) {
	cfg.Plugins = append([]weft.Plugin{t.plugin(aroundAttempts)}, cfg.Plugins...)
	var connections weft.ClientConfig
	if cfg.Client != nil {
		connections = *cfg.Client
	}
	connections.Plugins = append([]weft.Plugin{t.Attempts()}, connections.Plugins...)
	cfg.Client = &connections
	cfg.Observe = t.Observe
}
