package weft_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/internal/polltest"
)

func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil, nil)
		c := w.dial(nil)
		for range 5 {
			multiply(t, c)
		}
		wantError(t, c.Call(t.Context(), "Arith.Div", &Args{1, 0}, nil), weft.InvalidArgument, weft.Executed)
		wantError(t, c.Call(t.Context(), "Arith.Missing", &Args{}, nil), weft.Unimplemented, weft.Refused)
		wantError(t, c.Call(t.Context(), "Arith.Mul", "not the type", nil), weft.InvalidArgument, weft.Refused)
		synctest.Wait()

		s := w.srv.Stats()
		if len(s.Methods) != 2 || s.Methods[0].Method != "Arith.Div" || s.Methods[1].Method != "Arith.Mul" {
			t.Fatalf("methods: %+v", s.Methods)
		}
		if div := s.Methods[0]; div.Calls != 1 || div.Codes[weft.InvalidArgument] != 1 {
			t.Errorf("Arith.Div: %+v", div)
		}
		mul := s.Methods[1]
		if mul.Calls != 6 || len(mul.Codes) != 1 || mul.Codes[weft.InvalidArgument] != 1 || mul.Latency.Count == 0 {
			t.Errorf("Arith.Mul: %+v", mul)
		}
		if ok, failed := mul.Latencies[0].Count, mul.Latencies[weft.InvalidArgument].Count; failed != 1 || ok+failed != mul.Latency.Count {
			t.Errorf("Arith.Mul: %d durations of calls that went well, %d of others, %d of all", ok, failed, mul.Latency.Count)
		}
		if s.Connections != 1 || s.Accepted != 1 || s.Rejected != 0 || s.InFlight != 0 {
			t.Errorf("%+v", s)
		}
		if s.Refused[weft.ReasonNoMethod] != 1 || s.Refused[weft.ReasonDecode] != 1 || len(s.Refused) != 2 {
			t.Errorf("refused: %v", s.Refused)
		}

		k := c.Stats()
		if k.Connections != 1 || k.Connects != 1 || k.Failures != 0 || len(k.Methods) != 3 {
			t.Fatalf("%+v", k)
		}
		if m := k.Methods[2]; m.Method != "Arith.Mul" || m.Calls != 6 || m.Latency.Count != 6 {
			t.Errorf("%+v", m)
		}
		var n uint64
		for upper, count := range k.Methods[2].Latency.Buckets {
			if n += count; upper <= 0 {
				t.Errorf("a bucket ends at %v", upper)
			}
		}
		if n != 6 || k.Methods[2].Latency.Quantile(0.5) <= 0 {
			t.Errorf("%d durations in the buckets", n)
		}
	})
}

// A call whose handler panics counts with the time that it took.
func TestStatsTimePanics(t *testing.T) {
	const took = 50 * time.Millisecond
	w := start(t, nil, func(srv *weft.Server) error {
		return weft.Handle(srv, "Slow.Panic", func(context.Context, *Args) (*Product, error) {
			time.Sleep(took)
			panic("on purpose")
		})
	})
	c := w.dial(nil)
	wantError(t, c.Call(t.Context(), "Slow.Panic", &Args{}, nil), weft.Internal, weft.Executed, "panicked")
	if m := w.srv.Stats().Methods; len(m) != 1 || m[0].Latency.Count != 1 || m[0].Latency.Quantile(0.5) < took/2 {
		t.Errorf("a call that took %v counts as %+v", took, m)
	}
}

// A method that was removed and registered again is counted from where it was.
func TestStatsOutliveMethods(t *testing.T) {
	w := start(t, nil, nil)
	c := w.dial(nil)
	multiply(t, c)
	must(t, w.srv.Unregister("Arith"))
	must(t, w.srv.Register(Arith{}))
	multiply(t, c)
	var calls uint64
	for _, m := range w.srv.Stats().Methods {
		calls += m.Calls
	}
	if calls != 2 {
		t.Errorf("%d calls were counted, want 2", calls)
	}
}

func TestPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		w := start(t, &weft.ServerConfig{Interceptors: []weft.UnaryInterceptor{d.unary("s")}, Authenticate: guard}, nil)
		c := w.dial(&weft.ClientConfig{Interceptors: []weft.UnaryInterceptor{d.unary("c")}})
		for range 3 {
			must(t, c.Ping(t.Context()))
			time.Sleep(time.Second)
		}
		d.want(t) // no method was called
		must(t, c.Close())
		wantError(t, c.Ping(t.Context()), weft.Canceled, weft.NotSent, "the client is closed")
	})
}

// Streams are counted on both sides, with their code and how long they took.
func TestStatsOfStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil, func(s *weft.Server) error {
			return weft.HandleServerStream(s, "Clock.Tick", func(ctx context.Context, n *int, out *weft.Sender[int]) error {
				for i := range *n {
					select {
					case <-time.After(time.Second):
					case <-ctx.Done():
						return ctx.Err()
					}
					if err := out.Send(&i); err != nil {
						return err
					}
				}
				if *n == 0 {
					return weft.NotFound
				}
				return nil
			})
		})
		c := w.dial(nil)
		for _, n := range []int{3, 0} {
			s, err := weft.Subscribe[int](t.Context(), c, "Clock.Tick", &n)
			must(t, err)
			for range s.All() {
			}
		}
		s, err := weft.Subscribe[int](t.Context(), c, "Clock.Tick", ptr(1000)) // closed by its caller
		must(t, err)
		synctest.Wait() // a call that ends before its handler runs is counted as refused
		must(t, s.Close())
		ctx, cancel := context.WithCancel(t.Context())
		_, err = weft.Subscribe[int](ctx, c, "Clock.Tick", ptr(1000)) // abandoned
		must(t, err)
		synctest.Wait()
		cancel()
		synctest.Wait()
		want := map[weft.Code]uint64{weft.NotFound: 1, weft.Canceled: 2}
		for side, all := range map[string][]weft.MethodStats{"client": c.Stats().Methods, "server": w.srv.Stats().Methods} {
			if len(all) != 1 || all[0].Calls != 4 || !maps.Equal(all[0].Codes, want) {
				t.Errorf("%s: %+v, want 4 calls with the codes %v", side, all, want)
				continue
			}
			if l := all[0].Latency; l.Count != 4 || l.Quantile(1) < 3*time.Second || l.Quantile(1) > 5*time.Second {
				t.Errorf("%s: %d durations, the longest %v", side, l.Count, l.Quantile(1))
			}
		}
	})
}

// An argument that cannot be encoded is the caller's mistake, and nothing was sent.
func TestArgumentThatCannotBeEncoded(t *testing.T) {
	c := start(t, nil, nil).dial(nil)
	err := c.Call(t.Context(), "Arith.Mul", &struct{ C chan int }{make(chan int)}, nil)
	wantError(t, err, weft.InvalidArgument, weft.NotSent)
}

