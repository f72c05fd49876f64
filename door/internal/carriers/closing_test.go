package carriers_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/carriers"
	"github.com/weftrpc/weft/internal/polltest"
)

// closing is a server that has an answer and an end for each request of a connection, as a test wants them.
type closing struct {
	addr   string
	answer func(n int) (head string, last bool) // of the nth request of all; last: the connection is closed behind it
	n      atomic.Int64

	mu  sync.Mutex
	all []net.Conn
}

func startClosing(t *testing.T, answer func(n int) (string, bool)) *closing {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &closing{addr: l.Addr().String(), answer: answer}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.all = append(s.all, c)
			s.mu.Unlock()
			serving.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.closeAll()
		serving.Wait()
	})
	return s
}

func (s *closing) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		r, err := nethttp.ReadRequest(in)
		if err != nil {
			return
		}
		io.Copy(io.Discard, r.Body)
		head, last := s.answer(int(s.n.Add(1)))
		fmt.Fprintf(c, "%s\r\n\r\nok", head)
		if last {
			return
		}
	}
}

func (s *closing) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.all {
		c.Close()
	}
}

func (s *closing) dial(t *testing.T, most int) *carriers.Conns {
	t.Helper()
	c, err := carriers.Dial(t.Context(), weft.WireConfig{Address: s.addr, Limits: weft.Limits{MaxMessage: 1 << 20},
		Dial: func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", s.addr) },
	}, carriers.Options{MaxConns: most})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// call makes a call and reads its answer.
func call(ctx context.Context, c *carriers.Conns) error {
	r, err := c.Post(ctx, "/", nethttp.Header{})
	if err != nil {
		return err
	}
	res, err := c.Do(ctx, r, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && res.ContentLength != 0 && string(b) != "ok" {
		err = fmt.Errorf("the answer is %q", b)
	}
	return err
}

// The heads of answers.
const (
	keeps    = "HTTP/1.1 200 OK\r\nContent-Length: 2"
	closes   = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close"
	endless  = "HTTP/1.1 200 OK"
	old      = "HTTP/1.0 200 OK\r\nContent-Length: 2"
	oldKeeps = "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive"
)

// TestAnnouncedCloses has servers close connections behind their answers, each time, sometimes or never, which the answers
// announce. Callers, of which many wait for one connection, notice nothing of it.
func TestAnnouncedCloses(t *testing.T) {
	always := func(head string, last bool) func(int) (string, bool) {
		return func(int) (string, bool) { return head, last }
	}
	for name, answer := range map[string]func(int) (string, bool){
		"HTTP/1.1, each time":                 always(closes, true),
		"HTTP/1.1, each time, without length": always(endless, true),
		"HTTP/1.1, sometimes": func(n int) (string, bool) {
			if n%3 == 1 {
				return closes, true
			}
			return keeps, false
		},
		"HTTP/1.1, never":     always(keeps, false),
		"HTTP/1.0, each time": always(old, true),
		"HTTP/1.0, never":     always(oldKeeps, false),
	} {
		t.Run(name, func(t *testing.T) {
			c := startClosing(t, answer).dial(t, 1)
			var calls sync.WaitGroup
			for range 8 {
				calls.Go(func() {
					for range 10 {
						if err := call(t.Context(), c); err != nil {
							t.Errorf("a call: %v", err)
							return
						}
					}
				})
			}
			calls.Wait()
			if err := c.Err(); err != nil {
				t.Errorf("the connection has ended: %v", err)
			}
		})
	}
}

// TestCloseWithoutAnnouncement: a server that has closed one connection behind an answer, and said so, is lost all the
// same when it closes another one without a word, whatever the version of HTTP.
func TestCloseWithoutAnnouncement(t *testing.T) {
	for name, second := range map[string]string{"HTTP/1.1": keeps, "HTTP/1.0": oldKeeps} {
		t.Run(name, func(t *testing.T) {
			s := startClosing(t, func(n int) (string, bool) {
				if n == 1 {
					return old, true
				}
				return second, false
			})
			c := s.dial(t, 2)
			for range 2 {
				if err := call(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			s.closeAll()
			polltest.True(t, time.Minute, "the connection is at its end", func() bool { return c.Err() != nil })
		})
	}
}

// TestWaitsWhileLost: when the server closes the only connection without an answer to the call on it, a caller that waits
// for room makes another connection.
func TestWaitsWhileLost(t *testing.T) {
	s := start(t)
	c, err := carriers.Dial(t.Context(), weft.WireConfig{Address: s.addr, Limits: weft.Limits{MaxMessage: 1 << 20},
		Dial: func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", s.addr) },
	}, carriers.Options{MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	busy, err := c.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() { got <- call(t.Context(), c) }()
	polltest.True(t, time.Minute, "a caller waits", func() bool { return carriers.Waiting(c) == 1 })
	s.close(t, 0)
	if err := <-got; err != nil {
		t.Errorf("the caller that waits: %v", err)
	}
	if busy.Err() == nil {
		t.Error("the first connection has not ended")
	}
	busy.Release()
	s.close(t, 1)
	<-c.Done()
}
