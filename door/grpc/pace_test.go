package grpc

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

// served is a server with the door, and a client of it by the wire.
func served(t *testing.T, register func(*weft.Server) error, around ...weft.UnaryInterceptor) *weft.Client {
	t.Helper()
	return servedBy(t, Door(nil), register, around...)
}

// servedBy is served with a door.
func servedBy(t *testing.T, d weft.Door, register func(*weft.Server) error, around ...weft.UnaryInterceptor) *weft.Client {
	t.Helper()
	return servedFor(t, d, &weft.ClientConfig{}, register, around...)
}

// servedFor is servedBy with a configuration of the client, which gets its wire and its logger. The server has the client's compressors.
func servedFor(t *testing.T, d weft.Door, cfg *weft.ClientConfig, register func(*weft.Server) error, around ...weft.UnaryInterceptor) *weft.Client {
	t.Helper()
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{d}, Interceptors: around, Compressors: cfg.Compressors, Logger: slog.New(slog.DiscardHandler)})
	if err := register(srv); err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) })
	cfg.Wires, cfg.Logger = []weft.Wire{Wire(nil)}, slog.New(slog.DiscardHandler)
	c, err := weft.Dial(t.Context(), "grpc://"+l.Addr().String(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		srv.Close()
		wg.Wait()
	})
	return c
}

// Pause is how long a handler takes.
type Pause struct {
	Number int64 `weft:"1"`
	Busy   int64 `weft:"2"` // microseconds
	Idle   int64 `weft:"3"` // milliseconds
}

// TestPaces calls a method that is fast, short or slow from call to call, so that its calls move between
// the goroutine that reads, workers with others and workers of their own: each is answered, once.
func TestPaces(t *testing.T) {
	c := served(t, func(srv *weft.Server) error {
		return weft.Handle(srv, "Test.Pause", func(_ context.Context, p *Pause) (*Pause, error) {
			for end := time.Now().Add(time.Duration(p.Busy) * time.Microsecond); time.Now().Before(end); {
			}
			time.Sleep(time.Duration(p.Idle) * time.Millisecond)
			return p, nil
		})
	})
	for _, busy := range []int64{0, 30, 0, 100} {
		var wg sync.WaitGroup
		for i := range int64(32) {
			wg.Go(func() {
				for n := range int64(60) {
					in := &Pause{Number: i*1000 + n, Busy: busy}
					if n == 40 && i%8 == 0 {
						in.Idle = 30
					}
					out, err := weft.Invoke[Pause](t.Context(), c, "Test.Pause", in)
					if err != nil || out.Number != in.Number {
						t.Errorf("call %d came back as %v, %v", in.Number, out, err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

// TestDetails sends an error with a reason, details and a time to try again.
func TestDetails(t *testing.T) {
	c := served(t, func(srv *weft.Server) error {
		return weft.Handle(srv, "Test.Fail", func(context.Context, *Pause) (*Pause, error) {
			return nil, weft.Errorf(weft.ResourceExhausted, "no more today, 明天").WithReason("QUOTA").With(&Pause{Number: 7}).
				WithDetail("other.Type", []byte("\x00value")).WithRetryAfter(1500 * time.Millisecond)
		})
	})
	err := c.Call(t.Context(), "Test.Fail", &Pause{}, nil)
	e, ok := err.(*weft.Error)
	if !ok || e.Code != weft.ResourceExhausted || e.Message != "no more today, 明天" || e.Reason != "QUOTA" || e.Outcome != weft.Executed {
		t.Fatalf("%+v", err)
	}
	if d, ok := e.RetryAfter(); !ok || d != 1500*time.Millisecond {
		t.Errorf("RetryAfter is %v, %v", d, ok)
	}
	if all := weft.Details[Pause](err); len(all) != 1 || all[0].Number != 7 {
		t.Errorf("details: %v", all)
	}
	if d := e.Details[1]; d.Type != "other.Type" || string(d.Value) != "\x00value" {
		t.Errorf("the second detail is %+v", d)
	}
}

// TestMetadata sends metadata both ways.
func TestMetadata(t *testing.T) {
	c := served(t, func(srv *weft.Server) error {
		return weft.Handle(srv, "Test.Echo", func(ctx context.Context, p *Pause) (*Pause, error) {
			m := weft.MetadataFrom(ctx)
			p.Number = int64(weft.AttemptFrom(ctx))
			return p, weft.SetReplyMetadata(ctx, "back", m.Get("there"), "raw-bin", m.Get("raw-bin"), "empty", "",
				"Grpc-Status", "5", "Content-Length", "3", "Weft-Outcome", outcomeRefused) // which stay here
		})
	})
	ctx := weft.WithMetadata(t.Context(), "there", "a value, with commas", "raw-bin", "\x00\xff,")
	var m weft.Metadata
	out := new(Pause)
	if err := c.Call(ctx, "Test.Echo", &Pause{}, out, weft.WithReplyMetadata(&m), weft.WithAttempt(3)); err != nil || out.Number != 3 {
		t.Fatal(out, err)
	}
	if m.Get("back") != "a value, with commas" || m.Get("raw-bin") != "\x00\xff," || m.Len() != 3 {
		t.Errorf("the reply has %v", m)
	}
	for _, pair := range [][2]string{{"k", "\n"}, {"a b", "v"}, {"grpc-x", "v"}, {"Grpc-X", "v"}, {"te", "v"}, {"TE", "v"}} {
		err := c.Call(weft.WithMetadata(t.Context(), pair[0], pair[1]), "Test.Echo", &Pause{}, nil)
		if e, ok := err.(*weft.Error); !ok || e.Code != weft.InvalidArgument || e.Outcome != weft.NotSent {
			t.Errorf("metadata %q: %v", pair, err)
		}
	}
}
