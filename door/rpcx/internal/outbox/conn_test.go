package outbox

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/replay"
)

// TestWritesTo: a connection that differs from another one only in reading does not hide it from an outbox, which tells by its
// type whether the goroutine that sends a message may write it.
func TestWritesTo(t *testing.T) {
	conn := &net.TCPConn{}
	for _, over := range []net.Conn{conn, replay.Conn(conn, []byte("read")), replay.Conn(replay.Conn(conn, []byte("read")), []byte("more"))} {
		if o := New(over, 8, time.Minute); o.conn != net.Conn(conn) {
			t.Errorf("an outbox of a %T writes to a %T", over, o.conn)
		}
	}
}

// writes is a connection that notes how much is written at once.
type writes struct {
	net.Conn
	sizes []int
}

func (w *writes) Write(b []byte) (int, error) {
	w.sizes = append(w.sizes, len(b))
	return len(b), nil
}

func (*writes) SetWriteDeadline(time.Time) error { return nil }

// crowd notes what it is told.
type crowd struct{ crowded bool }

func (c *crowd) Crowd()        { c.crowded = true }
func (c *crowd) Crowded() bool { return c.crowded }
func (c *crowd) Took()         {}
func (c *crowd) Clear()        { c.crowded = false }

// TestRest: what a connection did not take at once is written in pieces, each of which has the time of a write, and the
// connection is not crowded any more when it was written.
func TestRest(t *testing.T) {
	conn, c := &writes{}, &crowd{crowded: true}
	o := New(conn, 1<<10, time.Minute)
	o.Serve(func(int) {}, c, new(atomic.Bool))
	o.busy = true
	o.finish(make([]byte, 2*largeWrite+1))
	if len(conn.sizes) != 3 || conn.sizes[0] != largeWrite || c.crowded || o.busy {
		t.Errorf("%d were written at once, crowded: %v, busy: %v", conn.sizes, c.crowded, o.busy)
	}
}
