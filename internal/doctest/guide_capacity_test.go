package doctest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/raw"
	wefttls "github.com/weftrpc/weft/transport/tls"
)

// TestCapacityRows: every limit of the configurations has a row in docs/guide/capacity.md.
func TestCapacityRows(t *testing.T) {
	var named []string
	for _, row := range rows(readDocument(t, "docs/guide/capacity.md").section(t, "What a caller sees")) {
		named = append(named, quoted(row[0])...)
	}
	want := []string{"ServerConfig.MaxConns", "ServerConfig.MaxPending", "ServerConfig.Timeout", "ServerConfig.DrainTimeout",
		"ClientConfig.Timeout", "ClientConfig.MaxConns", "ClientConfig.Backoff", "ClientConfig.MaxBackoff"}
	limits := reflect.TypeFor[weft.Limits]()
	for i := range limits.NumField() {
		want = append(want, "Limits."+limits.Field(i).Name)
	}
	for _, name := range want {
		if !slices.Contains(named, name) {
			t.Errorf("%s has no row", name)
		}
	}
}

// TestCapacityErrors reaches the limits of docs/guide/capacity.md and compares what the
// caller gets with the table.
func TestCapacityErrors(t *testing.T) {
	all := rows(readDocument(t, "docs/guide/capacity.md").section(t, "What a caller sees"))
	is := func(row string, err error, code weft.Code, outcome weft.Outcome, reason string) {
		t.Helper()
		e, ok := errors.AsType[*weft.Error](err)
		if !ok || e.Code != code || e.Outcome != outcome || e.Reason != reason {
			t.Errorf("%s: %v, want %v (%v) [%s]", row, err, code, outcome, reason)
		}
		for _, r := range all {
			if r[0] == row && slices.Contains(quoted(r[2]), code.String()) && strings.Contains(r[3], "`"+outcome.String()+"`") &&
				(reason == "" || strings.Contains(r[3], "`"+reason+"`")) {
				return
			}
		}
		t.Errorf("the table does not say of %s that it is %v, %v, %q", row, code, outcome, reason)
	}
	srv := weft.NewServer(&weft.ServerConfig{
		MaxConns: 1, Limits: weft.Limits{MaxMessage: 1000, MaxMetadata: 100, MaxCalls: 2, MaxCallBytes: 1500},
	})
	waits := make(chan struct{}, 10)
	must(t, weft.HandleRaw(srv, "Raw.Wait", func(ctx context.Context, _, buf []byte) ([]byte, error) {
		waits <- struct{}{}
		<-ctx.Done()
		return buf, ctx.Err()
	}))
	must(t, weft.HandleRaw(srv, "Raw.Echo", func(_ context.Context, req, buf []byte) ([]byte, error) { return append(buf, req...), nil }))
	must(t, weft.HandleRaw(srv, "Raw.Large", func(_ context.Context, _, buf []byte) ([]byte, error) {
		return append(buf, make([]byte, 2000)...), nil
	}))
	ctx := t.Context()
	address := serve(t, srv)
	c, err := weft.Dial(ctx, address, &weft.ClientConfig{
		MaxConns: 1, Codec: raw.New(), Limits: weft.Limits{MaxMessage: 1000}, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer c.Close()
	must(t, c.Call(ctx, "Raw.Echo", []byte{1}, nil)) // from now on the client knows the limits
	is("`Limits.MaxMessage` of the server", c.Call(ctx, "Raw.Wait", make([]byte, 1001), nil),
		weft.ResourceExhausted, weft.NotSent, weft.ReasonMessageTooLarge)
	is("`Limits.MaxMessage` of the client, for the reply", c.Call(ctx, "Raw.Large", []byte{1}, nil),
		weft.ResourceExhausted, weft.Executed, weft.ReasonMessageTooLarge)
	is("`Limits.MaxMetadata`", c.Call(weft.WithMetadata(ctx, "k", strings.Repeat("x", 200)), "Raw.Wait", []byte{1}, nil),
		weft.ResourceExhausted, weft.NotSent, weft.ReasonMetadataTooLarge)
	is("`ServerConfig.MaxConns`", reach(t, address, &weft.ClientConfig{}), weft.ResourceExhausted, weft.NotSent, "")

	first := c.Go(ctx, "Raw.Wait", make([]byte, 800), nil, nil)
	<-waits
	is("`Limits.MaxCallBytes` of the server", c.Call(ctx, "Raw.Wait", make([]byte, 800), nil),
		weft.ResourceExhausted, weft.Refused, weft.ReasonTooManyBytes)
	second := c.Go(ctx, "Raw.Wait", []byte{1}, nil, nil)
	<-waits
	is("`Limits.MaxCalls` of the server", c.Call(ctx, "Raw.Wait", []byte{1}, nil),
		weft.ResourceExhausted, weft.NotSent, weft.ReasonTooManyCalls)
	settled := func() bool { // a refusal is counted, and its place free, soon after the client has been told
		s := srv.Stats()
		return s.InFlight == 2 && s.Rejected == 1 && s.Refused[weft.ReasonTooManyBytes] == 1
	}
	for end := time.Now().Add(10 * time.Second); !settled(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the statistics are %+v", srv.Stats())
		}
	}
	drain, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if err := srv.Shutdown(drain); err == nil {
		t.Error("the shutdown has cut off nothing")
	}
	for _, call := range []*weft.Call{first, second} {
		is("`ServerConfig.DrainTimeout`", (<-call.Done).Error, weft.Unavailable, weft.Executed, weft.ReasonShutdown)
	}
}

// TestCapacityGuide runs the code of docs/guide/capacity.md.
func TestCapacityGuide(t *testing.T) {
	srv := weft.NewServer(&weft.ServerConfig{
		MaxConns: 500,
		Limits: weft.Limits{
			MaxMessage:   256 << 10, // the largest message that is meant to be sent
			MaxCalls:     256,       // calls and streams of a connection
			MaxCallBytes: 4 << 20,   // of their requests
			StreamWindow: 64 << 10,
			WriteBuffer:  1 << 20,
		},
	})

	must(t, srv.Register(Arith{}))
	c, err := weft.Dial(t.Context(), serve(t, srv), nil)
	must(t, err)
	defer c.Close()
	must(t, c.Call(t.Context(), "Arith.Mul", &Args{6, 7}, nil))

	s := srv.Stats()
	for _, m := range s.Methods {
		fmt.Println(m.Method, m.Calls, m.Codes[weft.Internal], m.Latency.Quantile(0.99))
	}
	fmt.Println(s.InFlight, s.Connections, s.Accepted, s.Rejected)
	fmt.Println(s.Refused[weft.ReasonTooManyBytes], s.Refused[weft.ReasonDraining])

	if s.Connections != 1 || s.Accepted != 1 {
		t.Errorf("the statistics are %+v", s)
	}
}

// BenchmarkIdleConnection measures the memory of connections that have made one call, both
// ends together: as many as there are iterations.
func BenchmarkIdleConnection(b *testing.B) {
	b.Run("plain", func(b *testing.B) { idleConnections(b, nil, nil) })
	b.Run("TLS", func(b *testing.B) {
		b.Chdir(b.TempDir())
		newAuthority(b, "ca.pem").issue(b, "server", "orders.example", time.Now().Add(time.Hour))
		source, err := wefttls.Load(wefttls.Files{Cert: "server.pem", Key: "server.key"}, nil)
		must(b, err)
		server, err := source.ServerConfig()
		must(b, err)
		trust, err := wefttls.Load(wefttls.Files{CA: "ca.pem"}, nil)
		must(b, err)
		idleConnections(b, server, trust.ClientConfig(""))
	})
}

func idleConnections(b *testing.B, server, client *tls.Config) {
	srv := weft.NewServer(&weft.ServerConfig{TLS: server})
	must(b, srv.Register(Arith{}))
	address := serve(b, srv)
	used := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before := used()
	all := make([]*weft.Client, 0, b.N)
	for range b.N {
		c, err := weft.Dial(b.Context(), address, &weft.ClientConfig{MaxConns: 1, TLS: client})
		must(b, err)
		must(b, c.Call(b.Context(), "Arith.Mul", &Args{6, 7}, nil))
		all = append(all, c)
	}
	b.ReportMetric(float64(used()-before)/float64(b.N)/1024, "KiB/connection")
	for _, c := range all {
		c.Close()
	}
}
