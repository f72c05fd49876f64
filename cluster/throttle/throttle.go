// Package throttle has a client send fewer calls to servers that refuse many for overload.
//
// A refusal costs a server less than an answer, but not nothing: under a multiple of what it
// can do, a server whose calls are short would be busy with refusing alone. So the client
// counts how many calls were made and how many of these were accepted, and refuses a call
// itself with the probability
//
//	(requests - 2 × accepted) / (requests + 1)
//
// which lets about twice as many calls reach the servers as these accept: enough that the
// client notices when they accept more. This is the adaptive throttling of Google (Beyer et
// al.: Site Reliability Engineering, O'Reilly 2016, chapter 21, "Client-Side Throttling").
//
// Three things differ. A call counts as accepted when it is sent, until a refusal says
// otherwise, so that calls which take long are not taken for refused ones. The counts fade
// with a time constant of 10 s in place of a window of 2 min, and half of what exceeds the
// accepted calls is forgotten in each half second in which calls are sent and none is
// refused: the throttle is gone a few seconds after the overload. And a call a second is sent
// whatever the counts say.
//
// Further attempts of calls that were refused are held to a tenth of the calls that are sent meanwhile, and one a
// second, and none is made while calls are held back: see [Throttle.Again]. What a client has saved for retries in quiet times is
// not spent on servers that have too much to do.
//
// A client none of whose calls was refused for 10 s counts nothing.
package throttle

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
)

const (
	factor = 2                      // calls that are sent for each that is accepted
	memory = 10 * time.Second       // the time constant of the counts
	tick   = 100 * time.Millisecond // at which they fade
	relief = 500 * time.Millisecond // without a refusal, after which half of the excess is forgotten
	before = 10                     // calls that count as accepted before the first refusal, so that a few mean nothing
	pause  = time.Second            // after which a call is sent whatever was refused
	extra  = 0.1                    // further attempts that a call adds
	kept   = 10                     // further attempts that are kept
	first  = 50                     // further attempts behind the first refusal: one server of many may refuse what came at once
)

// Throttle decides which calls of a service are sent. The zero value sends all. Its methods
// may be called from any goroutine. now is the time since any fixed moment, the same for all
// calls.
type Throttle struct{ classes [priorities]class }

// priorities is how many there are; each is counted apart.
const priorities = 3

// class is what was counted of the calls of one priority.
type class struct {
	until     atomic.Int64 // when counting ends, in nanoseconds; 0: nothing is counted
	throttled atomic.Uint64

	mu                 sync.Mutex
	requests, accepted float64
	unknown            float64       // of requests, those that were sent before anything was counted
	again              float64       // further attempts that may be made
	faded, relieved    time.Duration // when that was done last
	last               time.Duration // when a call was sent
	sent, refused      bool          // calls were, since relieved
}

func (t *Throttle) class(p weft.Priority) *class {
	if int(p) >= priorities {
		p = weft.PriorityDefault
	}
	return &t.classes[p]
}

// Active reports whether any call may be held back now: if not, Allow need not be asked.
func (t *Throttle) Active(now time.Duration) bool {
	for i := range t.classes {
		if int64(now) < t.classes[i].until.Load() {
			return true
		}
	}
	return false
}

// Allow counts a call and reports whether it may be sent. random are 64 random bits. counted
// is for Refused.
func (t *Throttle) Allow(now time.Duration, p weft.Priority, random uint64) (ok, counted bool) {
	c := t.class(p)
	if int64(now) >= c.until.Load() {
		return true, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fadeLocked(now)
	c.requests++
	if share := c.excessLocked() / (c.requests + 1); float64(random>>11)/(1<<53) < share && now-c.last < pause {
		c.throttled.Add(1)
		return false, true
	}
	c.accepted++
	c.again = max(c.again, min(c.again+extra, kept))
	c.last, c.sent = now, true
	return true, true
}

// Refused notes that a server has refused a call for overload. counted is what Allow said of
// it.
func (t *Throttle) Refused(now time.Duration, p weft.Priority, counted bool) {
	c := t.class(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if int64(now) >= c.until.Load() {
		c.requests, c.accepted, c.unknown, c.again = before, before, 0, first
		c.faded, c.relieved, c.last = now, now, now
	}
	c.fadeLocked(now)
	if counted {
		c.accepted = max(c.accepted-1, 0)
	} else {
		c.requests++
		c.unknown++
	}
	c.refused = true
	c.until.Store(int64(now + memory))
}

// Again reports whether a call of which Refused was told may be made again, and counts that. It may
// not while calls are held back: what the servers can still take are the calls that were not sent yet.
func (t *Throttle) Again(now time.Duration, p weft.Priority) bool {
	c := t.class(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fadeLocked(now)
	if c.again < 1 || c.excessLocked() > c.unknown { // others of the calls that were not counted were accepted, but how many is not known
		return false
	}
	c.again--
	return true
}

// excessLocked is how many requests were more than are sent for those that were accepted.
func (c *class) excessLocked() float64 { return c.requests - factor*c.accepted }

// fadeLocked brings the counts to the present.
func (c *class) fadeLocked(now time.Duration) {
	if passed := now - c.faded; passed >= tick {
		left := math.Exp(-float64(passed) / float64(memory))
		c.requests, c.accepted, c.unknown = c.requests*left, c.accepted*left, c.unknown*left
		c.again = max(c.again, min(c.again+passed.Seconds(), kept))
		c.faded = now
	}
	if now-c.relieved >= relief {
		if c.sent && !c.refused {
			c.requests -= max(c.requests-c.accepted, 0) / 2
		}
		c.relieved, c.sent, c.refused = now, false, false
	}
}

// Throttled is how many calls were not sent.
func (t *Throttle) Throttled() (n uint64) {
	for i := range t.classes {
		n += t.classes[i].throttled.Load()
	}
	return n
}
