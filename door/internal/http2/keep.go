package http2

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/internal/session"
)

// keeping is what is known of the pings of a connection. All but read is guarded by the lock.
type keeping struct {
	read   atomic.Int64 // when something came last, on the clock of session.Nanos
	pinged int64        // when a ping was sent that was not answered; 0: none
	looked int64        // when keep ran last
	pings  map[uint64]chan struct{}
	ping   uint64 // the number of the last one
	keeper *time.Timer
}

// ReadAt is when something came last, on the clock of session.Nanos.
func (k *keeping) ReadAt() int64 { return k.read.Load() }

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
	c.gate.Rouse()
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

// keep sends a ping when the peer has been silent, and ends the connection when that brings no answer. The time by which keep comes late
// does not count as silence of the peer: the process was stopped or had no processor, and may have an answer to read.
func (c *Conn) keep() {
	now := session.Nanos()
	silent := now - c.read.Load()
	c.mu.Lock()
	if c.err != nil || c.dead {
		c.mu.Unlock()
		return
	}
	if c.pinged != 0 && silent < now-c.pinged {
		c.pinged = 0 // something has come since
	}
	if late := now - c.looked - int64(c.keepEvery()); c.pinged != 0 && late > 0 {
		c.pinged += late
	}
	c.looked = now
	limit := c.cfg.PingIdle
	if c.open.Len() > 0 {
		limit = c.cfg.PingInterval
	}
	switch {
	case c.pinged != 0 && now-c.pinged > int64(c.cfg.PingTimeout):
		c.mu.Unlock()
		c.Close(fmt.Errorf("the peer has not answered a ping for %v", c.cfg.PingTimeout))
		return
	case c.pinged == 0 && silent > int64(limit):
		c.pinged = now
		c.buf = append(appendFrame(c.buf, 8, typePing, 0, 0), number64(0)...)
	}
	c.keeper.Reset(c.keepEvery())
	wakeTurnsLocked(c) // other connections may have given memory back
	if silent > int64(c.keepEvery()) {
		c.trimLocked()
	}
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
