package tcp_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/weftrpc/weft/transport/tcp"
)

func TestSocketOptions(t *testing.T) {
	const userTimeout = 0x12
	type options struct{ noDelay, keepAlive, idle, interval, count, userTimeout int }
	for _, test := range []struct {
		timeout time.Duration
		want    options
	}{
		{0, options{1, 1, 9, 1, 6, 15_000}},
		{5 * time.Second, options{1, 1, 3, 1, 2, 5_000}},
		{time.Nanosecond, options{1, 1, 1, 1, 2, 1}},
		{24 * time.Hour, options{1, 1, 32767, 5760, 6, 86_400_000}},
		{-1, options{noDelay: 1}},
	} {
		client, server := connect(t, tcp.New(&tcp.Config{PeerTimeout: test.timeout}))
		for side, c := range map[string]*net.TCPConn{"dialed": client, "accepted": server} {
			got := options{
				noDelay:     option(t, c, syscall.IPPROTO_TCP, syscall.TCP_NODELAY),
				keepAlive:   option(t, c, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE),
				userTimeout: option(t, c, syscall.IPPROTO_TCP, userTimeout),
			}
			if got.keepAlive != 0 {
				got.idle = option(t, c, syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE)
				got.interval = option(t, c, syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL)
				got.count = option(t, c, syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT)
			}
			if got != test.want {
				t.Errorf("PeerTimeout %v, %s side: %+v, want %+v", test.timeout, side, got, test.want)
			}
		}
	}
}

// What the program sets on a socket itself holds, on both sides.
func TestControlComesLast(t *testing.T) {
	const idle = 77
	client, server := connect(t, tcp.New(&tcp.Config{Control: func(_, _ string, c syscall.RawConn) (err error) {
		if e := c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, idle)
		}); e != nil {
			return e
		}
		return err
	}}))
	for side, c := range map[string]*net.TCPConn{"dialed": client, "accepted": server} {
		if got := option(t, c, syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE); got != idle {
			t.Errorf("%s side: the first probe comes after %d s, want %d", side, got, idle)
		}
	}
}

func option(t *testing.T, c *net.TCPConn, level, name int) int {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var value int
	if e := raw.Control(func(fd uintptr) { value, err = syscall.GetsockoptInt(int(fd), level, name) }); e != nil || err != nil {
		t.Fatal(e, err)
	}
	return value
}

// A peer that takes no more bytes is given up after PeerTimeout. It is the effect of
// the option, on the same timer that a vanished peer runs into.
func TestStuckPeer(t *testing.T) {
	const timeout = 300 * time.Millisecond
	client, _ := connect(t, tcp.New(&tcp.Config{PeerTimeout: timeout}))
	client.SetWriteDeadline(time.Now().Add(20 * time.Second))
	start := time.Now()
	var err error
	for err == nil {
		_, err = client.Write(make([]byte, 1<<20)) // the server does not read
	}
	if !errors.Is(err, syscall.ETIMEDOUT) {
		t.Fatalf("Write to a stuck peer ended after %v with %v, want a timeout of the connection", time.Since(start), err)
	}
	if took := time.Since(start); took < timeout {
		t.Errorf("the connection failed after %v, before its PeerTimeout of %v", took, timeout)
	}
}

// A host that does not answer at all: when the queue of this listener is full, the
// system drops what else arrives. Dial ends when its context does.
func TestDialContextEndsConnect(t *testing.T) {
	addr := shortListener(t)
	for _, test := range []struct {
		name string
		ctx  func() (context.Context, context.CancelFunc)
		want error
	}{
		{"cancel", func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
			return ctx, cancel
		}, context.Canceled},
		{"deadline", func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 50*time.Millisecond)
		}, context.DeadlineExceeded},
	} {
		t.Run(test.name, func(t *testing.T) {
			for range 8 {
				start := time.Now()
				ctx, cancel := test.ctx()
				c, err := tcp.New(nil).Dial(ctx, addr)
				took := time.Since(start)
				cancel()
				if err == nil { // it has filled the queue
					t.Cleanup(func() { c.Close() })
					continue
				}
				if !errors.Is(err, test.want) {
					t.Errorf("Dial: %v, want %v", err, test.want)
				}
				// By itself the system gives up after the PeerTimeout, 15 s.
				if took < 40*time.Millisecond || took > 10*time.Second {
					t.Errorf("Dial returned after %v, want 50ms", took)
				}
				return
			}
			t.Fatal("the queue of a listener that never accepts does not fill up")
		})
	}
}

// shortListener returns the address of a listener that accepts none, and whose queue has room for few connections.
func shortListener(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
}
