package combine

import (
	"net"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/replay"
)

func TestMain(m *testing.M) { leak.Main(m) }

// writes is a connection that notes what is written at once.
type writes struct {
	net.Conn
	all []string
}

func (w *writes) Write(b []byte) (int, error) {
	w.all = append(w.all, string(b))
	return len(b), nil
}

func (w *writes) SetWriteDeadline(time.Time) error { return nil }

// TestAdd: what Add appends is written by a Flush, and beyond the room by itself.
func TestAdd(t *testing.T) {
	conn := &writes{}
	w := New(conn, 8, time.Minute, func(buf, message []byte) ([]byte, error) { return append(buf, message...), nil })
	for range 3 {
		if err := w.Add([]byte("ab"), []byte("cd")); err != nil {
			t.Fatal(err)
		}
	}
	if len(conn.all) != 0 || !w.Full() {
		t.Fatalf("%q was written, full: %v", conn.all, w.Full())
	}
	if err := w.Add([]byte("ef")); err != nil {
		t.Fatal(err)
	}
	w.Flush(false)
	w.Settle(nil)
	if len(conn.all) != 2 || conn.all[0] != "abcdabcdabcd" || conn.all[1] != "ef" {
		t.Errorf("%q was written", conn.all)
	}
	w.Close()
	if w.Flush(true); w.Add([]byte("x")) == nil || w.Full() {
		t.Error("something is taken after the end")
	}
}

// TestSendBehindAdd: a goroutine that sends does not wait for room that no other goroutine makes.
func TestSendBehindAdd(t *testing.T) {
	conn := &writes{}
	w := New(conn, 2, time.Minute, func(buf, message []byte) ([]byte, error) { return append(buf, message...), nil })
	if err := w.Add([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	if err := w.Send([]byte("d")); err != nil {
		t.Fatal(err)
	}
	if len(conn.all) != 2 || conn.all[0] != "abc" || conn.all[1] != "d" {
		t.Errorf("%q was written", conn.all)
	}
}

// ahead is a connection of which some bytes were read ahead.
type ahead struct{ net.Conn }

func (a ahead) WritesTo() net.Conn { return a.Conn }

// TestWritesTo: what differs from a connection only in reading does not hide it from a Writer, which need not start a goroutine for
// what the connection takes at once.
func TestWritesTo(t *testing.T) {
	conn := &writes{}
	for _, over := range []net.Conn{conn, replay.Conn(conn, []byte("read")), ahead{replay.Conn(conn, []byte("read"))}} {
		if w := New(over, 8, time.Minute, nil); w.conn != net.Conn(conn) {
			t.Errorf("a writer for a %T writes to a %T", over, w.conn)
		}
	}
}

// TestBufferIsKept: a connection of which a Writer cannot tell whether a write may go on after a timeout costs no new buffer for each
// Flush.
func TestBufferIsKept(t *testing.T) {
	w := New(&writes{}, 1<<20, time.Minute, func(buf, message []byte) ([]byte, error) { return append(buf, message...), nil })
	seen := make(map[*byte]bool)
	for range 8 {
		if err := w.Add([]byte("message")); err != nil {
			t.Fatal(err)
		}
		seen[&w.buf[0]] = true
		w.Flush(false)
		w.Settle(nil)
	}
	if len(seen) > 2 {
		t.Errorf("%d buffers were made for 8 writes, of which two overlap at most", len(seen))
	}
}
