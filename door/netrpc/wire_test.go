package netrpc_test

import (
	"context"
	"log/slog"
	"net"
	"net/rpc"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/netrpc"
)

// Slow is a service of a standard server.
type Slow struct{ entered, release chan struct{} }

// Wait waits until it is released.
func (s *Slow) Wait(_ int, _ *int) error {
	s.entered <- struct{}{}
	<-s.release
	return nil
}

// startSlow starts a standard server with a Slow.
func startSlow(t *testing.T) (*Slow, *weft.Client) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s := &Slow{make(chan struct{}, 4096), make(chan struct{})}
	srv := rpc.NewServer()
	must(t, srv.Register(s))
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { srv.ServeConn(conn) })
		}
	})
	c, err := weft.Dial(t.Context(), "netrpc://"+l.Addr().String(), &weft.ClientConfig{
		Wires: []weft.Wire{netrpc.Wire()}, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(func() {
		select {
		case <-s.release:
		default:
			close(s.release)
		}
		c.Close()
		l.Close()
		wg.Wait()
	})
	return s, c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestShutdownWaitsForOnewayCalls shuts a client down while the response to a one-way call is
// missing: a connection that is closed at once could lose the call.
func TestShutdownWaitsForOnewayCalls(t *testing.T) {
	s, c := startSlow(t)
	must(t, c.Notify(t.Context(), "Slow.Wait", 1))
	<-s.entered
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	shut := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() { shut <- c.Shutdown(ctx) })
	select {
	case err := <-shut:
		t.Fatalf("Shutdown returned with %v before the one-way call was acknowledged", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(s.release)
	must(t, <-shut)
	wg.Wait()
}

// TestOnewayCallsAreBounded makes one-way calls of a server that does not finish them.
func TestOnewayCallsAreBounded(t *testing.T) {
	s, c := startSlow(t)
	made := 0
	for ; made < 5000; made++ {
		if err := c.Notify(t.Context(), "Slow.Wait", 1, weft.WithTimeout(200*time.Millisecond)); err != nil {
			if weft.CodeOf(err) != weft.DeadlineExceeded {
				t.Error(err)
			}
			break
		}
	}
	if made == 5000 {
		t.Error("5000 one-way calls are under way")
	}
	close(s.release)
	must(t, c.Notify(t.Context(), "Slow.Wait", 1))
}
