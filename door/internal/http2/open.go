package http2

import (
	"context"
	"errors"
	"slices"

	"github.com/weftrpc/weft/door/internal/http2/internal/table"
)

// ErrNoMore is the error of a stream that a connection does not take.
var ErrNoMore = errors.New("http2: the connection takes no more streams")

// NewStreamLocked opens a stream of a client. It waits while as many are open as the server allows, and
// gives the lock back meanwhile. An error says that it was not opened.
func (c *Conn) NewStreamLocked(ctx context.Context, st *Stream) error {
	for waits := len(c.waiters) > 0; c.takesLocked() && (int64(c.open.Len()+c.admitted) >= c.streams || waits); waits = false {
		if err := c.awaitTurnLocked(ctx, st); err != nil {
			return err
		}
	}
	if !c.takesLocked() {
		return c.refusedLocked()
	}
	if c.opened == 0 {
		c.opened = 1
	} else {
		c.opened += 2
	}
	c.unreset++
	st.id, st.length, st.from = c.opened, -1, c.passedLocked()
	st.ahead = min(int64(c.cfg.StreamWindow), maxFrame)
	st.left = int64(c.cfg.StreamWindow) - st.ahead
	c.open.Put(st.id, st)
	if !st.Reads {
		c.gate.Rouse()
	}
	if c.opened == maxID { // after a thousand million calls, which a busy client makes in a day
		c.noMoreLocked()
	}
	return nil
}

func (c *Conn) takesLocked() bool {
	return c.err == nil && !c.dead && !c.closing && c.gone == nil && c.opened < maxID
}

func (c *Conn) refusedLocked() error {
	switch {
	case c.err != nil:
		return c.err
	case c.gone != nil:
		return c.gone
	}
	return ErrNoMore
}

// awaitTurnLocked waits until the server allows one more stream.
func (c *Conn) awaitTurnLocked(ctx context.Context, st *Stream) error {
	st.waiting = make(chan struct{})
	c.waiters = append(c.waiters, st)
	c.gate.Rouse()
	c.mu.Unlock()
	var ended error
	select {
	case <-st.waiting:
	case <-ctx.Done():
		ended = ctx.Err()
	}
	c.mu.Lock()
	if i := slices.Index(c.waiters, st); i >= 0 { // ctx has ended first
		c.waiters = slices.Delete(c.waiters, i, i+1)
		return ended
	}
	c.admitted--
	if ended != nil {
		c.admitLocked() // its turn is that of the next
	}
	return ended
}

// admitLocked lets those that wait open their streams, as far as the server allows.
func (c *Conn) admitLocked() {
	for len(c.waiters) > 0 && int64(c.open.Len()+c.admitted) < c.streams {
		next := c.waiters[0]
		c.waiters = slices.Delete(c.waiters, 0, 1)
		c.admitted++
		close(next.waiting)
	}
}

// noMoreLocked tells of the end of opening streams.
func (c *Conn) noMoreLocked() {
	c.wakeWaitersLocked()
	if !c.full && c.cfg.GoAway != nil {
		c.cfg.GoAway()
	}
	c.full = true
}

// wakeWaitersLocked lets all that wait see that the connection takes no more streams.
func (c *Conn) wakeWaitersLocked() {
	for _, st := range c.waiters {
		close(st.waiting)
	}
	c.admitted += len(c.waiters)
	c.waiters = nil
}

// wakeAllLocked lets every goroutine that waits see the end of the connection.
func (c *Conn) wakeAllLocked() {
	c.wakeWaitersLocked()
	c.room.Broadcast()
	for st := range c.open.All() {
		st.over = true
		st.wakeLocked()
	}
	c.open = table.Table[Stream]{}
	c.queue, c.queued, c.apart.Bytes = nil, 0, 0
	if c.drained != nil {
		select {
		case <-c.drained:
		default:
			close(c.drained)
		}
	}
}
