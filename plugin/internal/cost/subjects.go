package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/accesslog"
	"github.com/weftrpc/weft/plugin/otel"
	"github.com/weftrpc/weft/plugin/prometheus"
)

// subjects makes what is measured, the bare one first. Those that were made are to be closed also
// after an error.
func subjects(ctx context.Context) ([]*subject, error) {
	var all []*subject
	add := func(name string, server, client []weft.Plugin) (*weft.Server, *subject, error) {
		srv, s, err := connect(ctx, name, server, client)
		if err == nil {
			all = append(all, s)
		}
		return srv, s, err
	}
	if _, _, err := add("no plugin", nil, nil); err != nil {
		return all, err
	}
	if _, _, err := add("no plugin, once more", nil, nil); err != nil {
		return all, err
	}
	srv, s, err := add("prometheus, with a scrape", nil, nil)
	if err != nil {
		return all, err
	}
	registry, c := client.NewRegistry(), prometheus.New(nil)
	c.Server("", srv)
	c.Client("", s.client)
	registry.MustRegister(c)
	s.scrape = func() error {
		_, err := registry.Gather()
		return err
	}
	access, err := accesslog.New(&accesslog.Config{Logger: slog.New(slog.NewJSONHandler(io.Discard, nil)), OneIn: 100, Slow: time.Second})
	if err != nil {
		return all, err
	}
	off, err := otel.New(&otel.Config{TracerProvider: nooptrace.NewTracerProvider(), MeterProvider: noopmetric.NewMeterProvider()})
	if err != nil {
		return all, err
	}
	sampled, err := telemetry(0.01)
	if err != nil {
		return all, err
	}
	spans, err := otel.New(&otel.Config{MeterProvider: noopmetric.NewMeterProvider(),
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.01))))})
	if err != nil {
		return all, err
	}
	chosen, err := otel.New(&otel.Config{Sample: 0.01, MeterProvider: noopmetric.NewMeterProvider(), TracerProvider: sdktrace.NewTracerProvider()})
	if err != nil {
		return all, err
	}
	for _, one := range []struct {
		name           string
		server, client []weft.Plugin
	}{
		{"an interceptor that does nothing, on the server", []weft.Plugin{nothing()}, nil},
		{"the same on both sides", []weft.Plugin{nothing()}, []weft.Plugin{nothing()}},
		{"access log of 1 %, on the server", []weft.Plugin{access}, nil},
		{"otel without an SDK, on the server", []weft.Plugin{off.Plugin()}, nil},
		{"otel, traces of 1 %, on the server", []weft.Plugin{spans.Plugin()}, nil},
		{"otel, Sample 1 %, on the server", []weft.Plugin{chosen.Plugin()}, nil},
		{"otel, traces of 1 % and metrics, on the server", []weft.Plugin{sampled.Plugin()}, nil},
		{"otel, traces of 1 % and metrics, on both sides", []weft.Plugin{sampled.Plugin()}, []weft.Plugin{sampled.Plugin()}},
	} {
		if _, _, err := add(one.name, one.server, one.client); err != nil {
			return all, err
		}
	}
	return all, nil
}

// nothing is a plugin that does nothing, to tell what being in the way of a call costs.
func nothing() weft.Plugin {
	pass := func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		return next(ctx, info, req)
	}
	return weft.Plugin{Name: "nothing", Server: pass, Client: pass}
}

// telemetry is the SDK with a share of the traces.
func telemetry(share float64) (*otel.Telemetry, error) {
	return otel.New(&otel.Config{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(share)))),
		MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())),
	})
}

// connect starts a server and a client of it.
func connect(ctx context.Context, name string, server, client []weft.Plugin) (*weft.Server, *subject, error) {
	silent := slog.New(slog.DiscardHandler)
	srv := weft.NewServer(&weft.ServerConfig{Plugins: server, Logger: silent})
	if err := weft.Handle(srv, "Cost.Echo", func(_ context.Context, p *Pair) (*Pair, error) { return p, nil }); err != nil {
		return nil, nil, err
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	// It ends with the server.
	go srv.Serve(l)
	c, err := weft.Dial(ctx, "tcp://"+l.Addr().String(), &weft.ClientConfig{Plugins: client, Logger: silent})
	if err != nil {
		srv.Close()
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return srv, &subject{name: name, client: c, close: func() {
		c.Close()
		srv.Close()
	}}, nil
}
