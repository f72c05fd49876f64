package oneport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
)

// TestAdmin has the service weft.Admin answer over every wire that a client of weft speaks. It is over TLS: the service answers no plain
// HTTP without a credential, and some wires carry none.
func TestAdmin(t *testing.T) {
	own, roots := certificate(t)
	srv, addr := start(t, &tls.Config{Certificates: []tls.Certificate{own}})
	if err := admin.Register(srv, &admin.Config{LogLevel: new(slog.LevelVar)}); err != nil {
		t.Fatal(err)
	}
	streams := []string{"weft", "HTTP, weft's wire", "gRPC", "Connect", "Connect, HTTP/2"}
	for _, w := range wires() {
		c, err := w.dial(addr, &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"})
		if err != nil {
			t.Fatalf("%s: %v", w.name, err)
		}
		if c, ok := c.(weftClient); ok {
			t.Run(w.name, func(t *testing.T) { operate(t, c, slices.Contains(streams, w.name)) })
		}
		c.Close()
	}
}

// operate calls the methods of weft.Admin that change nothing; Watch needs a wire with streams.
func operate(t *testing.T, c weftClient, streams bool) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	a := admin.NewClient(c, nil)
	call(t, "before", c, 100)
	d, err := a.Describe(ctx, &admin.DescribeRequest{Model: true})
	if err != nil || d.Model == "" || !slices.ContainsFunc(d.Services, func(s admin.ServiceInfo) bool { return s.Name == "Test" && s.Methods[0].RequestSchema != "" }) {
		t.Errorf("Describe: %v", err)
	}
	s, err := a.Stats(ctx, &admin.StatsRequest{Buckets: true})
	if err != nil || s.At.Year() < 2000 || s.Process.Goroutines == 0 || !slices.ContainsFunc(s.Methods, func(m admin.MethodStats) bool { return m.Method == "Test.Echo" && m.Calls > 0 }) {
		t.Errorf("Stats: %+v, %v", s, err)
	}
	if all, err := a.Connections(ctx, nil); err != nil || len(all.Connections) == 0 {
		t.Errorf("Connections: %+v, %v", all, err)
	}
	if all, err := a.Calls(ctx, nil); err != nil || len(all.Calls) == 0 {
		t.Errorf("Calls: %+v, %v", all, err)
	}
	if all, err := a.Config(ctx, nil); err != nil || len(all.Settings) < 30 {
		t.Errorf("Config: %+v, %v", all, err)
	}
	if l, err := a.Limits(ctx, nil); err != nil || !l.Overload.On {
		t.Errorf("Limits: %+v, %v", l, err)
	}
	if all, err := a.Stacks(ctx, nil); err != nil || all.Goroutines == 0 {
		t.Errorf("Stacks: %v", err)
	}
	if l, err := a.LogLevel(ctx, nil); err != nil || l.Level != "INFO" {
		t.Errorf("LogLevel: %+v, %v", l, err)
	}
	stream, err := a.Watch(ctx, &admin.WatchRequest{Interval: 0.1, Count: 2})
	if !streams {
		if !errors.Is(err, weft.Unimplemented) {
			t.Errorf("Watch on a wire without streams: %v, want Unimplemented", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if s, err := stream.Recv(); err != nil || s.Process.Goroutines == 0 {
			t.Fatalf("Watch: %+v, %v", s, err)
		}
	}
	if _, err := stream.Recv(); err != io.EOF {
		t.Errorf("Watch ended with %v", err)
	}
}