// The bodies of calls are counted as they are on the wire, on both sides.
func TestStatsOfBytes(t *testing.T) {
	const size, calls = 3000, 4
	w := start(t, &weft.ServerConfig{Compressors: []compress.Compressor{gzip.New()}}, func(s *weft.Server) error {
		return errors.Join(weft.HandleRaw(s, "Raw.Twice", func(_ context.Context, req, buf []byte) ([]byte, error) {
			if len(req) > 1<<20 {
				return nil, weft.Errorf(weft.ResourceExhausted, "too long")
			}
			return append(append(buf, req...), req...), nil
		}), weft.HandleStream(s, "Raw.Chat", func(_ context.Context, st *weft.Stream[[]byte, []byte]) error {
			for m, err := range st.All() {
				if err != nil {
					return err
				}
				if err := st.Send(m); err != nil {
					return err
				}
			}
			return nil
		}))
	})
	c := w.dial(&weft.ClientConfig{Codec: raw.New(), Compressors: []compress.Compressor{gzip.New()}})
	ctx := t.Context()
	body := bytes.Repeat([]byte("x"), size)
	call := func(body []byte, opts ...weft.CallOption) {
		t.Helper()
		var reply []byte
		if err := c.Call(ctx, "Raw.Twice", body, &reply, opts...); err != nil || len(reply) != 2*len(body) {
			t.Fatalf("%d bytes, %v", len(reply), err)
		}
	}
	check := func(method string, requests, replies uint64) {
		t.Helper()
		for side, stats := range map[string]func() []weft.MethodStats{
			"server": func() []weft.MethodStats { return w.srv.Stats().Methods }, "client": func() []weft.MethodStats { return c.Stats().Methods },
		} {
			// A server counts a call when its reply has been sent.
			polltest.Until(t, 20*time.Second, "the bytes of "+method+" on the "+side, func() error {
				for _, m := range stats() {
					if m.Method == method && m.RequestBytes == requests && m.ReplyBytes == replies {
						return nil
					}
				}
				return fmt.Errorf("%+v, want %d and %d bytes", stats(), requests, replies)
			})
		}
	}
	for range calls {
		call(body)
	}
	check("Raw.Twice", calls*size, 2*calls*size)
	long := make([]byte, 300<<10) // in many frames
	call(long)
	requests, replies := uint64(calls*size+len(long)), uint64(2*calls*size+2*len(long))
	check("Raw.Twice", requests, replies)
	must(t, c.Notify(ctx, "Raw.Twice", body))
	requests += size
	check("Raw.Twice", requests, replies)
	if err := c.Call(ctx, "Raw.Twice", make([]byte, 2<<20), nil); weft.CodeOf(err) != weft.ResourceExhausted {
		t.Errorf("a call that fails: %v", err)
	}
	requests += 2 << 20
	check("Raw.Twice", requests, replies)

	s, err := weft.OpenStream[[]byte, []byte](ctx, c, "Raw.Chat")
	must(t, err)
	for range calls {
		must(t, s.Send(&body))
	}
	must(t, s.CloseSend())
	for _, err := range s.All() {
		must(t, err)
	}
	check("Raw.Chat", calls*size, calls*size)

	// A compressed body counts as it travels.
	packed, err := gzip.New().Compress(nil, body)
	must(t, err)
	call(body, weft.WithCompressor(gzip.New()))
	requests += uint64(len(packed) + 1) // and the number of the compressor
	replies += 2 * size
	check("Raw.Twice", requests, replies)

	on, peer := c.Peer().Traffic(), w.srv.Peers()[0].Traffic()
	if on.Written < requests || on.Read < replies || peer.Read < requests || peer.Written < replies {
		t.Errorf("the connection has carried %+v of the client and %+v of the server, want more than %d and %d", on, peer, requests, replies)
	}
	must(t, c.Close())
	polltest.True(t, 20*time.Second, "the connection has ended", func() bool { return len(w.srv.Peers()) == 0 })
	if all := w.srv.Stats().Traffic; all.Read < peer.Read || all.Written < peer.Written {
		t.Errorf("after the end of the connection its server has %+v, before %+v", all, peer)
	}
}

// MethodBytes and Stats know each method that was called, the first one and the others, and no other.
func TestMethodBytesOfEachMethod(t *testing.T) {
	c := start(t, nil, nil).dial(nil)
	for range 2 {
		for _, method := range []string{"Arith.Mul", "Arith.Div"} {
			must(t, c.Call(t.Context(), method, &Args{8, 2}, &Product{}))
		}
	}
	for _, m := range c.Stats().Methods {
		requests, replies := c.MethodBytes(m.Method)
		if m.Calls != 2 || requests == 0 || requests != m.RequestBytes || replies != m.ReplyBytes {
			t.Errorf("%s: MethodBytes returned %d, %d, Stats %+v", m.Method, requests, replies, m)
		}
	}
	if n := len(c.Stats().Methods); n != 2 {
		t.Errorf("Stats has %d methods, want 2", n)
	}
	if requests, replies := c.MethodBytes("Arith.Add"); requests+replies != 0 {
		t.Errorf("a method that was not called has %d and %d bytes", requests, replies)
	}
}
