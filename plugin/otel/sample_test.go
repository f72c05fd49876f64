package otel_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/otel"
)

// With Config.Sample a call that is not chosen has no span, and neither have those that its handler
// makes: they are told so. A call whose trace is sampled has one. All calls are measured.
func TestSample(t *testing.T) {
	for _, c := range []struct {
		share  float64
		parent string // of the call
		spans  int
		flags  string // that the handler sees
	}{
		{1e-12, "", 0, "-00"},
		{1, "", 3, "-01"}, // client, server, and the client in the handler; the last server has no plugin
		{1e-12, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", 2, "-01"},
		{1, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", 0, "-00"},
	} {
		r := record(t, func(cfg *otel.Config) { cfg.Sample = c.share })
		flags := make(chan string, 2)
		tell := func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			parent := weft.MetadataFrom(ctx).Get("traceparent")
			flags <- parent[max(len(parent)-3, 0):]
			return next(ctx, info, req)
		}
		last := plugintest.Serve(t, &weft.ServerConfig{Interceptors: []weft.UnaryInterceptor{tell}}).Dial(t, &weft.ClientConfig{Plugins: []weft.Plugin{r.Plugin()}})
		w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{r.Plugin()}})
		must(t, weft.Handle(w.Server, "Arith.Nested", func(ctx context.Context, a *plugintest.Args) (*plugintest.Result, error) {
			return weft.Invoke[plugintest.Result](ctx, last, "Arith.Mul", a)
		}))
		ctx, client := t.Context(), w.Dial(t, &weft.ClientConfig{Plugins: []weft.Plugin{r.Plugin()}})
		if c.parent != "" { // the caller has no plugin
			ctx, client = weft.WithMetadata(ctx, "traceparent", c.parent), w.Dial(t, nil)
		}
		must(t, client.Call(ctx, "Arith.Nested", &plugintest.Args{A: 1}, nil))
		if got := <-flags; got != c.flags {
			t.Errorf("%+v: the nested call has %q", c, got)
		}
		spans := r.ended(t, c.spans)
		for _, s := range spans {
			if s.SpanContext().TraceID() != spans[0].SpanContext().TraceID() {
				t.Errorf("%+v: %s is of another trace", c, s.Name())
			}
		}
		if n, err := plugintest.Count(t.Context(), client, 2); n != 2 || err != nil {
			t.Error(n, err)
		}
	}
	if _, err := otel.New(&otel.Config{Sample: 1.5}); !errors.Is(err, weft.InvalidArgument) || !strings.Contains(err.Error(), "Sample") {
		t.Error(err)
	}
}

// Without a provider of spans the trace of a caller is passed on, and the calls are measured if there is one of meters.
func TestUntraced(t *testing.T) {
	for _, measured := range []bool{false, true} {
		r := record(t, func(cfg *otel.Config) {
			cfg.TracerProvider = noop.NewTracerProvider()
			if !measured {
				cfg.MeterProvider = noopmetric.NewMeterProvider()
			}
		})
		const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		seen := make(chan string, 1)
		tell := func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			seen <- weft.MetadataFrom(ctx).Get("traceparent")
			return next(ctx, info, req)
		}
		last := plugintest.Serve(t, &weft.ServerConfig{Interceptors: []weft.UnaryInterceptor{tell}}).Dial(t, &weft.ClientConfig{Plugins: []weft.Plugin{r.Plugin()}})
		w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{r.Plugin()}})
		must(t, weft.Handle(w.Server, "Arith.Nested", func(ctx context.Context, a *plugintest.Args) (*plugintest.Result, error) {
			return weft.Invoke[plugintest.Result](ctx, last, "Arith.Mul", a)
		}))
		c := w.Dial(t, nil)
		for _, want := range []string{parent, ""} {
			ctx := t.Context()
			if want != "" {
				ctx = weft.WithMetadata(ctx, "traceparent", want)
			}
			must(t, c.Call(ctx, "Arith.Nested", &plugintest.Args{A: 1}, nil))
			if got := <-seen; got != want {
				t.Errorf("the nested call has %q, want %q", got, want)
			}
		}
		if n, err := plugintest.Count(t.Context(), w.Dial(t, &weft.ClientConfig{Plugins: []weft.Plugin{r.Plugin()}}), 2); n != 2 || err != nil {
			t.Error(n, err)
		}
		want := map[string]uint64{}
		if measured {
			want = map[string]uint64{"rpc.method=Arith/Nested rpc.response.status_code=OK rpc.system.name=weft": 2,
				"rpc.method=Arith/Count rpc.response.status_code=OK rpc.system.name=weft": 1}
		}
		r.counts(t, "rpc.server.call.duration", want)
	}
}
