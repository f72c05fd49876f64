package http2

import (
	"math"
	"time"
)

// drainPing is the payload of the PING behind the first GOAWAY of a drain: its answer says that the client knows of it.
const drainPing = math.MaxUint64

// Drain lets the peer open no more streams, without losing one: it is told so first, and what it has opened until it knows is handled. The
// channel is closed when the last stream has ended. Drain may be called more than once.
func (c *Conn) Drain() <-chan struct{} {
	c.mu.Lock()
	if c.drained == nil {
		c.drained = make(chan struct{})
		if !c.dead && !c.told {
			c.told = true
			c.buf = appendGoAway(c.buf, maxID, NoError, "")
			c.buf = append(appendFrame(c.buf, 8, typePing, 0, 0), number64(drainPing)...)
			// A client that does not answer is told all the same.
			c.goAwayLaterLocked()
		}
	}
	drained := c.drained
	c.FlushAndUnlock(false)
	return drained
}

// drainWait is how long the answer to the PING of a drain is waited for.
const drainWait = time.Second

// goAwayLaterLocked has the second GOAWAY sent when its time has come.
func (c *Conn) goAwayLaterLocked() {
	timer := time.AfterFunc(drainWait, func() {
		c.mu.Lock()
		c.lastGoAwayLocked()
		c.FlushAndUnlock(false)
	})
	// It ends with the connection.
	c.cfg.Go(func() {
		<-c.done
		timer.Stop()
	})
}

// lastGoAwayLocked says which streams will be handled: those that are there.
func (c *Conn) lastGoAwayLocked() {
	if c.drained == nil || c.limit != maxID || c.dead {
		return
	}
	c.limit = c.opened
	c.buf = appendGoAway(c.buf, c.opened, NoError, "")
	if c.open.Len() == 0 {
		c.idleLocked()
	}
}

// idleLocked ends a drain when no stream is open and none can come.
func (c *Conn) idleLocked() {
	if c.limit == maxID && !c.cfg.Client {
		return
	}
	select {
	case <-c.drained:
	default:
		close(c.drained)
	}
}

// Finish ends a drained connection: it has all that was appended written, and gives the client a moment to close the connection. Where this
// side closes it while the client sends something, a reset could overtake the last answers.
func (c *Conn) Finish() {
	flushed(c)
	timer := time.NewTimer(goodbye)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
	}
}

// flushed waits until all that was appended is written, or cannot be.
func flushed(c *Conn) {
	c.mu.Lock()
	for (c.busy || len(c.buf) > 0) && !c.dead {
		if !c.busy {
			c.FlushAndUnlock(false)
			c.mu.Lock()
			continue
		}
		c.room.Wait()
	}
	c.mu.Unlock()
}

// goAwayIn handles a GOAWAY.
func (c *Conn) goAwayIn(id uint32, p []byte) error {
	if id != 0 {
		return breach(ProtocolError, "GOAWAY of a stream")
	}
	if len(p) < 8 {
		return breach(FrameSizeError, "GOAWAY of %d bytes", len(p))
	}
	last := number31(p)
	g := &GoneAway{Code: ErrCode(uint32(p[4])<<24 | uint32(p[5])<<16 | uint32(p[6])<<8 | uint32(p[7])), Debug: string(p[8:min(len(p), 8+maxDebug)])}
	c.mu.Lock()
	if c.gone == nil || g.Code != NoError {
		c.gone = g
	}
	var lost []*Stream
	if c.cfg.Client {
		for st := range c.open.All() {
			if st.id > last {
				st.heard, c.in.last = true, nil
				lost = append(lost, st)
			}
		}
		for _, st := range lost {
			c.dropLocked(st)
		}
	}
	c.noMoreLocked()
	c.mu.Unlock()
	for _, st := range lost {
		c.handler.Closed(st, &Ending{Code: g.Code, Refused: true, Err: g})
	}
	return c.in.spend()
}
