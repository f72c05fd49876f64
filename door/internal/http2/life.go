package http2

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/weftrpc/weft/internal/session"
)

// drainPing is the payload of the PING behind the first GOAWAY of a drain: its answer says
// that the client knows of it.
const drainPing = math.MaxUint64

// Drain lets the peer open no more streams, without losing one: it is told so first, and what
// it has opened until it knows is handled. The channel is closed when the last stream has
// ended. Drain may be called more than once.
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
	if c.open == 0 {
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

// Finish ends a drained connection: it has all that was appended written.
func (c *Conn) Finish() {
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
	first := c.gone == nil
	if first || g.Code != NoError {
		c.gone = g
	}
	var lost []*Stream
	if c.cfg.Client {
		for _, st := range c.allLocked() {
			if st.id > last {
				st.heard = true
				lost = append(lost, st)
			}
		}
		for _, st := range lost {
			c.dropLocked(st)
		}
		c.wakeWaitersLocked()
	}
	c.mu.Unlock()
	for _, st := range lost {
		c.handler.Closed(st, &Ending{Code: g.Code, Refused: true, Err: g})
	}
	if first && c.cfg.GoAway != nil {
		c.cfg.GoAway()
	}
	return nil
}

// Ping waits for the peer to answer a ping.
func (c *Conn) Ping(ctx context.Context) error {
	c.mu.Lock()
	if c.err != nil || c.dead {
		err := c.err
		c.mu.Unlock()
		if err == nil {
			err = fmt.Errorf("the connection is being closed")
		}
		return err
	}
	c.ping++
	n, answered := c.ping, make(chan struct{})
	if c.pings == nil {
		c.pings = make(map[uint64]chan struct{})
	}
	c.pings[n] = answered
	c.buf = append(appendFrame(c.buf, 8, typePing, 0, 0), number64(n)...)
	c.FlushSoonAndUnlock(false)
	select {
	case <-answered:
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.pings, n)
		c.mu.Unlock()
		return ctx.Err()
	}
	select {
	case <-c.done:
		return c.Err()
	default:
		return nil
	}
}

// keepEvery is how often the silence of the peer is looked at.
func (c *Conn) keepEvery() time.Duration {
	return max(min(c.cfg.PingInterval, c.cfg.PingIdle, c.cfg.PingTimeout)/4, time.Millisecond)
}

// keep sends a ping when the peer has been silent, and ends the connection when that brings
// no answer.
func (c *Conn) keep() {
	now := session.Nanos()
	silent := now - c.read.Load()
	c.mu.Lock()
	if c.err != nil || c.dead {
		c.mu.Unlock()
		return
	}
	limit := c.cfg.PingIdle
	if c.open > 0 {
		limit = c.cfg.PingInterval
	}
	switch {
	case c.pinged != 0 && silent < now-c.pinged:
		c.pinged = 0 // something has come since
	case c.pinged != 0 && now-c.pinged > int64(c.cfg.PingTimeout):
		c.mu.Unlock()
		c.Close(fmt.Errorf("the peer has not answered a ping for %v", c.cfg.PingTimeout))
		return
	case c.pinged == 0 && silent > int64(limit):
		c.pinged = now
		c.buf = append(appendFrame(c.buf, 8, typePing, 0, 0), number64(0)...)
	}
	c.keeper.Reset(c.keepEvery())
	if len(c.buf) > 0 && !c.busy {
		c.mu.Unlock()
		c.cfg.Go(func() { // the write may be held up
			c.mu.Lock()
			c.FlushAndUnlock(false)
		})
		return
	}
	c.mu.Unlock()
}
