package harness

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/bench/internal/hist"
	"github.com/weftrpc/weft/bench/msg"
)

// giveUp is after how many failed calls in a row a caller stops. A failed call
// is followed by a pause, so a dead server does not turn the run into a spin.
const (
	giveUp       = 100
	failurePause = time.Millisecond
)

// clock counts the time since the run began. One reading per call is enough: in
// a closed loop the end of a call is the beginning of the next.
type clock struct{ start time.Time }

func (c clock) now() time.Duration { return time.Since(c.start) }

// caller is one goroutine's share of a closed loop.
type caller struct {
	rpc        Caller
	clock      clock
	main, side msg.Method
	every      int64 // one call in this many is a side call; 0 for none
	offset     int64 // so that the side calls of all callers do not coincide
	pace       *pace // nil in a closed loop
	mainShard  *hist.Shard
	sideShard  *hist.Shard

	// What one phase gave. Read only while the caller is idle.
	late     int64 // main calls that ended after the deadline
	failures int64
	firstErr error
}

// endless as a quota lets only the deadline end a loop.
const endless = math.MaxInt64

// loop calls until the deadline has passed or quota main calls are made. The
// deadline may be moved by others meanwhile. The call in flight at the deadline is
// finished and counted: what was paid for it is counted too.
func (c *caller) loop(deadline *atomic.Int64, quota int64) {
	c.late, c.failures, c.firstErr = 0, 0, nil
	inARow := 0
	var mains int64
	start := c.clock.now()
	begin := start
	for i := int64(0); mains < quota; i++ {
		if c.pace != nil {
			begin = start + c.pace.at(i)
			if begin >= time.Duration(deadline.Load()) {
				return
			}
			if wait := begin - c.clock.now(); wait > 0 {
				time.Sleep(wait)
			}
		}
		method, shard := c.main, c.mainShard
		if c.every != 0 && (i+c.offset)%c.every == 0 {
			method, shard = c.side, c.sideShard
		} else {
			mains++
		}
		err := c.rpc.Call(method)
		end := c.clock.now()
		limit := time.Duration(deadline.Load())
		over := end >= limit
		if err != nil {
			c.fail(err)
			if inARow++; inARow == giveUp || over {
				return
			}
			time.Sleep(failurePause)
			begin = c.clock.now()
			continue
		}
		inARow = 0
		shard.Record(end - begin)
		if over {
			if end > limit && shard == c.mainShard {
				c.late++
			}
			return
		}
		begin = end
	}
}

func (c *caller) fail(err error) {
	c.failures++
	if c.firstErr == nil {
		c.firstErr = err
	}
}
