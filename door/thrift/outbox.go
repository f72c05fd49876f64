package thrift

import (
	"math"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/weftrpc/weft"
)

// outbox writes the replies of a connection, several in one write, and in the order of their calls where that is needed.
type outbox struct {
	conn    sink
	room    int           // bytes that may wait
	timeout time.Duration // of one write
	until   time.Time     // the deadline of writes that conn has; it belongs to the goroutine that writes

	mu      sync.Mutex
	changed sync.Cond // there is room, or an end
	buf     []byte    // waits to be written
	spare   []byte
	busy    bool // a goroutine writes
	err     error

	first, last *turn // of the replies that are to go out in order
	queued      int   // how many these are
	spareTurn   *turn // nothing refers to it; nil: there is none
	tally

	open     int // calls that have come and were not answered
	draining bool
	idle     chan struct{} // closed when the connection drains and no call is open
	empty    chan struct{} // closed when no call is open, for settle
}

// tally is what the server is told of the memory of an outbox.
type tally struct {
	hold    func(n int)       // counts bytes for the server
	crowd   *weft.DoorReplies // is told whether the peer reads; nil: over HTTP
	kept    int               // bytes of the replies that wait for their turn
	waiting int               // bytes of the replies whose turn it is and that wait for room
	writing int               // room of the buffer that is being written
	counted int               // bytes that hold was told of
}

// turn is the place of a reply among those that go out in order. It outlives its call, of whose request nothing is kept then.
type turn struct {
	next  *turn
	done  bool          // the call has ended before its turn
	reply []byte        // what is sent then
	taken bool          // the call has taken a turn of the replies of the connection, which is given back when the reply has been appended to outbox.buf
	first chan struct{} // closed when it comes; nil: the call does not wait
}

func newOutbox(conn sink, room int, timeout time.Duration, hold func(n int), crowd *weft.DoorReplies) *outbox {
	timeout = min(timeout, math.MaxInt64/2) // a quarter more is a time.Duration too
	o := &outbox{conn: conn, room: room, timeout: timeout, tally: tally{hold: hold, crowd: crowd}, idle: make(chan struct{})}
	o.changed.L = &o.mu
	return o
}

// state is what a call finds that has come in.
type state struct {
	draining bool // the server shuts down
	queued   int  // calls whose replies are to go out in order
}

// enter counts a call.
func (o *outbox) enter(x *call) state {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open++
	if !x.unordered {
		if x.turn = o.spareTurn; x.turn == nil {
			x.turn = &turn{}
		}
		o.spareTurn = nil
		o.queued++
		if o.last == nil {
			o.first = x.turn
		} else {
			o.last.next = x.turn
		}
		o.last = x.turn
	}
	return state{o.draining, o.queued}
}

// await returns what is closed when the turn of a call comes; nil: it has come, or nothing can be sent, and over is true.
func (o *outbox) await(t *turn) (first <-chan struct{}, over bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil || t == o.first {
		return nil, o.err != nil
	}
	t.first = make(chan struct{})
	return t.first, false
}

// ended reports whether nothing can be sent.
func (o *outbox) ended() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err != nil
}

// deliver sends the reply of a call, when it is its turn. The reply is kept until then.
func (o *outbox) deliver(x *call, reply *tools) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer x.s.door.putTools(reply)
	defer o.countLocked()
	if t := x.turn; t != nil && t != o.first {
		t.reply, t.done = reply.take(), true
		o.kept += cap(t.reply)
		return
	}
	o.waiting += cap(reply.w.Buf)
	o.countLocked()
	o.appendLocked(reply.w.Buf, !x.dropped)
	o.waiting -= cap(reply.w.Buf)
	if x.turn != nil {
		o.popLocked()
		for o.first != nil && o.first.done {
			reply := o.first.reply
			o.appendLocked(reply, true)
			o.first.reply = nil
			o.kept -= cap(reply)
			o.popLocked()
		}
		o.changed.Broadcast()
	}
	if !x.later && !o.busy && o.err == nil {
		o.busy = true
		o.flushLocked(o.open > 0)
		o.busy = false
	}
}

// popLocked takes the first call out.
func (o *outbox) popLocked() {
	t := o.first
	if o.first = t.next; o.first == nil {
		o.last = nil
	} else if c := o.first.first; c != nil {
		o.first.first = nil
		close(c)
	}
	o.queued--
	if t.taken {
		o.crowd.GiveTurn()
	}
	*t = turn{}
	o.spareTurn = t
}

