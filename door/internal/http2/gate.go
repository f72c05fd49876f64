package http2

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/weftrpc/weft/door/internal/gate"
)

// newGate makes the gate of a client on a socket. Of other connections it is not known whether a read can be ended without harm.
func newGate(c *Conn) *gate.Gate {
	if !c.cfg.Client || !c.buffers {
		return nil
	}
	c.poke = func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.closing { // else the deadline is that of the last frames
			c.nc.SetReadDeadline(time.Unix(1, 0))
		}
	}
	return gate.New(func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.open.Len() > 0 || len(c.waiters) > 0 || len(c.pings) > 0
	}, c.done)
}

// poked reports whether a read has failed because of poke, and lets the next one wait again. Nothing else sets deadlines for the reads of a
// client.
func poked(c *Conn, err error) bool {
	return c.gate != nil && errors.Is(err, os.ErrDeadlineExceeded) && c.nc.SetReadDeadline(time.Time{}) == nil
}

// ReadFor lets a caller of a client, which has opened a stream whose Reads is set, read until done has something or ctx has ended, if no
// other goroutine reads. done has room for what is sent to it. The caller waits for done behind it all the same: another goroutine may read on.
func ReadFor(ctx context.Context, c *Conn, done <-chan struct{}) {
	if !c.gate.Take() {
		return
	}
	c.in.alarm.Watch(ctx, c.poke)
	rd := c.in.rd
	c.in.lent = true
	for len(done) == 0 && ctx.Err() == nil && rd.wrong == nil && rd.fill() {
		if _, rd.wrong = rd.frames(); !c.endBatch(true) {
			break
		}
	}
	c.in.alarm.Stop()
	c.in.lent = false
	if rd.wrong != nil {
		c.gate.GoOn()
		return
	}
	c.gate.Leave()
}
