package otel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/door/netrpc"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/plugin/internal/figures"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/otel"
	"github.com/weftrpc/weft/registry/static"
)

// Every code: the spans of both sides and both metrics, with all their attributes.
func TestEveryCode(t *testing.T) {
	r := record(t, nil)
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: plugins(r)})
	k := record(t, func(c *otel.Config) { c.ServerAddress = "orders.internal:8972" })
	c := w.Dial(t, &weft.ClientConfig{Plugins: plugins(k)})
	served, called := make(map[string]uint64), make(map[string]uint64)
	const system, address = "rpc.system.name=weft", "server.address=orders.internal server.port=8972"
	for code := weft.Code(0); code <= weft.Unauthenticated; code++ {
		method := "Arith/Fail"
		if code == 0 {
			method = "Arith/Mul"
			must(t, c.Call(t.Context(), "Arith.Mul", &plugintest.Args{A: 6, B: 7}, nil))
		} else {
			plugintest.IsError(t, c.Call(t.Context(), "Arith.Fail", &plugintest.Args{A: int(code)}, nil), code, weft.Executed)
		}
		n := int(code) + 1
		server, client := r.ended(t, n)[n-1], k.ended(t, n)[n-1]
		below(t, server, client)
		status := figures.Status(code)
		result := fmt.Sprintf("rpc.method=%s rpc.response.status_code=%s %s", method, status, system)
		failed := "error.type=" + status + " " + result
		onServer, onClient, onSpan := result, result+" "+address, result+" "+address
		serverStatus, clientStatus := codes.Unset, codes.Unset
		if code != 0 {
			onClient, clientStatus = failed+" "+address, codes.Error
			onSpan = onClient + " weft.outcome=Executed"
		}
		switch status {
		case "UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS":
			onServer, serverStatus = failed, codes.Error
		}
		is(t, server, method, trace.SpanKindServer, onServer)
		is(t, client, method, trace.SpanKindClient, onSpan)
		if server.Status().Code != serverStatus || client.Status().Code != clientStatus || client.Status().Description != "" {
			t.Errorf("%s: the spans have the status %v and %v", status, server.Status(), client.Status())
		}
		served[onServer], called[onClient] = 1, 1
	}
	r.counts(t, "rpc.server.call.duration", served)
	k.counts(t, "rpc.client.call.duration", called)
	if s := r.ended(t, 17)[0]; !strings.Contains(fmt.Sprint(s.Attributes()), "127.0.0.1") {
		t.Errorf("the server's span does not have the address of its peer: %v", s.Attributes())
	}
}

// A measurement is as long as its span.
func TestDuration(t *testing.T) {
	r := record(t, nil)
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: plugins(r)})
	must(t, w.Dial(t, nil).Call(t.Context(), "Arith.Sleep", &plugintest.Args{A: 30}, nil))
	s := r.ended(t, 1)[0]
	for _, p := range r.histogram(t, "rpc.server.call.duration") {
		if took := s.EndTime().Sub(s.StartTime()).Seconds(); p.Sum < 0.03 || p.Sum > took+0.01 {
			t.Errorf("the measurement is %v s, the span %v s", p.Sum, took)
		}
	}
}

// net/rpc has no metadata: the server begins a trace of its own. As a wire it takes calls too.
func TestDoor(t *testing.T) {
	r := record(t, nil)
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: plugins(r)})
	must(t, w.DialDoor(t).Call("Arith.Mul", &plugintest.Args{A: 1}, &plugintest.Result{}))
	s := r.ended(t, 1)[0]
	is(t, s, "Arith/Mul", trace.SpanKindServer, "rpc.method=Arith/Mul rpc.response.status_code=OK rpc.system.name=netrpc")
	if s.Parent().IsValid() {
		t.Error("a call without metadata has a parent")
	}
	k := record(t, nil)
	c, err := weft.Dial(t.Context(), "netrpc://"+w.Addr, &weft.ClientConfig{Plugins: plugins(k), Wires: []weft.Wire{netrpc.Wire()}})
	must(t, err)
	defer c.Close()
	must(t, c.Call(t.Context(), "Arith.Mul", &plugintest.Args{A: 1}, &plugintest.Result{}))
	k.ended(t, 1)
	r.ended(t, 2)
}

