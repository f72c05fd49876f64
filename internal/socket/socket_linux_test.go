package socket

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// pair returns the two ends of a connection, the first of which is direct.
func pair(t *testing.T, network string) (*direct, net.Conn) {
	t.Helper()
	one, other := ends(t, network)
	c := newDirect(one)
	if c == nil {
		t.Fatalf("there is no direct connection for a %T", one)
	}
	return c, other
}

// TestTransfer sends more in both directions than a socket takes at once, to a peer that begins to read later.
func TestTransfer(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			c, peer := pair(t, network)
			sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
			var all sync.WaitGroup
			all.Go(func() {
				got := make([]byte, len(sent))
				if _, err := io.ReadFull(peer, got); err != nil || !bytes.Equal(got, sent) {
					t.Errorf("the peer has read something else: %v", err)
				}
				if _, err := peer.Write(got); err != nil {
					t.Error(err)
				}
				_ = peer.Close()
			})
			if n, err := c.Write(sent); n != len(sent) || err != nil {
				t.Errorf("Write returned %d, %v", n, err)
			}
			got, err := io.ReadAll(c)
			if err != nil || !bytes.Equal(got, sent) {
				t.Errorf("%d bytes were read, want %d: %v", len(got), len(sent), err)
			}
			all.Wait()
		})
	}
}

// TestHappensBefore passes a variable on with bytes, which the race detector sees as with other connections.
func TestHappensBefore(t *testing.T) {
	c, peer := pair(t, "tcp")
	var shared int
	var p [1]byte
	var all sync.WaitGroup
	all.Go(func() {
		shared = 1
		if _, err := peer.Write([]byte{0}); err != nil {
			t.Error(err)
		}
		if _, err := peer.Read(make([]byte, 1)); err != nil || shared != 2 {
			t.Errorf("%v; the peer has %d, want 2", err, shared)
		}
	})
	if _, err := c.Read(p[:]); err != nil || shared != 1 {
		t.Errorf("%v; this side has %d, want 1", err, shared)
	}
	shared = 2
	if _, err := c.Write(p[:]); err != nil {
		t.Error(err)
	}
	all.Wait()
}

// TestNothing reads and writes no bytes.
func TestNothing(t *testing.T) {
	c, _ := pair(t, "tcp")
	if n, err := c.Read(nil); n != 0 || err != nil {
		t.Errorf("Read returned %d, %v", n, err)
	}
	if n, err := c.Write(nil); n != 0 || err != nil {
		t.Errorf("Write returned %d, %v", n, err)
	}
}

// TestDeadlines lets both operations run out of time, and goes on behind that.
func TestDeadlines(t *testing.T) {
	c, peer := pair(t, "tcp")
	soon := time.Now().Add(20 * time.Millisecond)
	if err := c.SetDeadline(soon); err != nil {
		t.Fatal(err)
	}
	var one [1]byte
	if n, err := c.Read(one[:]); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) || !strings.HasPrefix(err.Error(), "read tcp 127.0.0.1:") {
		t.Errorf("Read returned %d, %v", n, err)
	}
	sent := make([]byte, 64<<20)
	n, err := c.Write(sent)
	if n >= len(sent) || !errors.Is(err, os.ErrDeadlineExceeded) || !strings.HasPrefix(err.Error(), "write tcp 127.0.0.1:") {
		t.Errorf("Write returned %d, %v", n, err)
	}
	if err := c.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		if got, err := io.Copy(io.Discard, io.LimitReader(peer, int64(n)+1)); got != int64(n)+1 {
			t.Errorf("the peer has read %d bytes, want %d: %v", got, n+1, err)
		}
		_, _ = peer.Write(one[:])
	})
	if n, err := c.Write(one[:]); n != 1 || err != nil {
		t.Errorf("Write returned %d, %v", n, err)
	}
	if n, err := c.Read(one[:]); n != 1 || err != nil {
		t.Errorf("Read returned %d, %v", n, err)
	}
	all.Wait()
}

// TestClose ends a Read that waits, and later operations.
func TestClose(t *testing.T) {
	c, _ := pair(t, "tcp")
	var all sync.WaitGroup
	all.Go(func() {
		if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, net.ErrClosed) {
			t.Errorf("Read returned %d, %v", n, err)
		}
	})
	_ = c.Close()
	if n, err := c.Write(make([]byte, 1)); n != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("Write returned %d, %v", n, err)
	}
	all.Wait()
}

// TestReset reads from and writes to a connection that its peer has reset.
func TestReset(t *testing.T) {
	c, peer := pair(t, "tcp")
	if err := peer.(*net.TCPConn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	_ = peer.Close()
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, syscall.ECONNRESET) || !strings.HasSuffix(err.Error(), "read: connection reset by peer") {
		t.Errorf("Read returned %d, %v", n, err)
	}
	if n, err := c.Write(make([]byte, 1)); n != 0 || !errors.Is(err, syscall.EPIPE) {
		t.Errorf("Write returned %d, %v", n, err)
	}
}

// TestOthers has no direct connection for what is no socket, and for a socket whose operations block.
func TestOthers(t *testing.T) {
	one, other := net.Pipe()
	_, _ = one.Close(), other.Close()
	if newDirect(one) != nil || newDirect(nil) != nil {
		t.Error("there is a direct connection for what is no socket")
	}
	c, _ := pair(t, "tcp")
	err := c.in.raw.Control(func(fd uintptr) {
		if err := syscall.SetNonblock(int(fd), false); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if newDirect(c.Conn) != nil {
		t.Error("there is a direct connection for a socket that blocks")
	}
	_ = c.Close()
	if newDirect(c.Conn) != nil {
		t.Error("there is a direct connection for a socket that was closed")
	}
}

// TestAllocations reads and writes without allocating.
func TestAllocations(t *testing.T) {
	c, peer := pair(t, "tcp")
	p := make([]byte, 8)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := c.Write(p); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(peer, p); err != nil {
			t.Fatal(err)
		}
		if _, err := peer.Write(p); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, p); err != nil {
			t.Fatal(err)
		}
	}); n >= 1 {
		t.Errorf("%v allocations", n)
	}
}
