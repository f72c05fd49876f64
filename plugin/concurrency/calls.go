package concurrency

import (
	"context"
	"sync"

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
	entered map[*session.Context][]*count // that have not begun
	sweepAt int                           // how many of them let sweepLocked look
}

// limit is one limit. Its keys are guarded by calls.mu.
type limit struct {
	keyed.Scope
	most   int
	keys   *keyed.Table[string, count]
	shared count
}

// count is how many calls of a key are in flight.
type count struct{ n int }

// sweepLeast is how many calls may have entered and not begun before any are looked at.
const sweepLeast = 64

func newCalls() *calls {
	return &calls{entered: make(map[*session.Context][]*count), sweepAt: sweepLeast}
}

// enter counts a call, or returns the limit that it is beyond.
func (c *calls) enter(ctx context.Context, info *weft.CallInfo) *limit {
	call := session.FromContext(ctx)
	if call == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entered) >= c.sweepAt {
		c.sweepLocked()
	}
	var held []*count
	for _, l := range c.limits {
		if !l.Has(info.Method) {
			continue
		}
		n := l.countLocked(l.By.Of(ctx, info))
		if n.n >= l.most {
			c.sweepLocked()
		}
		if n.n >= l.most {
			c.releaseLocked(held)
			return l
		}
		n.n++
		held = append(held, n)
	}
	if held != nil {
		c.entered[call] = held
	}
	return nil
}

// countLocked is the count of a key.
func (l *limit) countLocked(key string) *count {
	if n := l.keys.Add(key, func(n *count) bool { return n.n == 0 }); n != nil {
		return n
	}
	return &l.shared
}

// begin returns what a call is counted in, for leave; nil when it is not counted any more.
func (c *calls) begin(ctx context.Context) []*count {
	call := session.FromContext(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.entered[call]
	delete(c.entered, call)
	return held
}

// leave ends the counting of a call.
func (c *calls) leave(held []*count) {
	if held == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.releaseLocked(held)
}

func (c *calls) releaseLocked(held []*count) {
	for _, n := range held {
		n.n--
	}
}

// sweepLocked ends the counting of the calls that have ended before they began.
func (c *calls) sweepLocked() {
	for call, held := range c.entered {
		if call.Err() != nil {
			delete(c.entered, call)
			c.releaseLocked(held)
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
