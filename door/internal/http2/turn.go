package http2

import "context"

// maxEncoding is how many messages of streams are encoded without the lock, or wait to be queued, at a time.
const maxEncoding = 16

// A message of a stream waits for windows for as long as the peer does not read that stream. Such messages are counted apart (Stream.Apart), so
// that other streams and replies do not wait for them, and are bounded on their own: by Config.StreamBuffer for a stream whose window
// is open, and by Config.WriteBuffer otherwise, and while memory is scarce.

// waitsLocked counts n bytes more of a stream that wait for windows, or fewer.
func (c *Conn) waitsLocked(st *Stream, n int) {
	c.queued += n
	if st.Apart && c.apart.Add(n) {
		wakeTurnsLocked(c)
	}
}

// ApartLocked has the stream counted apart from now on, with what waits already.
func (c *Conn) ApartLocked(st *Stream) {
	st.Apart = true
	c.apart.Add(len(st.rest))
	c.room.Broadcast() // that has made room for replies
}

// turnLocked reports whether the next message of a stream, of n bytes or, if n is 0, of a length that is not known, may be encoded and
// queued: it can be sent at once, or it adds to what waits for windows as much as may.
func (f *flow) turnLocked(st *Stream, n int) bool {
	window := min(f.initial+st.delta, f.conn)
	return n > 0 && len(f.queue) == 0 && st.queue == waitsNot && int64(n) <= window || f.apart.Room(window > 0)
}

// AwaitTurnLocked waits until nothing of the stream waits for windows and its next message, of n bytes or, if n is 0, of a length that is not
// known, has its turn, and until so little is appended that more makes larger writes, or the stream or ctx has ended: then
// WakeLocked must be called. It gives the lock back meanwhile.
func (c *Conn) AwaitTurnLocked(ctx context.Context, st *Stream, n int) {
	for {
		c.AwaitSentLocked(ctx, st)
		c.awaitBelowLocked(ctx, min(largeWrite, c.cfg.WriteBuffer))
		if c.turnLocked(st, n) || st.endedLocked(c, ctx) {
			return
		}
		if !c.busy && len(c.buf) > 0 {
			c.FlushAndUnlock(false)
			c.mu.Lock()
			continue
		}
		if w := min(c.initial+st.delta, int64(n)); w == int64(n) && n > 0 && (c.least == 0 || w < c.least) {
			c.least = w
		}
		c.turns++
		st.awaitLocked(c)
		c.turns--
	}
}

// TakeTurnLocked is AwaitTurnLocked for a message that is encoded without the lock: few are at a time. When it was queued, Encoding.Give must
// be called.
func (c *Conn) TakeTurnLocked(ctx context.Context, st *Stream, n int) {
	for {
		c.AwaitTurnLocked(ctx, st, n)
		c.mu.Unlock()
		c.Encoding.Take(maxEncoding)
		c.mu.Lock()
		if c.turnLocked(st, n) || st.endedLocked(c, ctx) {
			return
		}
		c.Encoding.Give() // others have had their turns meanwhile
	}
}

// fitLocked wakes those whose messages the window of the connection kept from their turns, when it may do so no longer.
func fitLocked(c *Conn) {
	if c.least > 0 && len(c.queue) == 0 && c.least <= c.flow.conn {
		wakeTurnsLocked(c)
		c.least = 0 // those that wait on set it again
	}
}

// wakeTurnsLocked has the goroutines look again that wait in AwaitTurnLocked, where the windows of their streams may allow them their turns: a
// peer that opens the window of the connection byte by byte has not all of them woken each time.
func wakeTurnsLocked(c *Conn) {
	if c.turns == 0 {
		return
	}
	open, closed, fit := c.apart.Room(true), c.apart.Room(false), c.least > 0 && len(c.queue) == 0
	for st := range c.open.All() {
		window := min(c.initial+st.delta, c.flow.conn)
		if st.queue == waitsNot && (closed || open && window > 0 || fit && window >= c.least) {
			st.wakeLocked()
		}
	}
}
