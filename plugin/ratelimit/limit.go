package ratelimit

import (
	"sync"
	"time"

	"github.com/weftrpc/weft/plugin/internal/keyed"
)

// limit is the generic cell rate algorithm (ITU-T I.371) for many keys: each has one number, the
// time until which its calls are paid for.
type limit struct {
	keyed.Scope
	rate  float64
	each  time.Duration // of one call
	ahead time.Duration // how far the calls of a burst may be ahead

	mu     sync.Mutex
	keys   *keyed.Table[keyed.Key, time.Duration]
	shared time.Duration
	latest time.Duration // time of a call
}

// longest bounds what a burst is in time, so that no sum overflows.
const longest = 100 * 365 * 24 * time.Hour

func newLimit(scope keyed.Scope, rate float64, burst, most int) *limit {
	each := max(time.Duration(float64(time.Second)/rate), 1)
	ahead := time.Duration(min(float64(each)*float64(burst), float64(longest)))
	return &limit{Scope: scope, rate: rate, each: each, ahead: max(ahead, each), keys: keyed.New[keyed.Key, time.Duration](most)}
}

// take takes a call of a key; a time above zero is how long the caller is to wait, and then the
// call was not taken. now is when the call was read: calls of several connections do not come in that order, and
// one that was read earlier than another before it is taken as read at the same time.
func (l *limit) take(key keyed.Key, now time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now = max(now, l.latest)
	l.latest = now
	at := l.atLocked(key, now)
	from := max(*at, now)
	if wait := from + l.each - now - l.ahead; wait > 0 {
		return wait
	}
	*at = from + l.each
	return 0
}

// atLocked is where the number of a key is. To forget a key whose calls are not paid for yet would
// give it a new burst.
func (l *limit) atLocked(key keyed.Key, now time.Duration) *time.Duration {
	if at := l.keys.Add(key, func(at *time.Duration) bool { return *at <= now }); at != nil {
		return at
	}
	return &l.shared
}
