package socket

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestAttempt writes to a peer that does not read, and to one that has gone.
func TestAttempt(t *testing.T) {
	var set atomic.Bool
	set.Store(true)
	for name, timer := range map[string]Timer{"tcp": nil, "unix": nil, "tcp, not told": While(&set), "unix, not told": While(&set), "tcp, no timer": While(new(atomic.Bool))} {
		t.Run(name, func(t *testing.T) {
			network, _, _ := strings.Cut(name, ",")
			conn, peer := ends(t, network)
			a := NewAttempt(conn)
			if a == nil {
				t.Fatalf("there is no Attempt for a %T", conn)
			}
			if timer != nil {
				a.While(timer)
			}
			if n, err := a.Write([]byte("all of it"), time.Time{}); n != 9 || err != nil {
				t.Fatalf("Write returned %d, %v", n, err)
			}
			large := bytes.Repeat([]byte("0123456789abcdef"), 4<<20)
			n, err := a.Write(large, time.Time{})
			if n == 0 || n == len(large) || err != nil {
				t.Fatalf("Write returned %d, %v, want a part of %d bytes", n, err, len(large))
			}
			first, sent := n, 9
			for sent += n; n > 0; sent += n { // the peer's buffer may have grown meanwhile
				if n, err = a.Write(large, time.Time{}); err != nil {
					t.Fatal(err)
				}
			}
			got := make([]byte, sent)
			if _, err := io.ReadFull(peer, got); err != nil || !bytes.Equal(got[9:9+first], large[:first]) {
				t.Errorf("something else was read: %v", err)
			}
			if n, err := a.Write([]byte("again"), time.Time{}); n != 5 || err != nil {
				t.Errorf("behind it Write returned %d, %v", n, err)
			}
			_ = conn.SetWriteDeadline(time.Unix(1, 0))
			if n, err := a.Write([]byte("late"), time.Time{}); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("behind the deadline Write returned %d, %v", n, err)
			}
			_ = conn.Close()
			if n, err := a.Write([]byte("closed"), time.Time{}); n != 0 || !errors.Is(err, net.ErrClosed) {
				t.Errorf("behind Close Write returned %d, %v", n, err)
			}
		})
	}
}

// TestAttemptOfOthers: of other connections it is not known what a write that has ended early has left.
func TestAttemptOfOthers(t *testing.T) {
	one, other := net.Pipe()
	defer one.Close()
	defer other.Close()
	if NewAttempt(one) != nil {
		t.Error("there is an Attempt for a pipe")
	}
}

// TestAttemptBlocks: the scheduler is told of a write of a socket that blocks.
func TestAttemptBlocks(t *testing.T) {
	conn, peer := ends(t, "tcp")
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) { err = syscall.SetNonblock(int(fd), false) }); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var set atomic.Bool
	set.Store(true)
	a := NewAttempt(conn)
	a.While(While(&set))
	if n, err := a.Write([]byte("x"), time.Time{}); n != 1 || err != nil || a.untold {
		t.Errorf("Write returned %d, %v, the scheduler was not told: %v", n, err, a.untold)
	}
	if _, err := io.ReadFull(peer, make([]byte, 1)); err != nil {
		t.Error(err)
	}
}
