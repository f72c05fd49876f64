package otel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"

	"go.opentelemetry.io/otel/baggage"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/otel"
)

// spanSeen is a span as a process reports it.
type spanSeen struct {
	Name, Kind, Trace, Span, Parent, Baggage string
}

// serveUntilKilled is a process that answers Chain.Call, by calling the next process where
// there is one, and Chain.Spans with its spans. It ends when its standard input does.
func serveUntilKilled(next string) {
	if err := serveChain(next); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serveChain(next string) error {
	spans := tracetest.NewSpanRecorder()
	t, err := otel.New(&otel.Config{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))})
	if err != nil {
		return err
	}
	var c *weft.Client
	if next != "" {
		if c, err = weft.Dial(context.Background(), "tcp://"+next, &weft.ClientConfig{Plugins: []weft.Plugin{t.Plugin()}}); err != nil {
			return err
		}
	}
	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{t.Plugin()}})
	var bag string
	err = errors.Join(
		weft.Handle(srv, "Chain.Call", func(ctx context.Context, a *plugintest.Args) (*plugintest.Result, error) {
			bag = baggage.FromContext(ctx).String()
			if c == nil {
				return &plugintest.Result{C: a.A}, nil
			}
			return weft.Invoke[plugintest.Result](ctx, c, "Chain.Call", a)
		}),
		weft.Handle(srv, "Chain.Spans", func(context.Context, *plugintest.Args) (*[]spanSeen, error) {
			out := []spanSeen{}
			for _, s := range spans.Ended() {
				out = append(out, spanSeen{s.Name(), s.SpanKind().String(), s.SpanContext().TraceID().String(),
					s.SpanContext().SpanID().String(), s.Parent().SpanID().String(), bag})
			}
			return &out, nil
		}))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go srv.Serve(l) // it ends with the process
	fmt.Println(l.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startProcess starts such a process, which calls the one at next, and returns its address.
func startProcess(t *testing.T, next string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "WEFT_TEST_NEXT="+next)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	var addr string
	if _, err := fmt.Fscanln(stdout, &addr); err != nil {
		t.Fatal(err)
	}
	return addr
}

// One trace goes through three processes, and the baggage with it.
func TestThreeProcesses(t *testing.T) {
	back := startProcess(t, "")
	middle := startProcess(t, back)
	k := record(t, nil)
	c, err := weft.Dial(t.Context(), "tcp://"+middle, &weft.ClientConfig{Plugins: plugins(k)})
	must(t, err)
	defer c.Close()
	member, err := baggage.NewMember("tenant", "blue")
	must(t, err)
	b, err := baggage.New(member)
	must(t, err)
	must(t, c.Call(baggage.ContextWithBaggage(t.Context(), b), "Chain.Call", &plugintest.Args{A: 1}, nil))
	parent := k.ended(t, 1)[0].SpanContext()
	last, chain := parent.SpanID().String(), 0
	for _, addr := range []string{middle, back} {
		plain, err := weft.Dial(t.Context(), "tcp://"+addr, nil)
		must(t, err)
		defer plain.Close()
		spans, err := weft.Invoke[[]spanSeen](t.Context(), plain, "Chain.Spans", &plugintest.Args{})
		must(t, err)
		for _, kind := range []string{"server", "client"} {
			for _, s := range *spans {
				if s.Kind != kind || s.Name != "Chain/Call" {
					continue
				}
				if s.Parent != last || s.Trace != parent.TraceID().String() || s.Baggage != "tenant=blue" {
					t.Errorf("%+v, want the parent %s", s, last)
				}
				last = s.Span
				chain++
			}
		}
	}
	if chain != 3 {
		t.Errorf("%d spans are below the first, want those of two servers and of the client between", chain)
	}
}