// A call by a name in memory that is used again leaves nothing of that name behind: the next has a span and measurements of its own.
func TestNamesInMemoryUsedAgain(t *testing.T) {
	k := record(t, nil)
	w := plugintest.Serve(t, nil)
	must(t, weft.Handle(w.Server, "Arith.Add", func(context.Context, *plugintest.Args) (*plugintest.Result, error) { return &plugintest.Result{}, nil }))
	c := w.Dial(t, &weft.ClientConfig{Plugins: plugins(k)})
	memory := []byte("Arith.Mul")
	for i, name := range []string{"Arith.Mul", "Arith.Add", "Arith.Mul", "Arith.Add"} {
		copy(memory, name)
		must(t, c.Call(t.Context(), unsafe.String(&memory[0], len(memory)), &plugintest.Args{}, nil))
		if s := k.ended(t, i+1)[i]; s.Name() != strings.Replace(name, ".", "/", 1) {
			t.Errorf("the span of %s is called %s", name, s.Name())
		}
	}
	if all := k.histogram(t, "rpc.client.call.duration"); len(all) != 2 {
		t.Errorf("two methods have %d histograms", len(all))
	}
}

func TestStream(t *testing.T) {
	r := record(t, nil)
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: plugins(r)})
	k := record(t, nil)
	c := w.Dial(t, &weft.ClientConfig{Plugins: plugins(k)})
	if n, err := plugintest.Count(t.Context(), c, 3); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	client, server := k.ended(t, 1)[0], r.ended(t, 1)[0]
	below(t, server, client)
	is(t, client, "Arith/Count", trace.SpanKindClient, "rpc.method=Arith/Count rpc.response.status_code=OK rpc.system.name=weft")
	is(t, server, "Arith/Count", trace.SpanKindServer, "rpc.method=Arith/Count rpc.response.status_code=OK rpc.system.name=weft")

	// A stream that is closed, and one whose context ends while no goroutine looks at it.
	closed, err := weft.Subscribe[plugintest.Result](t.Context(), c, "Arith.Count", &plugintest.Args{A: 1 << 30})
	must(t, err)
	closed.Close()
	ctx, cancel := context.WithCancel(t.Context())
	_, err = weft.Subscribe[plugintest.Result](ctx, c, "Arith.Count", &plugintest.Args{A: 1 << 30})
	must(t, err)
	cancel()
	for _, s := range k.ended(t, 3)[1:] {
		if s.Status().Code != codes.Error || !strings.Contains(shown(s.Attributes()), "CANCELLED") {
			t.Errorf("%v %v", s.Status(), shown(s.Attributes()))
		}
	}
	// One that cannot be opened.
	dead := w.Dial(t, &weft.ClientConfig{Plugins: plugins(k)})
	dead.Close()
	if _, err := plugintest.Count(t.Context(), dead, 1); err == nil {
		t.Error("a closed client opens a stream")
	}
	k.ended(t, 4)
}

// fleet is a cluster client of servers.
func fleet(t *testing.T, k *recorder, change func(*cluster.Config), worlds ...*plugintest.World) *cluster.Client {
	t.Helper()
	var addrs []string
	for _, w := range worlds {
		addrs = append(addrs, "tcp://"+w.Addr)
	}
	reg, err := static.New(addrs...)
	must(t, err)
	t.Cleanup(func() { reg.Close() })
	cfg := cluster.Config{Registry: reg, Logger: slog.New(slog.DiscardHandler), Balancer: balance.RoundRobin()}
	if change != nil {
		change(&cfg)
	}
	k.Cluster(&cfg)
	c, err := cluster.New(&cfg)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// A retry: one span for the call, one below it for each attempt, linked to the one before,
// the servers' below those, and what happened in between as events.
func TestRetry(t *testing.T) {
	r := record(t, nil)
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: plugins(r)})
	k := record(t, nil)
	c := fleet(t, k, nil, w)
	ctx := cluster.WithIdempotent(t.Context())
	plugintest.IsError(t, c.Call(ctx, "Arith.Fail", &plugintest.Args{A: int(weft.Unavailable)}, nil), weft.Unavailable, weft.Executed)
	all := k.ended(t, 4)
	call := all[0]
	const result = "error.type=UNAVAILABLE rpc.method=Arith/Fail rpc.response.status_code=UNAVAILABLE rpc.system.name=weft"
	is(t, call, "Arith/Fail", trace.SpanKindClient, result+" weft.outcome=Executed")
	servers := r.ended(t, 3)
	for i, s := range all[1:] {
		is(t, s, "attempt Arith/Fail", trace.SpanKindClient, fmt.Sprintf("%s weft.attempt=%d weft.outcome=Executed", result, i))
		below(t, s, call)
		below(t, servers[i], s)
		switch links := s.Links(); {
		case i == 0 && len(links) != 0:
			t.Errorf("the first attempt has the links %v", links)
		case i > 0 && (len(links) != 1 || links[0].SpanContext.SpanID() != all[i].SpanContext().SpanID()):
			t.Errorf("attempt %d is not linked to the one before: %v", i, links)
		}
	}
	var events []string
	for _, e := range call.Events() {
		events = append(events, e.Name)
	}
	if got := strings.Join(events, ", "); got != "weft.picked, weft.retrying, weft.picked, weft.retrying, weft.picked" {
		t.Errorf("the events are %s", got)
	}
	if got := shown(call.Events()[0].Attributes); got != "server.address=tcp://"+w.Addr {
		t.Errorf("the server was picked: %s", got)
	}
	k.counts(t, "rpc.client.call.duration", map[string]uint64{result: 1})
}