// appendLocked appends a reply, and waits for room before if wait is true, which releases the lock. The call is no longer open.
func (o *outbox) appendLocked(reply []byte, wait bool) {
	for wait && o.err == nil && len(o.buf) > o.room {
		if o.busy {
			o.changed.Wait()
			continue
		}
		o.busy = true
		o.flushLocked(false)
		o.busy = false
	}
	if o.err == nil {
		o.buf = append(o.buf, reply...)
		if o.crowd != nil && len(o.buf) > o.room {
			o.crowd.Crowd()
		}
	}
	o.leaveLocked()
}

// leave counts a call that gets no answer as ended.
func (o *outbox) leave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.leaveLocked()
}

func (o *outbox) leaveLocked() {
	if o.open--; o.open > 0 {
		return
	}
	if o.draining {
		o.idleLocked()
	}
	if o.empty != nil {
		close(o.empty)
		o.empty = nil
	}
}

func (o *outbox) idleLocked() {
	select {
	case <-o.idle:
	default:
		close(o.idle)
	}
}

// lose takes an ordered call out whose reply cannot be sent, since the connection has ended.
func (o *outbox) lose(x *call) {
	t := x.s.door.getTools()
	t.w.Buf = t.w.Buf[:0]
	o.deliver(x, t)
}

// waits reports whether replies wait to be written and nothing writes.
func (o *outbox) waits() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.buf) > 0 && !o.busy && o.err == nil
}

// flush writes what waits, if nothing writes already.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.busy && o.err == nil {
		o.busy = true
		o.flushLocked(false)
		o.busy = false
	}
}

// flushLocked writes until nothing waits. It gives the lock back while it writes. The caller has set busy.
func (o *outbox) flushLocked(others bool) {
	for len(o.buf) > 0 && o.err == nil {
		if others {
			// Goroutines that are about to send join this write.
			o.mu.Unlock()
			runtime.Gosched()
			o.mu.Lock()
			others = false
		}
		buf := o.buf
		o.buf, o.spare, o.writing = o.spare[:0], nil, cap(buf)
		o.countLocked()
		o.mu.Unlock()
		err := o.write(buf)
		o.mu.Lock()
		o.writing = 0
		o.countLocked()
		if o.crowd != nil && o.crowd.Crowded() && len(o.buf) <= o.room/4 {
			o.crowd.Clear()
		}
		if err != nil && o.err == nil {
			o.err = err
			o.conn.Close()
		}
		if cap(buf) <= kept {
			o.spare = buf[:0]
		}
		o.changed.Broadcast()
	}
}

// largeWrite is the most that is written at once: it must go out in the time of a write.
const largeWrite = 256 << 10

// write writes b in pieces, each of which has the time of a write, or a quarter more: the deadline is not set for
// each. Over HTTP it is one.
func (o *outbox) write(b []byte) error {
	piece := largeWrite
	if o.crowd == nil {
		piece = len(b)
	}
	for len(b) > 0 {
		if now := time.Now(); o.until.Sub(now) < o.timeout {
			o.until = now.Add(o.timeout + o.timeout/4)
			_ = o.conn.SetWriteDeadline(o.until) // an error is that of the write
		}
		n, err := o.conn.Write(b[:min(len(b), piece)])
		if n > 0 && o.crowd != nil && o.crowd.Crowded() {
			o.crowd.Took()
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// countLocked tells hold what memory what waits to be written takes, if that has changed much.
func (o *outbox) countLocked() {
	const much = 64 << 10
	now := o.writing + o.kept + o.waiting
	if len(o.buf) > 0 {
		now += cap(o.buf)
	}
	if d := now - o.counted; d > much || d < -much || now == 0 && d < 0 {
		o.counted = now
		o.hold(d)
	}
}

// drain refuses the calls that come from now on. The channel is closed when no call is open.
func (o *outbox) drain() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.draining = true
	if o.open == 0 {
		o.idleLocked()
	}
	return o.idle
}

// settle waits until no call is open.
func (o *outbox) settle(most time.Duration) {
	o.mu.Lock()
	if o.open == 0 {
		o.mu.Unlock()
		return
	}
	empty := make(chan struct{})
	o.empty = empty
	o.mu.Unlock()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-empty:
	case <-timer.C:
	}
}

// close ends the writing, when what waits has been written. Replies that still come are dropped.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && (o.busy || len(o.buf) > 0) {
		if o.busy {
			o.changed.Wait()
			continue
		}
		o.busy = true
		o.flushLocked(false)
		o.busy = false
	}
	if o.err == nil {
		o.err = net.ErrClosed
	}
	o.changed.Broadcast()
}
