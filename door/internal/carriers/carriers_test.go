package carriers_test

import (
	"context"
	"io"
	"net"
	nethttp "net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/carriers"
	"github.com/weftrpc/weft/internal/polltest"
)

// server is one of net/http whose connections a test can close.
type server struct {
	addr string
	mu   sync.Mutex
	all  []net.Conn
}

func start(t *testing.T) *server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{addr: l.Addr().String()}
	srv := &nethttp.Server{
		Handler: nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) { io.Copy(w, r.Body) }),
		ConnState: func(c net.Conn, state nethttp.ConnState) {
			if state == nethttp.StateNew {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.all = append(s.all, c)
			}
		},
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	t.Cleanup(func() {
		srv.Close()
		<-served
	})
	return s
}

// close closes the connection that was made as the nth one.
func (s *server) close(t *testing.T, n int) {
	t.Helper()
	polltest.True(t, time.Minute, "the server has the connection", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.all) > n
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[n].Close()
}

func dial(t *testing.T, s *server) *carriers.Conns {
	t.Helper()
	c, err := carriers.Dial(t.Context(), weft.WireConfig{Address: s.addr, Limits: weft.Limits{MaxMessage: 1 << 20},
		Dial: func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", s.addr) },
	}, carriers.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestTakenAndClosed has the server close a connection that was taken for a call, as one that an ended stream leaves:
// the call is made on another connection.
func TestTakenAndClosed(t *testing.T) {
	s := start(t)
	c := dial(t, s)
	first, err := c.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second.Release()
	s.close(t, 0)
	polltest.True(t, time.Minute, "the client notices the end", func() bool { return first.Err() != nil })
	r, err := c.Post(t.Context(), "/", nethttp.Header{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Send(t.Context(), first, r, nil)
	if err != nil {
		t.Fatalf("the call: %v", err)
	}
	res.Body.Close()
}

// TestLastClosed: when no connection is left, a call that was not sent says so, and the wire's connection is at its end.
func TestLastClosed(t *testing.T) {
	s := start(t)
	c := dial(t, s)
	x, err := c.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.close(t, 0)
	<-c.Done()
	r, err := c.Post(t.Context(), "/", nethttp.Header{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Send(t.Context(), x, r, nil)
	if e, ok := err.(*weft.Error); !ok || e.Code != weft.Unavailable || e.Outcome != weft.NotSent {
		t.Errorf("the call: %v", err)
	}
}

// TestEndIsTold: a caller that is told why the connection has ended finds it ended, and makes its call on another one.
func TestEndIsTold(t *testing.T) {
	s := start(t)
	for range 100 {
		c := dial(t, s)
		go c.Close()
		for c.Err() == nil {
			runtime.Gosched()
		}
		select {
		case <-c.Done():
		default:
			t.Fatal("the connection has an error and has not ended")
		}
	}
}

// TestDialGivenUp: when a caller gives up the connection that it makes, another one, which waits for room, makes its own.
func TestDialGivenUp(t *testing.T) {
	s := start(t)
	dials, hangs := 0, make(chan struct{})
	c, err := carriers.Dial(t.Context(), weft.WireConfig{Address: s.addr, Limits: weft.Limits{MaxMessage: 1 << 20},
		Dial: func(ctx context.Context) (net.Conn, error) {
			if dials++; dials == 2 {
				close(hangs)
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return new(net.Dialer).DialContext(ctx, "tcp", s.addr)
		},
	}, carriers.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	busy, err := c.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Release()
	ctx, cancel := context.WithCancel(t.Context())
	gave, got := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := c.Take(ctx)
		gave <- err
	}()
	<-hangs
	waits, giveUp := context.WithTimeout(t.Context(), time.Minute)
	defer giveUp()
	go func() {
		x, err := c.Take(waits)
		if err == nil {
			x.Release()
		}
		got <- err
	}()
	time.Sleep(10 * time.Millisecond) // until it waits; what is wanted does not depend on it
	cancel()
	if err := <-gave; weft.CodeOf(err) != weft.Canceled {
		t.Errorf("the caller that gave up got %v", err)
	}
	if err := <-got; err != nil {
		t.Errorf("the caller that waits: %v", err)
	}
}
