package weft_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/snappy"
)

// soak is a server, a client and what they do with each other.
type soak struct {
	t      *testing.T
	c      *weft.Client
	booked atomic.Int64 // notifications that were dealt with
	noted  atomic.Int64 // and that were made
}

func (s *soak) register(r weft.Registrar) error {
	return errors.Join(
		weft.HandleRaw(r, "Soak.Echo", func(_ context.Context, req, buf []byte) ([]byte, error) { return append(buf, req...), nil }),
		weft.Handle(r, "Soak.Mul", func(ctx context.Context, a *Args) (*Product, error) { return Arith{}.Mul(ctx, a) }),
		weft.Handle(r, "Soak.Slow", func(ctx context.Context, a *Args) (*Product, error) {
			select {
			case <-time.After(time.Duration(a.A) * time.Millisecond):
				return &Product{a.B}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}),
		weft.Handle(r, "Soak.Down", func(ctx context.Context, n *int) (*int, error) {
			if *n == 0 {
				return n, nil
			}
			below, err := weft.Invoke[int](ctx, weft.PeerFrom(ctx), "Soak.Down", *n-1)
			if err != nil {
				return nil, err
			}
			return ptr(*below + 1), nil
		}),
		weft.Handle(r, "Soak.Book", func(context.Context, *Args) (*Product, error) {
			s.booked.Add(1)
			return &Product{}, nil
		}),
		weft.HandleStream(r, "Soak.Stream", func(_ context.Context, st *weft.Stream[string, string]) error {
			for text, err := range st.All() {
				if err != nil {
					return err
				}
				if err := st.Send(text); err != nil {
					return err
				}
			}
			return nil
		}))
}

// The steps, each of which checks what comes of it.

func (s *soak) echo(ctx context.Context) error {
	body := bytes.Repeat([]byte{byte(rand.N(256))}, rand.N(1<<rand.N(18)+1))
	var reply []byte
	err := s.c.Call(ctx, "Soak.Echo", body, &reply, weft.WithCodec(raw.New()))
	if err == nil && !bytes.Equal(reply, body) {
		return fmt.Errorf("%d bytes came back as %d others", len(body), len(reply))
	}
	return err
}

func (s *soak) mul(ctx context.Context) error {
	a := Args{rand.N(1000), rand.N(1000)}
	p, err := weft.Invoke[Product](ctx, s.c, "Soak.Mul", &a, weft.WithCodec(json.New()))
	if err == nil && p.C != a.A*a.B {
		return fmt.Errorf("%v gave %v", a, p)
	}
	return err
}

func (s *soak) cancel(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(rand.N(3000))*time.Microsecond)
	defer cancel()
	a := Args{rand.N(4), rand.N(1000)}
	p, err := weft.Invoke[Product](ctx, s.c, "Soak.Slow", &a)
	if err == nil && p.C != a.B {
		return fmt.Errorf("%v gave %v", a, p)
	}
	if errors.Is(err, weft.DeadlineExceeded) {
		return nil
	}
	return err
}

func (s *soak) nest(ctx context.Context) error {
	depth := rand.N(8)
	n, err := weft.Invoke[int](ctx, s.c, "Soak.Down", depth)
	if err == nil && *n != depth {
		return fmt.Errorf("depth %d gave %d", depth, *n)
	}
	return err
}

func (s *soak) notify(ctx context.Context) error {
	s.noted.Add(1)
	return s.c.Notify(ctx, "Soak.Book", &Args{})
}

func (s *soak) fail(ctx context.Context) error {
	if err := s.c.Call(ctx, "Soak.Mul", "no numbers", nil); !errors.Is(err, weft.InvalidArgument) {
		return fmt.Errorf("a bad request gave %v", err)
	}
	return nil
}

func (s *soak) stream(ctx context.Context) error {
	st, err := weft.OpenStream[string, string](ctx, s.c, "Soak.Stream")
	if err != nil {
		return err
	}
	n := rand.N(100)
	sent := make(chan error, 1)
	go func() { // this goroutine ends when all is sent, or the stream is over
		for i := range n {
			text := fmt.Sprintf("%d %0*d", i, rand.N(1000)+1, 0)
			if err := st.Send(&text); err != nil {
				sent <- err
				return
			}
		}
		sent <- st.CloseSend()
	}()
	got := 0
	for text, err := range st.All() {
		if err != nil {
			return err
		}
		if want := fmt.Sprint(got, " "); len(*text) < len(want) || (*text)[:len(want)] != want {
			return fmt.Errorf("message %d is %.10q", got, *text)
		}
		if got++; got == 50 && rand.N(2) == 0 {
			st.Close()
			if err := <-sent; err != nil && !errors.Is(err, weft.Canceled) && err != io.EOF {
				return err
			}
			return nil
		}
	}
	if err := <-sent; err != nil || got != n {
		return fmt.Errorf("%d of %d messages came back, %w", got, n, err)
	}
	return nil
}

// Everything at once, on one connection whose bytes come in odd pieces: each call
// gets its own answer, and at the end nothing is left.
func TestEverythingAtOnce(t *testing.T) {
	s := &soak{t: t}
	comp := snappy.New()
	cfg := &weft.ServerConfig{Checksum: true, Compressor: comp, Compressors: []compress.Compressor{comp}}
	w := start(t, cfg, func(srv *weft.Server) error { return s.register(srv) })
	services := weft.NewServices()
	must(t, s.register(services))
	s.c = w.dial(&weft.ClientConfig{Services: services, MaxConns: 1, Checksum: true, Compressor: comp})
	conn := w.last.Load()

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	until := time.Now().Add(time.Second)
	var wg sync.WaitGroup
	for _, step := range []func(context.Context) error{s.echo, s.mul, s.cancel, s.nest, s.notify, s.fail, s.stream} {
		for range 4 {
			wg.Go(func() {
				for time.Now().Before(until) {
					if err := step(ctx); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	wg.Go(func() {
		for time.Now().Before(until) {
			conn.In().MaxRead(rand.N(1 << rand.N(16)))
			conn.Out().MaxRead(rand.N(1 << rand.N(16)))
			time.Sleep(time.Millisecond)
		}
		conn.In().MaxRead(0)
		conn.Out().MaxRead(0)
	})
	wg.Wait()
	if s.c.Peer() == nil || w.last.Load() != conn {
		t.Error("the connection was lost")
	}
	began := time.Now()
	must(t, s.c.Shutdown(ctx))
	must(t, w.srv.Shutdown(ctx))
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("the shutdown took %v: something was left", d)
	}
	if s.booked.Load() != s.noted.Load() || s.noted.Load() == 0 {
		t.Errorf("%d of %d notifications were dealt with", s.booked.Load(), s.noted.Load())
	}
}
