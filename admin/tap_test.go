package admin_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/internal/polltest"
)

// next receives one call.
func next(t *testing.T, s *weft.Stream[admin.TappedCall, admin.TapRequest]) *admin.TappedCall {
	t.Helper()
	c, err := s.Recv()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTap(t *testing.T) {
	r := start(t, nil, &admin.Config{Bodies: true})
	c, a := r.dial("", &weft.ClientConfig{Name: "billing"}), r.admin("")
	ctx := t.Context()
	open := func(req *admin.TapRequest) *weft.Stream[admin.TappedCall, admin.TapRequest] {
		t.Helper()
		s, err := a.Tap(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	all, failed, slow := open(nil), open(&admin.TapRequest{Failed: true, Codes: []string{"not_found"}, Bodies: true}), open(&admin.TapRequest{Slower: 3600})
	bodies, stats := open(&admin.TapRequest{Methods: []string{"Arith.Mul", "Arith.Count"}, Bodies: true, Peer: "billing"}), open(&admin.TapRequest{Methods: []string{"weft.Admin.*"}, Count: 1})
	other := open(&admin.TapRequest{Peer: "nowhere"})
	if err := c.Call(ctx, "Arith.Mul", &Args{A: 7, B: 8, Card: Card{Number: "4711", Password: "canary"}}, nil); err != nil {
		t.Fatal(err)
	}
	traced := weft.WithMetadata(ctx, "traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if err := c.Call(traced, "Arith.Fail", &Args{A: int(weft.NotFound)}, nil); !errors.Is(err, weft.NotFound) {
		t.Fatal(err)
	}
	count, err := weft.Subscribe[Product](ctx, c, "Arith.Count", &Args{A: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range count.All() {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Stats(ctx, nil); err != nil {
		t.Fatal(err)
	}

	mul := next(t, all)
	if mul.Method != "Arith.Mul" || mul.Code != "OK" || mul.Name != "billing" || mul.Wire != "weft" || mul.Codec != "msgpack" || mul.Peer == "" ||
		mul.RequestBytes == 0 || mul.ReplyBytes == 0 || mul.Duration < 0 || mul.Content != nil || mul.TraceID != "" || mul.Left == nil || *mul.Left > 10 || time.Since(mul.At) > time.Hour {
		t.Errorf("%+v", mul)
	}
	if x := next(t, all); x.Method != "Arith.Fail" || x.Code != "NotFound" || x.Error != "failed as asked" || x.TraceID != "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Errorf("%+v", x)
	}
	if x := next(t, all); x.Method != "Arith.Count" || x.Stream == nil || *x.Stream != (admin.Messages{Received: 1, Sent: 3}) {
		t.Errorf("%+v", x)
	}
	if x := next(t, failed); x.Method != "Arith.Fail" || !strings.Contains(x.Content.Request, `"A":5`) || x.Content.Reply != "" {
		t.Errorf("%+v", x)
	}
	if x := next(t, bodies); x.Content.Request != `{"A":7,"B":8,"Card":{"Number":"4711","Password":"***"}}` || x.Content.Reply != `{"C":56}` {
		t.Errorf("%+v", x)
	}
	if x := next(t, stats); !strings.HasPrefix(x.Method, "weft.Admin.") {
		t.Errorf("%+v", x)
	}
	if _, err := stats.Recv(); err == nil {
		t.Error("a tap of one call has not ended")
	}
	// These show none; closing them ends their handlers.
	slow.Close()
	other.Close()
	for _, req := range []*admin.TapRequest{{Codes: []string{"none"}}, {Methods: make([]string, 65)}, {MaxBody: -1}, {Bodies: true, MaxBody: 1 << 17}, {Metadata: make([]string, 65)}} {
		isError(t, tapError(a.Tap(ctx, req)), weft.InvalidArgument)
	}
}

// TestTapOfWholeCalls shows what a recording of calls needs: long bodies and metadata.
func TestTapOfWholeCalls(t *testing.T) {
	r := start(t, nil, &admin.Config{Bodies: true})
	s, err := r.admin("").Tap(t.Context(), &admin.TapRequest{Bodies: true, MaxBody: 64 << 10, Metadata: []string{"tenant", "api-token", "absent"}, Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx := weft.WithMetadata(t.Context(), "tenant", "acme", "api-token", "canary", "other", "x")
	if err := r.dial("", nil).Call(ctx, "Arith.Mul", &Args{Card: Card{Number: strings.Repeat("4", 9999)}}, nil); err != nil {
		t.Fatal(err)
	}
	x := next(t, s)
	if len(x.Content.Request) < 9999 || !strings.HasSuffix(x.Content.Request, "}") || !slices.Equal(x.Content.Metadata, []admin.Pair{{Key: "tenant", Value: "acme"}, {Key: "api-token", Value: "***"}}) {
		t.Errorf("%+v", x)
	}
}

func tapError(_ *weft.Stream[admin.TappedCall, admin.TapRequest], err error) error { return err }

func TestTapOfBodiesNeedsPermission(t *testing.T) {
	r := start(t, nil, nil)
	err := tapError(r.admin("").Tap(t.Context(), &admin.TapRequest{Bodies: true}))
	isError(t, err, weft.PermissionDenied)
	isError(t, tapError(r.admin("").Tap(t.Context(), &admin.TapRequest{Metadata: []string{"tenant"}})), weft.PermissionDenied)

	hide := func(method, path string) bool { return method == "Arith.Mul" && path == "Card.Number" }
	r = start(t, nil, &admin.Config{Bodies: true, Mask: hide})
	s, err := r.admin("").Tap(t.Context(), &admin.TapRequest{Bodies: true, Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.dial("", nil).Call(t.Context(), "Arith.Mul", &Args{Card: Card{Number: strings.Repeat("4", 9999), Password: strings.Repeat("p", 9999)}}, nil); err != nil {
		t.Fatal(err)
	}
	if x := next(t, s); !strings.HasPrefix(x.Content.Request, `{"A":0,"B":0,"Card":{"Number":"***","Password":"ppp`) || len(x.Content.Request) > 5000 {
		t.Errorf("%+v", x)
	}
}

func TestTapsAreBounded(t *testing.T) {
	r := start(t, nil, &admin.Config{MaxStreams: 2})
	a := r.admin("")
	ctx := t.Context()
	tap, err := a.Tap(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	watch, err := a.Watch(ctx, &admin.WatchRequest{Interval: 60})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	isError(t, tapError(a.Tap(ctx, nil)), weft.ResourceExhausted)
	tap.Close()
	polltest.True(t, 30*time.Second, "the place is free again", func() bool {
		again, err := a.Tap(ctx, nil)
		if err == nil {
			again.Close()
		}
		return err == nil
	})
	watch.Close()
}

// A tap that is not read holds nothing up: what does not fit its queue is counted.
func TestTapThatIsNotRead(t *testing.T) {
	r := start(t, nil, &admin.Config{Bodies: true})
	// A small window, so that the server cannot send much ahead.
	reader := r.dial("", &weft.ClientConfig{Limits: weft.Limits{StreamWindow: 1 << 10}})
	ctx := t.Context()
	s, err := admin.NewClient(reader, nil).Tap(ctx, &admin.TapRequest{Bodies: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const calls = 800
	var wg sync.WaitGroup
	for range 4 {
		c := r.dial("", nil)
		wg.Go(func() {
			for range calls / 4 {
				if err := c.Call(ctx, "Arith.Mul", &Args{Card: Card{Number: strings.Repeat("4", 500)}}, nil); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	// More calls follow, so that the number of those that were dropped is told.
	c := r.dial("", nil)
	shown, dropped := 0, 0
	for dropped == 0 || shown+dropped < calls {
		if err := c.Call(ctx, "Arith.Mul", &Args{}, nil); err != nil {
			t.Fatal(err)
		}
		x := next(t, s)
		shown++
		dropped += int(x.Dropped)
	}
	if shown > calls {
		t.Errorf("%d shown, %d dropped", shown, dropped)
	}
}

func TestTapSamples(t *testing.T) {
	r := start(t, nil, nil)
	c, a := r.dial("", nil), r.admin("")
	ctx := t.Context()
	s, err := a.Tap(ctx, &admin.TapRequest{OneIn: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// Ninety of them are shown, more or less, which its queue holds however late they are received.
	for range 900 {
		if err := c.Call(ctx, "Arith.Mul", &Args{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		if x := next(t, s); x.Dropped != 0 {
			t.Errorf("%+v", x)
		}
	}

	limited, err := a.Tap(ctx, &admin.TapRequest{PerSecond: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer limited.Close()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { // it ends with ctx
		defer close(ended)
		for c.Call(ctx, "Arith.Mul", &Args{}, nil) == nil {
		}
	}()
	// No call may come between the last one of a second and the first one of the next, but not for ten seconds.
	dropped := uint64(0)
	for n := 0; n < 10 && dropped == 0; n++ {
		dropped += next(t, limited).Dropped
	}
	cancel()
	if <-ended; dropped == 0 {
		t.Error("of calls without a pause none was dropped by a tap of one in a second")
	}
}

// Taps and watches open and close while calls go on.
func TestConcurrency(t *testing.T) {
	r := start(t, nil, &admin.Config{Bodies: true})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	stop := make(chan struct{})
	var calls, wg sync.WaitGroup
	for range 2 {
		c := r.dial("", nil)
		calls.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := c.Call(ctx, "Arith.Mul", &Args{A: 1, B: 2}, nil); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	a := r.admin("")
	for range 3 {
		wg.Go(func() {
			for range 10 {
				s, err := a.Tap(ctx, &admin.TapRequest{Bodies: true, Count: 3})
				if err != nil {
					t.Error(err)
					return
				}
				for x, err := range s.All() {
					if err != nil || x.Method != "Arith.Mul" {
						t.Errorf("%+v, %v", x, err)
					}
				}
			}
		})
	}
	wg.Go(func() {
		w, err := a.Watch(ctx, &admin.WatchRequest{Interval: 0.1, Count: 3, Stats: admin.StatsRequest{Buckets: true}})
		if err != nil {
			t.Error(err)
			return
		}
		var before *admin.MethodStats
		for st, err := range w.All() {
			if err != nil {
				t.Error(err)
				return
			}
			now := methodOf(st, "Arith.Mul")
			if now == nil {
				continue
			}
			if d := now.Since(before); d.Calls > now.Calls {
				t.Errorf("%+v", d)
			}
			before = now
		}
	})
	wg.Go(func() {
		for range 20 {
			for _, err := range []error{
				second(a.Stats(ctx, nil)), second(a.Calls(ctx, nil)), second(a.Connections(ctx, nil)), second(a.Limits(ctx, nil)), second(a.Config(ctx, nil)),
			} {
				if err != nil {
					t.Error(err)
				}
			}
		}
	})
	wg.Wait()
	close(stop)
	calls.Wait()
}

func second[T any](_ T, err error) error { return err }

func TestWatchRefusesShortIntervals(t *testing.T) {
	w, err := start(t, nil, nil).admin("").Watch(t.Context(), &admin.WatchRequest{Interval: 0.01})
	if err == nil {
		_, err = w.Recv()
	}
	isError(t, err, weft.InvalidArgument)
}

// caller is a weft.Caller without streams.
type caller struct{ weft.Caller }

func TestStreamsNeedAStreamCaller(t *testing.T) {
	r := start(t, nil, nil)
	a := admin.NewClient(caller{r.dial("", nil)}, nil)
	if _, err := a.Stats(t.Context(), nil); err != nil {
		t.Error(err)
	}
	isError(t, tapError(a.Tap(t.Context(), nil)), weft.Unimplemented)
}
