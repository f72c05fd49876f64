package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/accesslog"
	"github.com/weftrpc/weft/plugin/otel"
	"github.com/weftrpc/weft/plugin/otel/producer"
	"github.com/weftrpc/weft/plugin/prometheus"
	"github.com/weftrpc/weft/plugin/protovalidate/shop"
)

// setup is what a subject is made of.
type setup struct {
	name           string
	bare           bool
	server, client []weft.Plugin
	change         func(*weft.ServerConfig, *weft.ClientConfig)        // what else is configured; nil: nothing
	caller         func(*weft.Client, int) func(context.Context) error // nil: echo
	scrape         func(*weft.Server, *weft.Client) func() error       // nil: nothing
	end            func()                                              // of the plugin; nil: nothing
}

// Pair is the request and the reply of most calls.
type Pair struct{ A, B int }

// echo makes a caller of Cost.Echo.
func echo(c *weft.Client, i int) func(context.Context) error {
	req, reply := Pair{A: i}, Pair{}
	return func(ctx context.Context) error { return c.Call(ctx, "Cost.Echo", &req, &reply) }
}

// subjects makes what is measured, of the names that match, and what it is compared with. Those that were made are to be closed also after an error.
func subjects(ctx context.Context, names *regexp.Regexp) ([]*subject, error) {
	setups := []setup{{name: "no plugin", bare: true}, {name: "no plugin, once more"},
		{name: "an interceptor that does nothing, on the server", server: []weft.Plugin{nothing()}},
		{name: "the same on both sides", server: []weft.Plugin{nothing()}, client: []weft.Plugin{nothing()}}}
	for _, more := range []func() ([]setup, error){observation, limits, trials, messages, tokens} {
		some, err := more()
		if err != nil {
			return nil, err
		}
		setups = append(setups, some...)
	}
	setups = slices.DeleteFunc(setups, func(s setup) bool {
		gone := !s.bare && !names.MatchString(s.name)
		if gone && s.end != nil {
			s.end()
		}
		return gone
	})
	var all []*subject
	for i, one := range setups {
		if one.bare && (i+1 == len(setups) || setups[i+1].bare) {
			continue // nothing is compared with it
		}
		s, err := one.connect(ctx)
		if err != nil {
			return all, err
		}
		all = append(all, s)
	}
	return all, nil
}

// observation are the plugins that tell what happens.
func observation() ([]setup, error) {
	access, err := accesslog.New(&accesslog.Config{Logger: slog.New(slog.NewJSONHandler(io.Discard, nil)), OneIn: 100, Slow: time.Second})
	if err != nil {
		return nil, err
	}
	half := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.01))))
	out := []setup{{name: "prometheus, with a scrape", scrape: scrapePrometheus}, {name: "access log of 1 %, on the server", server: []weft.Plugin{access}}}
	for _, one := range []struct {
		name string
		cfg  otel.Config
	}{
		{"otel without an SDK, on the server", otel.Config{TracerProvider: nooptrace.NewTracerProvider(), MeterProvider: noopmetric.NewMeterProvider()}},
		{"otel, traces of 1 %, on the server", otel.Config{TracerProvider: half, MeterProvider: noopmetric.NewMeterProvider()}},
		{"otel, Sample 1 %, on the server", otel.Config{Sample: 0.01, TracerProvider: sdktrace.NewTracerProvider(), MeterProvider: noopmetric.NewMeterProvider()}},
		{"otel, Sample 1 % and metrics, on the server", otel.Config{Sample: 0.01, TracerProvider: sdktrace.NewTracerProvider(), MeterProvider: metrics()}},
		{"otel, traces of 1 % and metrics, on the server", otel.Config{TracerProvider: half, MeterProvider: metrics()}},
	} {
		t, err := otel.New(&one.cfg)
		if err != nil {
			return nil, err
		}
		out = append(out, setup{name: one.name, server: []weft.Plugin{t.Plugin()}})
		switch one.name {
		case "otel, Sample 1 %, on the server":
			out = append(out, setup{name: "otel, Sample 1 %, on both sides", server: []weft.Plugin{t.Plugin()}, client: []weft.Plugin{t.Plugin()}})
			out = append(out, setup{name: "otel, Sample 1 %, and otel/producer with a collection, on the server", server: []weft.Plugin{t.Plugin()}, scrape: collect})
		case "otel, traces of 1 % and metrics, on the server":
			out = append(out, setup{name: "otel, traces of 1 % and metrics, on both sides", server: []weft.Plugin{t.Plugin()}, client: []weft.Plugin{t.Plugin()}})
		}
	}
	return out, nil
}

// metrics is the SDK for metrics.
func metrics() *sdkmetric.MeterProvider {
	return sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
}

// scrapePrometheus reads the statistics as Prometheus does.
func scrapePrometheus(srv *weft.Server, c *weft.Client) func() error {
	registry, collector := client.NewRegistry(), prometheus.New(nil)
	collector.Server("", srv)
	collector.Client("", c)
	registry.MustRegister(collector)
	return func() error {
		_, err := registry.Gather()
		return err
	}
}

// collect reads them as the SDK of OpenTelemetry does.
func collect(srv *weft.Server, c *weft.Client) func() error {
	p := producer.New(nil)
	p.Server("", srv)
	p.Client("", c)
	return func() error {
		_, err := p.Produce(context.Background())
		return err
	}
}

// nothing is a plugin that does nothing, to tell what being in the way of a call costs.
func nothing() weft.Plugin {
	pass := func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		return next(ctx, info, req)
	}
	return weft.Plugin{Name: "nothing", Server: pass, Client: pass}
}

// connect starts a server and a client of it.
func (s setup) connect(ctx context.Context) (*subject, error) {
	silent := slog.New(slog.DiscardHandler)
	on, at := &weft.ServerConfig{Plugins: s.server, Logger: silent}, &weft.ClientConfig{Plugins: s.client, Logger: silent}
	if s.change != nil {
		s.change(on, at)
	}
	srv := weft.NewServer(on)
	if err := errors.Join(
		weft.Handle(srv, "Cost.Echo", func(_ context.Context, p *Pair) (*Pair, error) { return p, nil }, weft.Idempotent()),
		weft.Handle(srv, "Cost.Buy", func(context.Context, *shop.Order) (*shop.Receipt, error) { return &shop.Receipt{Number: "1"}, nil }),
		weft.Handle(srv, "Cost.Show", func(_ context.Context, r *shop.Receipt) (*shop.Receipt, error) { return r, nil })); err != nil {
		return nil, err
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	// It ends with the server.
	go srv.Serve(l)
	c, err := weft.Dial(ctx, "tcp://"+l.Addr().String(), at)
	if err != nil {
		srv.Close()
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	out := &subject{name: s.name, bare: s.bare, client: c, caller: s.caller, close: func() {
		c.Close()
		srv.Close()
		if s.end != nil {
			s.end()
		}
	}}
	if s.caller == nil {
		out.caller = echo
	}
	if s.scrape != nil {
		out.scrape = s.scrape(srv, c)
	}
	return out, nil
}
