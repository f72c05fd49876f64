package concurrency

import (
	"context"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/plugin/internal/keyed"
)

// calls are the calls in flight. A call enters by a hook, where it can still be refused, and begins
// when the interceptor gets it, which from then on is certain to see its end. A call that enters and
// does not begin was refused by another plugin in between: nothing tells of that but its context,
// which has ended. Such calls are found when they matter: when a limit is reached, and when there
// are many.
type calls struct {
	mu      sync.Mutex
	limits  []*limit
	entered map[*session.Context]held // that have not begun
	sweepAt int                       // how many of them let sweepLocked look
	swept   int64                     // when it has looked, on the clock of session.Nanos
}

// limit is one limit. Its keys are guarded by calls.mu.
type limit struct {
	keyed.Scope
	most   int
	keys   *keyed.Table[keyed.Key, count]
	shared count
}

// count is how many calls of a key are in flight.
type count struct{ n int }

// held are the counts that a call is counted in: one of each limit that it fits. Most servers have few limits.
type held struct {
	few  [4]*count
	n    int // how many of few there are
	more []*count
}

func (h *held) add(c *count) {
	if h.n < len(h.few) {
		h.few[h.n] = c
		h.n++
		return
	}
	h.more = append(h.more, c)
}

// releaseLocked ends the counting.
func (h *held) releaseLocked() {
	for _, c := range h.few[:h.n] {
		c.n--
	}
	for _, c := range h.more {
		c.n--
	}
}

// When calls that have entered and not begun are looked at.
const (
	sweepLeast = 64                    // so many may be there before any are looked at, unless a limit is reached
	sweepPause = 10 * time.Millisecond // between two looks at more than that, since each of many callers may have a call that is refused
)

func newCalls() *calls {
	return &calls{entered: make(map[*session.Context]held), sweepAt: sweepLeast}
}

// enter counts a call, or returns the limit that it is beyond.
func (c *calls) enter(ctx context.Context, info *weft.CallInfo) *limit {
	call := session.FromContext(ctx)
	if call == nil {
		return nil
	}
	var names [4]keyed.Key
	keys := names[:0]
	for _, l := range c.limits {
		keys = append(keys, l.By.Of(ctx, info))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entered) >= c.sweepAt {
		c.sweepLocked()
	}
	var h held
	for i, l := range c.limits {
		if !l.Has(info.Method) {
			continue
		}
		n := l.countLocked(keys[i])
		if n.n >= l.most {
			c.sweepForRoomLocked(call.Received())
		}
		if n.n >= l.most {
			h.releaseLocked()
			return l
		}
		n.n++
		h.add(n)
	}
	if h.n > 0 {
		c.entered[call] = h
	}
	return nil
}

// countLocked is the count of a key.
func (l *limit) countLocked(key keyed.Key) *count {
	if n := l.keys.Add(key, func(n *count) bool { return n.n == 0 }); n != nil {
		return n
	}
	return &l.shared
}

// begin returns what a call is counted in, for leave; nothing when it is not counted any more.
func (c *calls) begin(ctx context.Context) held {
	call := session.FromContext(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.entered[call]
	delete(c.entered, call)
	return h
}

// leave ends the counting of a call.
func (c *calls) leave(h held) {
	if h.n == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h.releaseLocked()
}

// sweepForRoomLocked is sweepLocked for a call that is beyond a limit and was read at a time.
func (c *calls) sweepForRoomLocked(now int64) {
	if len(c.entered) <= sweepLeast || now-c.swept >= int64(sweepPause) {
		c.swept = now
		c.sweepLocked()
	}
}

// sweepLocked ends the counting of the calls that have ended before they began.
func (c *calls) sweepLocked() {
	for call, h := range c.entered {
		if call.Err() != nil {
			delete(c.entered, call)
			h.releaseLocked()
		}
	}
	c.sweepAt = max(2*len(c.entered), sweepLeast)
}

func (c *calls) inFlight(by By) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweepLocked()
	for _, l := range c.limits {
		if l.By != by {
			continue
		}
		n += l.shared.n
		for _, one := range l.keys.All() {
			n += one.n
		}
	}
	return n
}
