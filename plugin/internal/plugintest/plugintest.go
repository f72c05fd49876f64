// Package plugintest is a server with methods to try plugins with, over weft's own wire and
// through one door.
package plugintest

import (
	"context"
	"errors"
	"log/slog"
	"net/rpc"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/door/netrpc"
	"github.com/weftrpc/weft/registry/static"
)

// The messages of the methods.
type (
	Args   struct{ A, B int }
	Result struct{ C int }
)

// Validate refuses what is above a thousand.
func (a *Args) Validate() error {
	if a.A > 1000 {
		return errors.New("a is above 1000")
	}
	return nil
}

// World is a server that serves for the time of a test.
type World struct {
	Server *weft.Server
	Addr   string // host and port
}

// Serve starts a server with the methods Arith.Mul, which is idempotent, Arith.Fail, which
// fails with the code A, Arith.Sleep, which takes A milliseconds, and Arith.Count, which
// sends the numbers below A. cfg may be nil.
func Serve(t testing.TB, cfg *weft.ServerConfig) *World {
	t.Helper()
	var c weft.ServerConfig
	if cfg != nil {
		c = *cfg
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Doors = append(c.Doors, netrpc.Door())
	srv := weft.NewServer(&c)
	err := errors.Join(
		weft.Handle(srv, "Arith.Mul", func(_ context.Context, a *Args) (*Result, error) { return &Result{a.A * a.B}, nil }, weft.Idempotent()),
		weft.Handle(srv, "Arith.Fail", func(_ context.Context, a *Args) (*Result, error) {
			return nil, weft.Errorf(weft.Code(a.A), "failed as asked")
		}),
		weft.Handle(srv, "Arith.Sleep", func(ctx context.Context, a *Args) (*Result, error) {
			timer := time.NewTimer(time.Duration(a.A) * time.Millisecond)
			defer timer.Stop()
			select {
			case <-timer.C:
				return &Result{a.A}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}),
		weft.HandleServerStream(srv, "Arith.Count", func(_ context.Context, a *Args, out *weft.Sender[Result]) error {
			for i := range a.A {
				if err := out.Send(&Result{i}); err != nil {
					return err
				}
			}
			return nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// It ends with the server.
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return &World{Server: srv, Addr: l.Addr().String()}
}

// Dial connects to the server over weft's own wire. cfg may be nil.
func (w *World) Dial(t testing.TB, cfg *weft.ClientConfig) *weft.Client {
	t.Helper()
	var c weft.ClientConfig
	if cfg != nil {
		c = *cfg
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	client, err := weft.Dial(t.Context(), "tcp://"+w.Addr, &c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// DialCluster makes a client of many servers, of which there is this one.
func (w *World) DialCluster(t testing.TB) *cluster.Client {
	t.Helper()
	reg, err := static.New("tcp://" + w.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reg.Close() })
	c, err := cluster.New(&cluster.Config{Registry: reg, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// DialDoor connects the client of net/rpc.
func (w *World) DialDoor(t testing.TB) *rpc.Client {
	t.Helper()
	c, err := rpc.Dial("tcp", w.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Count reads a stream of Arith.Count to its end, and returns how many messages came.
func Count(ctx context.Context, c weft.StreamCaller, n int) (got int, err error) {
	stream, err := weft.Subscribe[Result](ctx, c, "Arith.Count", &Args{A: n})
	if err != nil {
		return 0, err
	}
	for _, err := range stream.All() {
		if err != nil {
			return got, err
		}
		got++
	}
	return got, nil
}

// IsError checks the code and the outcome of an error.
func IsError(t testing.TB, err error, code weft.Code, outcome weft.Outcome) *weft.Error {
	t.Helper()
	e, ok := errors.AsType[*weft.Error](err)
	if !ok || e.Code != code || e.Outcome != outcome {
		t.Fatalf("the error is %v, want %v (%v)", err, code, outcome)
	}
	return e
}
