package delivered

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/polltest"
)

func TestMain(m *testing.M) { leak.Main(m) }

// counted is a connection that counts what is read from it.
type counted struct {
	net.Conn
	read *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read.Add(int64(n))
	return n, err
}

func (c counted) NetConn() net.Conn { return c.Conn }

// pair returns both ends of a connection of TCP.
func pair(t *testing.T) (a, b *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	from, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	to, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { from.Close(); to.Close() })
	return from.(*net.TCPConn), to.(*net.TCPConn)
}

// A peer that reads nothing and sends without an end keeps Await waiting, and reading with pauses.
func TestAwaitPauses(t *testing.T) {
	ours, theirs := pair(t)
	// More than the peer's system takes, and no more than this one holds.
	for _, err := range []error{theirs.SetReadBuffer(4 << 10), ours.SetWriteBuffer(256 << 10), ours.SetWriteDeadline(time.Now().Add(10 * time.Second))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, _ = ours.Write(make([]byte, 160<<10)) // it fails where this system holds less, which does as well
	if err := ours.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	flooded := make(chan struct{})
	go func() { // it ends with the connection
		defer close(flooded)
		for b := make([]byte, 1<<20); ; {
			if _, err := theirs.Write(b); err != nil {
				return
			}
		}
	}()
	var read atomic.Int64
	began := time.Now()
	awaited := make(chan struct{})
	go func() { // it ends with the connection
		defer close(awaited)
		Await(counted{ours, &read}, time.Second)
	}()
	polltest.True(t, time.Minute, "something is read", func() bool { return read.Load() > 0 })
	time.Sleep(200 * time.Millisecond)
	got, took := read.Load(), time.Since(began)
	select {
	case <-awaited:
		t.Error("Await returned though the peer has not acknowledged all")
	default:
	}
	if most := int64(took/pause+2) * (atOnce + 4<<10); got > most {
		t.Errorf("%d bytes were read in %v, at most %d may be", got, took, most)
	}
	ours.Close()
	<-awaited
	<-flooded
}

// Await returns when the peer's system has acknowledged all.
func TestAwaitReturns(t *testing.T) {
	ours, _ := pair(t)
	if _, err := ours.Write([]byte("all")); err != nil {
		t.Fatal(err)
	}
	if err := ours.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	Await(ours, time.Millisecond)
	if !Whole(ours) {
		t.Error("not all has arrived")
	}
}
