package prometheus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/prometheus"
)

// serveUntilKilled is a server process: it prints its address and that of its metrics, and
// ends when its standard input does.
func serveUntilKilled(string) {
	srv := weft.NewServer(nil)
	c := prometheus.New(nil)
	c.Server("", srv)
	sleep := func(ctx context.Context, a *plugintest.Args) (*plugintest.Result, error) {
		select {
		case <-time.After(time.Duration(a.A) * time.Millisecond):
		case <-ctx.Done():
		}
		return new(plugintest.Result), ctx.Err()
	}
	err := errors.Join(
		weft.Handle(srv, "Arith.Sleep", sleep),
		weft.Handle(srv, "Arith.Few", sleep, weft.MethodLimit(1)),
		weft.Handle(srv, "Arith.Mul", func(_ context.Context, a *plugintest.Args) (*plugintest.Result, error) {
			return &plugintest.Result{C: a.A * a.B}, nil
		}, weft.Idempotent()),
		weft.Handle(srv, "Arith.Fail", func(_ context.Context, a *plugintest.Args) (*plugintest.Result, error) {
			return nil, weft.Errorf(weft.Code(a.A), "failed as asked")
		}))
	rpc, err1 := net.Listen("tcp", "127.0.0.1:0")
	web, err2 := net.Listen("tcp", "127.0.0.1:0")
	if err := errors.Join(err, err1, err2); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go srv.Serve(rpc)                       // it ends with the process
	go http.Serve(web, metricsHandlerOf(c)) // likewise
	fmt.Println(rpc.Addr(), web.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func metricsHandlerOf(c client.Collector) http.Handler {
	r := client.NewRegistry()
	r.MustRegister(c)
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}
