package mem_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/mem"
	"github.com/weftrpc/weft/transport/transporttest"
)

func TestConformance(t *testing.T) {
	for _, addr := range []string{"", "orders", "127.0.0.1:8972"} {
		t.Run("addr="+addr, func(t *testing.T) {
			transporttest.Run(t, func(*testing.T) (transport.Transport, string) { return mem.New(), addr })
		})
	}
}

func TestNetworkErrors(t *testing.T) {
	ctx := t.Context()
	n := mem.New()
	if _, err := n.Dial(ctx, "orders"); !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), "orders") {
		t.Errorf("Dial without a listener: %v, want connection refused and the name", err)
	}
	l, err := n.Listen(ctx, "orders")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Listen(ctx, "orders"); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("second Listen: %v, want address in use", err)
	}
	if _, err := mem.New().Dial(ctx, "orders"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("Dial in another network: %v, want connection refused", err)
	}
	l.Close()
	l.Close()
	again, err := n.Listen(ctx, "orders")
	if err != nil {
		t.Errorf("Listen on a name that is free again: %v", err)
	}
	again.Close()
}

func TestChosenNamesDiffer(t *testing.T) {
	n := mem.New()
	taken, _ := n.Listen(t.Context(), "server-1")
	a, _ := n.Listen(t.Context(), "")
	b, _ := n.Listen(t.Context(), "")
	names := map[string]bool{taken.Addr().String(): true, a.Addr().String(): true, b.Addr().String(): true}
	if len(names) != 3 {
		t.Errorf("names of three listeners: %v", names)
	}
}

// Without Accept: connections queue up to a bound, then Dial waits for its context,
// and closing the listener refuses them all.
func TestBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := mem.New()
		l, err := n.Listen(t.Context(), "busy")
		if err != nil {
			t.Fatal(err)
		}
		var queued []net.Conn
		for {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			c, err := n.Dial(ctx, "busy")
			cancel()
			if err != nil {
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Dial to a full queue: %v, want its context's error", err)
				}
				break
			}
			queued = append(queued, c)
		}
		if len(queued) != 128 {
			t.Errorf("%d connections queued, want 128", len(queued))
		}
		waiting := make(chan error, 1)
		go func() {
			_, err := n.Dial(t.Context(), "busy")
			waiting <- err
		}()
		synctest.Wait()
		l.Close()
		if err := <-waiting; !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("Dial when its listener closed: %v, want connection refused", err)
		}
		for _, c := range queued {
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				t.Fatalf("Read of a connection that was not accepted: %v, want EOF", err)
			}
		}
	})
}

func TestIntercept(t *testing.T) {
	n := mem.New()
	l, err := n.Listen(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	n.Intercept(func(addr string, client, server *mem.Conn) error {
		if addr != "orders" || client.Out() != server.In() || client.In() != server.Out() {
			t.Errorf("Intercept got %q and two ends that do not match", addr)
		}
		client.Out().CutAfter(3)
		return nil
	})
	c, err := n.Dial(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := c.Write([]byte("hello")); n != 3 || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("Write = %d, %v, want 3 bytes and connection reset", n, err)
	}

	down := errors.New("the switch is off")
	n.Intercept(func(string, *mem.Conn, *mem.Conn) error { return down })
	if _, err := n.Dial(t.Context(), "orders"); !errors.Is(err, down) {
		t.Errorf("Dial: %v, want the error of Intercept", err)
	}

	n.Intercept(nil)
	if _, err := n.Dial(t.Context(), "orders"); err != nil {
		t.Errorf("Dial without Intercept: %v", err)
	}
}
