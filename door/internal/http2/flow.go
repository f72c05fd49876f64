package http2

import (
	"encoding/binary"
	"slices"

	"github.com/weftrpc/weft/door/internal/http2/internal/calm"
	"github.com/weftrpc/weft/door/internal/http2/internal/held"
)

// flow is what the peer lets this side send, and what it may send.
type flow struct {
	conn    int64     // what may be sent on all streams
	initial int64     // on a stream, at first
	streams int64     // how many streams this side may open
	header  int64     // bytes of the fields of a block that the peer takes, as the RFC counts them
	queue   []*Stream // those that wait for the window of the connection, in turn
	queued  int       // bytes that wait for windows
	apart   held.Held // those of messages of streams
	taken   int64     // bytes of DATA that came since the last update of the connection's window; of the goroutine that reads
	measure bool      // DATA was sent since the last PING came: the peer may measure the connection by one
	dropped int       // how many of queue were dropped while they waited
	waiters []*Stream // of a client, in order: those that wait to be opened

	admitted int // of a client: streams that wait no more and were not opened yet
}

// queueing says what a stream waits for.
type queueing uint8

const (
	waitsNot queueing = iota
	waitsConn
	waitsOwn

	minQueue = 32 // dropped streams may stay in the queue
)

// windowIn handles a WINDOW_UPDATE.
func (c *Conn) windowIn(id uint32, p []byte) error {
	if len(p) != 4 {
		return breach(FrameSizeError, "WINDOW_UPDATE of %d bytes", len(p))
	}
	n := int64(number31(p))
	c.mu.Lock()
	defer c.mu.Unlock()
	if id == 0 {
		if n == 0 {
			return breach(ProtocolError, "WINDOW_UPDATE of zero bytes")
		}
		closed := c.flow.conn <= 0
		if c.flow.conn += n; c.flow.conn > maxWin {
			return breach(FlowControlError, "the window of the connection is too large")
		}
		c.pumpLocked()
		if closed {
			wakeTurnsLocked(c)
		}
		return nil
	}
	st := c.open.Get(id)
	switch {
	case st == nil && (id > c.opened && id <= c.limit || id&1 == 0):
		return breach(ProtocolError, "WINDOW_UPDATE of stream %d, which was not opened", id)
	case st == nil:
		return nil
	case n == 0:
		return &streamError{id, ProtocolError, "WINDOW_UPDATE of zero bytes"}
	}
	if st.delta += n; c.initial+st.delta > maxWin {
		return &streamError{id, FlowControlError, "the window of the stream is too large"}
	}
	if st.queue == waitsOwn {
		c.enqueueLocked(st)
		c.pumpLocked()
	} else if st.queue == waitsNot {
		st.wakeLocked() // its next message may have its turn
	}
	return nil
}

func (c *Conn) enqueueLocked(st *Stream) {
	st.queue = waitsConn
	c.queue = append(c.queue, st)
}

// widenLocked has every stream look at its own window again, once for all that a SETTINGS frame has said of
// windows. A peer pays for it by how many streams there are.
func (c *Conn) widenLocked() error {
	for range min(c.open.Len()/16, calm.Burst/8) {
		if err := c.in.spend(); err != nil {
			return err
		}
	}
	for st := range c.open.All() {
		if c.initial+st.delta > maxWin {
			return breach(FlowControlError, "INITIAL_WINDOW_SIZE makes the window of stream %d too large", st.id)
		}
		if st.queue == waitsOwn {
			c.enqueueLocked(st)
		} else {
			st.wakeLocked() // its next message may have its turn
		}
	}
	return nil
}

// pumpLocked sends what waits as far as the windows allow, a frame of each stream in turn. What they allow at once may be more than is to wait to
// be written: the rest is sent when that was.
func (c *Conn) pumpLocked() {
	turn := 0
	for turn < len(c.queue) && c.flow.conn > 0 && len(c.buf) < c.cfg.WriteBuffer {
		st := c.queue[turn]
		c.queue[turn] = nil
		turn++
		if st.queue != waitsConn {
			c.dropped--
			continue
		}
		n := min(int64(len(st.rest)), maxFrame, c.flow.conn, c.initial+st.delta)
		if n <= 0 {
			st.queue = waitsOwn
			continue
		}
		whole := int(n) == len(st.rest)
		c.StartDataLocked(st, int(n), whole && st.last)
		c.buf = append(c.buf, st.rest[:n]...)
		st.rest = st.rest[n:]
		c.waitsLocked(st, -int(n))
		if !whole {
			c.queue = append(c.queue, st)
			continue
		}
		st.queue, st.rest = waitsNot, nil
		st.wakeLocked()
		c.endedLocked(st)
	}
	if turn > 0 {
		c.queue = slices.Delete(c.queue, 0, turn)
		c.room.Broadcast()
	}
	fitLocked(c)
}

// endedLocked is the end of what a stream had to send.
func (c *Conn) endedLocked(st *Stream) {
	if tail := st.tail; tail != nil {
		st.tail = nil
		tail()
	} else if st.last {
		c.SaidLocked(st)
	}
}

