package collector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/accesslog"
	"github.com/weftrpc/weft/plugin/otel"
)

// number is what the calls carry.
type number struct{ N int }

// kit is the SDK of OpenTelemetry, which sends to a collector by OTLP, and the plugins that use it.
type kit struct {
	plugins []weft.Plugin
	flush   []func(context.Context) error
}

// newKit makes the kit of a process with a name.
func newKit(ctx context.Context, collector, name string) (*kit, error) {
	res := resource.NewSchemaless(attribute.String("service.name", name))
	spans, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(collector), otlptracegrpc.WithInsecure())
	if err != nil {
		return nil, err
	}
	figures, err := otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpoint(collector), otlpmetricgrpc.WithInsecure())
	if err != nil {
		return nil, err
	}
	records, err := otlploggrpc.New(ctx, otlploggrpc.WithEndpoint(collector), otlploggrpc.WithInsecure())
	if err != nil {
		return nil, err
	}
	traces := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans), sdktrace.WithResource(res))
	metrics := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(figures)), sdkmetric.WithResource(res))
	logs := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(records)), sdklog.WithResource(res))
	k := &kit{flush: []func(context.Context) error{traces.Shutdown, metrics.Shutdown, logs.Shutdown}}
	t, err := otel.New(&otel.Config{TracerProvider: traces, MeterProvider: metrics})
	if err != nil {
		return nil, err
	}
	access, err := accesslog.New(&accesslog.Config{Logger: slog.New(otelslog.NewHandler("calls", otelslog.WithLoggerProvider(logs)))})
	k.plugins = []weft.Plugin{t.Plugin(), access}
	return k, err
}

// close sends all that was not sent yet.
func (k *kit) close() (err error) {
	for _, f := range k.flush {
		err = errors.Join(err, f(context.Background()))
	}
	return err
}

// serve answers Chain.Call until the standard input ends: with the number, or by a call to the process at next.
func serve(collector, name, next string) (err error) {
	ctx := context.Background()
	k, err := newKit(ctx, collector, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	var c *weft.Client
	if next != "" {
		if c, err = weft.Dial(ctx, "tcp://"+next, &weft.ClientConfig{Plugins: k.plugins}); err != nil {
			return err
		}
		defer c.Close()
	}
	srv := weft.NewServer(&weft.ServerConfig{Plugins: k.plugins})
	defer srv.Close()
	err = weft.Handle(srv, "Chain.Call", func(ctx context.Context, n *number) (*number, error) {
		if c == nil {
			return &number{n.N + 1}, nil
		}
		return weft.Invoke[number](ctx, c, "Chain.Call", n)
	})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go srv.Serve(l) // it ends with the server
	fmt.Println(l.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
