package otel_test

import (
	"context"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/otel"
)

func Example() {
	ctx := context.Background()
	spans := tracetest.NewSpanRecorder() // in a program an exporter
	t, err := otel.New(&otel.Config{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))})
	if err != nil {
		fmt.Println(err)
		return
	}
	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{t.Plugin()}})
	defer srv.Close()
	if err := weft.Handle(srv, "Greeter.Hello", func(_ context.Context, name *string) (*string, error) { return name, nil }); err != nil {
		fmt.Println(err)
		return
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	// It ends with Close.
	go srv.Serve(l)
	c, err := weft.Dial(ctx, l.Addr().String(), &weft.ClientConfig{Plugins: []weft.Plugin{t.Plugin()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if _, err := weft.Invoke[string](ctx, c, "Greeter.Hello", "Ada"); err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range spans.Started() {
		fmt.Println(s.SpanKind(), s.Name())
	}
	// Output:
	// client Greeter/Hello
	// server Greeter/Hello
}
