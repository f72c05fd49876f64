//go:build unix

package adversary

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

// TestMisuse uses servers, clients, peers and streams in every order and from many goroutines at once: after
// they were closed, while they are closed, twice. The race detector watches; nothing
// panics, everything ends, and every error is an *Error.
func TestMisuse(t *testing.T) {
	end := time.Now().Add(*duration)
	for round := 0; round == 0 || time.Now().Before(end); round++ {
		misuse(t, uint64(round))
	}
}

func misuse(t *testing.T, seed uint64) {
	var peer atomic.Pointer[weft.Peer]
	srv := weft.NewServer(nil)
	services := weft.NewServices()
	for _, r := range []weft.Registrar{srv, services} {
		must(t, errors.Join(
			weft.Handle(r, "M.Echo", func(ctx context.Context, n *Number) (*Number, error) {
				peer.Store(weft.PeerFrom(ctx))
				return n, nil
			}),
			weft.HandleStream(r, "M.Chat", func(_ context.Context, s *weft.Stream[Number, Number]) error {
				for n, err := range s.All() {
					if err != nil {
						return err
					}
					if err := s.Send(n); err != nil {
						return err
					}
				}
				return nil
			})))
	}
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	var served sync.WaitGroup
	served.Go(func() { srv.Serve(l) })
	c, err := weft.Dial(t.Context(), "tcp://"+l.Addr().String(), quiet(&weft.ClientConfig{Services: services}))
	must(t, err)
	_, err = weft.Invoke[Number](t.Context(), c, "M.Echo", &Number{1})
	must(t, err)
	s, err := weft.OpenStream[Number, Number](t.Context(), c, "M.Chat")
	must(t, err)
	check := func(what int, err error) {
		ended := 10 <= what && what <= 12 && errors.Is(err, io.EOF)  // a message cannot be sent any more; Recv says why
		closed := what == 17 && errors.Is(err, weft.ErrServerClosed) // as Serve, Listen says so by this value
		if _, ok := errors.AsType[*weft.Error](err); err != nil && !ok && !ended && !closed {
			t.Errorf("step %d gave an error of type %T: %v", what, err, err)
		}
	}
	var users sync.WaitGroup
	for user := range uint64(8) {
		users.Go(func() {
			random := rand.New(rand.NewPCG(seed, user))
			for range 30 {
				began := time.Now()
				what := random.IntN(steps)
				err := abuse(t, what, func(n int) bool { return random.IntN(n) == 0 }, srv, c, peer.Load(), s, l)
				if took := time.Since(began); took > 15*time.Second {
					t.Errorf("step %d took %v", what, took)
				}
				check(what, err)
			}
		})
	}
	users.Wait()
	c.Close()
	srv.Close()
	served.Wait()
	for range 2 { // after everything was closed, and again
		for what := range steps {
			check(what, abuse(t, what, func(int) bool { return true }, srv, c, peer.Load(), s, l))
		}
		for {
			_, err := s.Recv()
			if err == nil { // it came before the end
				continue
			}
			if !errors.Is(err, io.EOF) {
				check(steps, err)
			}
			break
		}
	}
}

const steps = 24

// abuse is one step. rarely reports whether one that happens once in n times does.
func abuse(t *testing.T, what int, rarely func(n int) bool, srv *weft.Server, c *weft.Client, p *weft.Peer, s *weft.Stream[Number, Number], l net.Listener) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	switch what {
	case 0, 1, 2:
		_, err := weft.Invoke[Number](ctx, c, "M.Echo", &Number{2})
		return err
	case 3:
		return c.Notify(ctx, "M.Echo", &Number{3})
	case 4:
		call := <-c.Go(ctx, "M.Echo", &Number{4}, new(Number), make(chan *weft.Call, 1)).Done
		return call.Error
	case 5:
		_, err := weft.Invoke[Number](ctx, p, "M.Echo", &Number{5})
		return err
	case 6:
		return p.Notify(ctx, "M.Echo", &Number{6})
	case 7:
		return c.Call(ctx, "", nil, nil)
	case 8:
		cancel()
		return c.Call(ctx, "M.Echo", &Number{8}, new(Number))
	case 9:
		other, err := weft.OpenStream[Number, Number](ctx, c, "M.Chat")
		if err != nil {
			return err
		}
		other.Close()
		other.CloseSend()
		other.Close()
		return other.Send(&Number{9})
	case 10, 11, 12:
		return s.Send(&Number{10})
	case 13:
		return s.CloseSend()
	case 14:
		c.Stats()
		srv.Stats()
		p.Software()
		srv.Peers()
	case 15:
		return c.Ping(ctx)
	case 16:
		return weft.Handle(srv, "M.Echo", func(_ context.Context, n *Number) (*Number, error) { return n, nil })
	case 17:
		_, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
		return err
	case 18:
		if rarely(6) {
			p.Close()
		}
	case 19:
		if rarely(20) {
			return s.Close()
		}
	case 20:
		if rarely(30) {
			return c.Close()
		}
	case 21:
		if rarely(30) {
			return c.Shutdown(ctx)
		}
	case 22:
		if rarely(30) {
			return srv.Shutdown(ctx)
		}
	case 23:
		if rarely(30) {
			l.Close()
			return srv.Close()
		}
	}
	return nil
}
