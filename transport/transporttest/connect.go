package transporttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft/transport"
)

func checkScheme(t *testing.T, open Open) {
	tr, _ := open(t)
	if s := tr.Scheme(); s == "" || strings.ContainsAny(s, ":/ ") {
		t.Errorf("Scheme() = %q, want a word without ':', '/' and ' '", s)
	}
}

func checkEcho(t *testing.T, open Open) {
	client, server := pair(t, open)
	exchange(t, client, server, "weft")
	exchange(t, server, client, "warp")
	for _, c := range []net.Conn{client, server} {
		if c.LocalAddr() == nil || c.RemoteAddr() == nil {
			t.Errorf("addresses are %v and %v, want both", c.LocalAddr(), c.RemoteAddr())
		}
	}
}

// exchange sends s from one end to the other.
func exchange(t *testing.T, from, to net.Conn, s string) {
	t.Helper()
	got := make([]byte, len(s))
	err := soon(t, "an exchange", func() error {
		if _, err := io.WriteString(from, s); err != nil {
			return err
		}
		_, err := io.ReadFull(to, got)
		return err
	})
	if err != nil || string(got) != s {
		t.Fatalf("%q arrived as %q, error %v", s, got, err)
	}
}

func checkListenTwice(t *testing.T, open Open) {
	tr, l := listen(t, open)
	if second, err := tr.Listen(t.Context(), l.Addr().String()); err == nil {
		second.Close()
		t.Fatalf("a second Listen on %v succeeded", l.Addr())
	}
	// The attempt must not have harmed the first. It may have connected to it, to
	// see whether it lives.
	defer echo(l)()
	if err := call(t.Context(), tr, l.Addr().String(), "weft"); err != nil {
		t.Errorf("the first listener after a second Listen: %v", err)
	}
}

func checkContextAfter(t *testing.T, open Open) {
	tr, addr := open(t)
	listening, cancel := context.WithCancel(t.Context())
	defer cancel()
	l, err := tr.Listen(listening, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cancel()
	// tryConnect cancels the context it dials with before it returns.
	client, server := connect(t, tr, l)
	time.Sleep(10 * time.Millisecond) // for an implementation that watches a context
	exchange(t, client, server, "weft")
	exchange(t, server, client, "warp")
}

func checkNoListener(t *testing.T, open Open) {
	tr, l := listen(t, open)
	addr := l.Addr().String()
	l.Close()
	err := soon(t, "Dial", func() error {
		c, err := tr.Dial(t.Context(), addr)
		if err == nil {
			c.Close()
		}
		return err
	})
	if err == nil {
		t.Fatalf("Dial(%q) succeeded without a listener", addr)
	}
	if !strings.Contains(err.Error(), addr) {
		t.Errorf("error %q does not name the address %q", err, addr)
	}
}

func checkDialContext(t *testing.T, open Open) {
	tr, l := listen(t, open)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for _, ctx := range []context.Context{canceled, expired} {
		err := soon(t, "Dial", func() error {
			c, err := tr.Dial(ctx, l.Addr().String())
			if err == nil {
				c.Close()
			}
			return err
		})
		wantError(t, "Dial", err, ctx.Err())
	}
}

func checkCloseAccept(t *testing.T, open Open) {
	_, l := listen(t, open)
	waiting := make(chan error, 1)
	// Ends with the listener, at the latest in cleanup.
	go func() {
		_, err := l.Accept()
		waiting <- err
	}()
	time.Sleep(10 * time.Millisecond)
	l.Close()
	wantError(t, "Accept", soon(t, "Accept", func() error { return <-waiting }), net.ErrClosed)
	err := soon(t, "Accept after Close", func() error { _, err := l.Accept(); return err })
	wantError(t, "Accept after Close", err, net.ErrClosed)
}

func checkOutlive(t *testing.T, open Open) {
	tr, l := listen(t, open)
	client, server := connect(t, tr, l)
	l.Close()
	exchange(t, client, server, "weft")
	exchange(t, server, client, "warp")
}

func checkManyConns(t *testing.T, open Open) {
	const conns = 64
	tr, l := listen(t, open)
	defer echo(l)()
	var clients sync.WaitGroup
	failed := make(chan error, conns)
	for i := range conns {
		clients.Go(func() {
			message := strings.Repeat(fmt.Sprintf("connection %d ", i), 100)
			if err := call(t.Context(), tr, l.Addr().String(), message); err != nil {
				failed <- err
			}
		})
	}
	clients.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
}

// echo sends back whatever arrives at l until its result is called, which closes l.
func echo(l net.Listener) (stop func()) {
	var servers sync.WaitGroup
	servers.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			servers.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(patience))
				_, _ = io.Copy(c, c) // the client sees what is missing
			})
		}
	})
	return func() {
		l.Close()
		servers.Wait()
	}
}

// call dials a listener that echoes and checks what comes back.
func call(ctx context.Context, tr transport.Transport, addr, message string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := tr.Dial(ctx, addr)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, message); err != nil {
		return err
	}
	got := make([]byte, len(message))
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if string(got) != message {
		return errors.New("other bytes came back than were sent")
	}
	return nil
}
