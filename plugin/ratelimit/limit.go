package ratelimit

import (
	"time"

	"github.com/weftrpc/weft/plugin/internal/keyed"
)

// limit is the generic cell rate algorithm (ITU-T I.371) for many keys: each has one number, the
// time until which its calls are paid for. It is guarded by Limiter.mu.
type limit struct {
	keyed.Scope
	rate  float64
	each  time.Duration // of one call
	ahead time.Duration // how far the calls of a burst may be ahead

	keys   *keyed.Table[keyed.Key, time.Duration]
	shared time.Duration
}

// longest bounds what a burst is in time, so that no sum overflows.
const longest = 100 * 365 * 24 * time.Hour

func newLimit(scope keyed.Scope, rate float64, burst, most int) *limit {
	each := max(time.Duration(float64(time.Second)/rate), 1)
	ahead := time.Duration(min(float64(each)*float64(burst), float64(longest)))
	return &limit{Scope: scope, rate: rate, each: each, ahead: max(ahead, each), keys: keyed.New[keyed.Key, time.Duration](most)}
}

// waitLocked is how long a call of a key is to wait, 0 if it may be taken; at is then where payLocked pays for it.
func (l *limit) waitLocked(key keyed.Key, now time.Duration) (at *time.Duration, wait time.Duration) {
	at = l.atLocked(key, now)
	return at, max(max(*at, now)+l.each-now-l.ahead, 0)
}

// payLocked takes a call that need not wait.
func (l *limit) payLocked(at *time.Duration, now time.Duration) { *at = max(*at, now) + l.each }

// atLocked is where the number of a key is. To forget a key whose calls are not paid for yet would
// give it a new burst.
func (l *limit) atLocked(key keyed.Key, now time.Duration) *time.Duration {
	if at := l.keys.Add(key, func(at *time.Duration) bool { return *at <= now }); at != nil {
		return at
	}
	return &l.shared
}