// A hedge is an attempt that is linked to the first.
func TestHedge(t *testing.T) {
	w := plugintest.Serve(t, nil)
	other := plugintest.Serve(t, nil)
	k := record(t, nil)
	c := fleet(t, k, func(cfg *cluster.Config) { cfg.FailMode = cluster.Failbackup }, w, other)
	ctx := cluster.WithIdempotent(t.Context())
	hedged := func(all []sdktrace.ReadOnlySpan) bool {
		for _, s := range all {
			for _, e := range s.Events() {
				if e.Name == "weft.hedging" {
					return true
				}
			}
		}
		return false
	}
	polltest.True(t, time.Minute, "a slow call is hedged", func() bool {
		for range 40 {
			must(t, c.Call(ctx, "Arith.Sleep", &plugintest.Args{A: 1}, nil))
		}
		must(t, c.Call(ctx, "Arith.Sleep", &plugintest.Args{A: 300}, nil)) // far longer than usual
		return hedged(k.spans.Ended())
	})
	linked := 0
	for _, s := range k.spans.Ended() {
		if len(s.Links()) == 1 {
			linked++
		}
	}
	if linked == 0 {
		t.Error("the hedge is not linked to the first attempt")
	}
}

// A stream of a cluster has the span of the call and that of its attempt.
func TestClusterStream(t *testing.T) {
	r := record(t, nil)
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: plugins(r)})
	k := record(t, nil)
	c := fleet(t, k, nil, w)
	if n, err := plugintest.Count(t.Context(), c, 5); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	all := k.ended(t, 2)
	below(t, all[1], all[0])
	below(t, r.ended(t, 1)[0], all[1])
	k.counts(t, "rpc.client.call.duration", map[string]uint64{"rpc.method=Arith/Count rpc.response.status_code=OK rpc.system.name=weft": 1})
}

// A server whose callers are not trusted begins a trace of its own, and takes no baggage.
func TestPublic(t *testing.T) {
	r := record(t, func(c *otel.Config) { c.Public, c.RequestMetadata = true, []string{"tenant"} })
	var bag string
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: plugins(r), Interceptors: []weft.UnaryInterceptor{
		func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			bag = baggage.FromContext(ctx).String()
			return next(ctx, info, req)
		},
	}})
	k := record(t, nil)
	c := w.Dial(t, &weft.ClientConfig{Plugins: plugins(k)})
	member, err := baggage.NewMember("user", "ada")
	must(t, err)
	b, err := baggage.New(member)
	must(t, err)
	ctx := weft.WithMetadata(baggage.ContextWithBaggage(t.Context(), b), "tenant", "blue", "tenant", "green")
	must(t, c.Call(ctx, "Arith.Mul", &plugintest.Args{}, nil))
	server, client := r.ended(t, 1)[0], k.ended(t, 1)[0]
	if server.Parent().IsValid() || server.SpanContext().TraceID() == client.SpanContext().TraceID() {
		t.Error("the server has joined the trace of a caller that it does not trust")
	}
	if l := server.Links(); len(l) != 1 || l[0].SpanContext.SpanID() != client.SpanContext().SpanID() {
		t.Errorf("the links are %v", l)
	}
	if bag != "" {
		t.Errorf("the baggage is %q", bag)
	}
	if got := shown(server.Attributes()); !strings.Contains(got, `rpc.request.metadata.tenant=["blue","green"]`) {
		t.Error(got)
	}
}

