package breaker

import (
	"sync/atomic"
	"time"
)

// buckets is how many parts the window has. The oldest is dropped as a whole, so
// that the window is between 7 and 8 of them long.
const buckets = 8

// A bucket is one word, so that counting costs one instruction:
// 22 bits of calls sent, 21 of calls that went well, 21 of calls that failed.
const (
	oneFailed = 1
	oneOK     = 1 << 21
	oneSent   = 1 << 42
	mask      = 1<<21 - 1

	// full is the number of calls sent at which a bucket is halved. What ends in a
	// bucket may have been sent in an earlier one, so the other fields need the room
	// above it.
	full = 1 << 20
)

func unpack(w uint64) (sent, ok, failed int64) {
	return int64(w >> 42), int64(w >> 21 & mask), int64(w & mask)
}

// counts are the calls of the window. A call is counted when it is sent, in the
// bucket of that time, and when it ends, in the bucket of that time. So the
// difference of the sums over all time is the number of calls in flight: what
// buckets that were dropped contribute to it is carried on.
type counts struct {
	epoch   atomic.Int64 // number of the newest bucket
	carried atomic.Int64
	buckets [buckets]atomic.Uint64
}

// bucket is the one for now, a new one if it is time. turned says that it is.
func (c *counts) bucket(now, width time.Duration) (b *atomic.Uint64, turned bool) {
	e := c.epoch.Load()
	if now >= time.Duration(e+1)*width {
		e, turned = c.turn(e, int64(now/width))
	}
	return &c.buckets[uint64(e)%buckets], turned
}

// turn drops the buckets that are too old. Counts that others add meanwhile may
// land in a bucket before or after it is dropped: they are then lost for the window
// or a little too new, but never for the calls in flight.
func (c *counts) turn(from, to int64) (epoch int64, turned bool) {
	if !c.epoch.CompareAndSwap(from, to) {
		return c.epoch.Load(), false
	}
	for n := range min(to-from, buckets) {
		c.drop(&c.buckets[uint64(to-n)%buckets])
	}
	return to, true
}

func (c *counts) drop(b *atomic.Uint64) {
	sent, ok, failed := unpack(b.Swap(0))
	c.carried.Add(sent - ok - failed)
}

// clear forgets how calls ended.
func (c *counts) clear() {
	for i := range c.buckets {
		c.drop(&c.buckets[i])
	}
}

// sent counts a call that begins.
func (c *counts) sent(b *atomic.Uint64) {
	if b.Add(oneSent)>>42 == full {
		c.halve(b)
	}
}

// halve makes room in a bucket. Shares stay what they are.
func (c *counts) halve(b *atomic.Uint64) {
	for {
		w := b.Load()
		sent, ok, failed := unpack(w)
		half := uint64(ok/2)*oneOK + uint64(failed/2)*oneFailed
		half += uint64(ok/2+failed/2) * oneSent
		if b.CompareAndSwap(w, half) {
			c.carried.Add(sent - ok - failed)
			return
		}
	}
}

// tally adds up the window that ends now. old is the number of calls in flight that
// were sent before the newest grace buckets of it, 0 if there are fewer.
func (c *counts) tally(now, width time.Duration, grace int64) (ok, failed, old int) {
	inFlight, recent := c.carried.Load(), int64(0)
	e := c.epoch.Load()
	newest := max(int64(now/width), e)
	for n := e; n > e-buckets; n-- {
		s, o, f := unpack(c.buckets[uint64(n)%buckets].Load())
		inFlight += s - o - f
		if newest-n < grace {
			recent += s
		}
		if newest-n < buckets {
			ok += int(o)
			failed += int(f)
		}
	}
	if grace > buckets {
		return ok, failed, 0
	}
	return ok, failed, int(max(inFlight-recent, 0))
}