// FitsLocked reports whether n bytes of DATA may be sent on the stream at once.
func (f *flow) FitsLocked(st *Stream, n int) bool {
	return len(f.queue) == 0 && st.queue == waitsNot && n <= maxFrame && int64(n) <= f.conn && int64(n) <= f.initial+st.delta
}

// StartDataLocked appends the header of a DATA frame. The caller appends its n bytes, for
// which FitsLocked holds, and behind them calls SaidLocked if they end the stream.
func (c *Conn) StartDataLocked(st *Stream, n int, end bool) {
	var flags byte
	if end {
		flags = flagEndStream
	}
	c.buf = appendFrame(c.buf, n, typeData, flags, st.id)
	c.flow.sentLocked(st, n)
}

// PutDataLocked is StartDataLocked for n bytes that were appended already, behind room for the
// header of the frame at a place in the buffer.
func (c *Conn) PutDataLocked(st *Stream, at, n int, end bool) {
	var flags byte
	if end {
		flags = flagEndStream
	}
	appendFrame(c.buf[at:at], n, typeData, flags, st.id)
	c.flow.sentLocked(st, n)
	if end {
		c.SaidLocked(st)
	}
}

// sentLocked counts n bytes of DATA that are sent on a stream.
func (f *flow) sentLocked(st *Stream, n int) {
	f.conn -= int64(n)
	st.delta -= int64(n)
	f.measure = true
}

// MostHeaderLocked is how many bytes the fields of a header block may have for the peer, names and values and [FieldSize] for each.
func (f *flow) MostHeaderLocked() int64 { return f.header }

// FrameRoom is how many bytes the header of a frame takes.
const FrameRoom = headerSize

// QueueDataLocked has b sent as the windows allow; b then belongs to the connection. end ends
// the stream behind it; tail, if there is one, appends what ends it.
func (c *Conn) QueueDataLocked(st *Stream, b []byte, end bool, tail func()) {
	st.last, st.tail = end, tail
	if len(b) == 0 && st.queue == waitsNot {
		if end {
			c.StartDataLocked(st, 0, true)
		}
		c.endedLocked(st)
		return
	}
	c.waitsLocked(st, len(b))
	if st.queue != waitsNot {
		st.rest = append(st.rest, b...)
		return
	}
	st.rest = b
	c.enqueueLocked(st)
	c.pumpLocked()
}

// StreamsLocked is how many streams are open.
func (o *openStreams) StreamsLocked() int { return o.open.Len() }

// OpenLocked reports whether frames can still be sent on the stream.
func (c *Conn) OpenLocked(st *Stream) bool { return !st.over && !st.said && !c.dead }

// Give tells the peer that n bytes of a body were used up.
func (c *Conn) Give(st *Stream, n int) {
	c.mu.Lock()
	c.giveLocked(st, n)
	c.FlushAndUnlock(false)
}

// GiveLater is Give for the goroutine that reads: it flushes when it has handled what it has read.
func (c *Conn) GiveLater(st *Stream, n int) {
	c.mu.Lock()
	c.giveLocked(st, n)
	c.mu.Unlock()
}

func (c *Conn) giveLocked(st *Stream, n int) {
	if st.held += int64(n); st.held < int64(c.cfg.StreamWindow)/4 || st.heard || st.over {
		return
	}
	c.buf = appendWindow(c.buf, st.id, uint32(st.held))
	st.left += st.held
	st.held = 0
}

// SaidLocked notes that this side has ended the stream. When the peer has not, a server tells it that nothing more is read.
func (c *Conn) SaidLocked(st *Stream) {
	st.said = true
	switch {
	case st.heard:
		c.dropLocked(st)
	case !c.cfg.Client && !st.over:
		c.buf = appendReset(c.buf, st.id, NoError)
		c.dropLocked(st)
	}
}

// ResetLocked ends a stream at once, if it is open.
func (c *Conn) ResetLocked(st *Stream, code ErrCode) {
	if st.over || st.id == 0 {
		return
	}
	c.buf = appendReset(c.buf, st.id, code)
	c.dropLocked(st)
}

// dropLocked takes a stream out and drops what it had to send.
func (c *Conn) dropLocked(st *Stream) {
	if !c.takeLocked(st) {
		return
	}
	if st.queue != waitsNot {
		c.waitsLocked(st, -len(st.rest))
		if st.queue == waitsConn {
			c.dropped++
		}
		st.queue, st.rest, st.tail = waitsNot, nil, nil
		c.tidyLocked()
		fitLocked(c)
		c.room.Broadcast()
	}
	st.wakeLocked()
	c.admitLocked()
	if c.open.Len() == 0 && c.drained != nil {
		c.idleLocked()
	}
}

// tidyLocked takes dropped streams out of the queue when they are most of it: otherwise a peer that opens no window and resets one stream
// behind another would have the memory of all kept.
func (f *flow) tidyLocked() {
	if f.dropped <= len(f.queue)/2+minQueue {
		return
	}
	f.queue = slices.DeleteFunc(f.queue, func(st *Stream) bool { return st.queue != waitsConn })
	f.dropped = 0
}

// number64 is the payload of a PING.
func number64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