// What is not sampled is not recorded, and the trace goes on.
func TestNotSampled(t *testing.T) {
	r := record(t, nil)
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: plugins(r)})
	k := record(t, nil, sdktrace.WithSampler(sdktrace.NeverSample()))
	var header string
	c := w.Dial(t, &weft.ClientConfig{Plugins: plugins(k), Interceptors: []weft.UnaryInterceptor{
		func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			header = weft.OutgoingMetadata(ctx).Get("traceparent")
			return next(ctx, info, req)
		},
	}})
	must(t, c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil))
	k.counts(t, "rpc.client.call.duration", map[string]uint64{"rpc.method=Arith/Mul rpc.response.status_code=OK rpc.system.name=weft": 1})
	if len(k.spans.Ended()) != 0 || len(r.spans.Ended()) != 0 {
		t.Error("a call that was not sampled has been recorded")
	}
	if !strings.HasPrefix(header, "00-") || !strings.HasSuffix(header, "-00") {
		t.Errorf("traceparent is %q", header)
	}
}

// A panic of an interceptor further inside ends the span.
func TestPanic(t *testing.T) {
	r := record(t, nil)
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: plugins(r), Interceptors: []weft.UnaryInterceptor{
		func(context.Context, *weft.CallInfo, any, weft.UnaryFunc) (any, error) { panic("interceptor") },
	}})
	plugintest.IsError(t, w.Dial(t, nil).Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil), weft.Internal, weft.Executed)
	is(t, r.ended(t, 1)[0], "Arith/Mul", trace.SpanKindServer,
		"error.type=INTERNAL rpc.method=Arith/Mul rpc.response.status_code=INTERNAL rpc.system.name=weft")
}

func TestErrorMessages(t *testing.T) {
	k := record(t, func(c *otel.Config) { c.ErrorMessages = true })
	w := plugintest.Serve(t, nil)
	_ = w.Dial(t, &weft.ClientConfig{Plugins: plugins(k)}).Call(t.Context(), "Arith.Fail", &plugintest.Args{A: 5}, nil)
	if s := k.ended(t, 1)[0]; s.Status().Description != "failed as asked" {
		t.Errorf("%v", s.Status())
	}
}

func TestConfig(t *testing.T) {
	if _, err := otel.New(&otel.Config{RequestMetadata: []string{"Authorization"}}); err == nil {
		t.Error("credentials may be shown")
	}
	r := record(t, func(c *otel.Config) {
		c.HistogramOptions = []metric.Float64HistogramOption{metric.WithExplicitBucketBoundaries(1)}
	})
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: plugins(r)})
	must(t, w.Dial(t, nil).Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil))
	r.ended(t, 1)
	if _, err := otel.New(nil); err != nil {
		t.Error(err)
	}
}

func TestLogHandler(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(otel.LogHandler(slog.NewTextHandler(&b, nil))).With("a", 1).WithGroup("g")
	log.Info("without")
	r := record(t, nil)
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: plugins(r), Interceptors: []weft.UnaryInterceptor{
		func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			log.InfoContext(ctx, "with")
			return next(ctx, info, req)
		},
	}})
	must(t, w.Dial(t, nil).Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil))
	s := r.ended(t, 1)[0].SpanContext()
	lines := strings.Split(b.String(), "\n")
	if strings.Contains(lines[0], "trace_id") || !strings.Contains(lines[1], "trace_id="+s.TraceID().String()) || !strings.Contains(lines[1], "span_id="+s.SpanID().String()) {
		t.Errorf("%s", b.String())
	}
}

// A record that names its trace or span, as the lines of accesslog do, does not get another attribute of the same key.
func TestLogHandlerOnce(t *testing.T) {
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}}))
	for _, tt := range []struct{ key, want string }{
		{"trace_id", "trace_id=own span_id=0200000000000000"},
		{"span_id", "span_id=own trace_id=01000000000000000000000000000000"},
		{"other", "other=own trace_id=01000000000000000000000000000000 span_id=0200000000000000"},
	} {
		var b bytes.Buffer
		slog.New(otel.LogHandler(slog.NewTextHandler(&b, nil))).InfoContext(ctx, "call", tt.key, "own")
		if got := strings.TrimSpace(b.String()); !strings.HasSuffix(got, "msg=call "+tt.want) {
			t.Errorf("%s: %s, want %s", tt.key, got, tt.want)
		}
	}
}

// The end of a call's context ends its span with the code of that.
func TestTimeout(t *testing.T) {
	k := record(t, nil)
	w := plugintest.Serve(t, nil)
	c := w.Dial(t, &weft.ClientConfig{Plugins: plugins(k)})
	err := c.Call(t.Context(), "Arith.Sleep", &plugintest.Args{A: 10_000}, nil, weft.WithTimeout(20*time.Millisecond))
	if !errors.Is(err, weft.DeadlineExceeded) {
		t.Fatal(err)
	}
	if got := shown(k.ended(t, 1)[0].Attributes()); !strings.Contains(got, "error.type=DEADLINE_EXCEEDED") {
		t.Error(got)
	}
}
