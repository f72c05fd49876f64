package ratelimit

import (
	"container/list"
	"sync"
	"time"

	"github.com/weftrpc/weft/plugin/internal/match"
)

// limit is the generic cell rate algorithm (ITU-T I.371) for many keys: each has one number, the
// time until which its calls are paid for.
type limit struct {
	by      By
	methods match.Methods
	rate    float64
	each    time.Duration // of one call
	ahead   time.Duration // how far the calls of a burst may be ahead
	most    int           // keys

	mu     sync.Mutex
	keys   map[string]*list.Element
	recent list.List // of *bucket, the one used last in front
	shared time.Duration
}

// longest bounds what a burst is in time, so that no sum overflows.
const longest = 100 * 365 * 24 * time.Hour

type bucket struct {
	key string
	at  time.Duration
}

func newLimit(by By, methods []string, rate float64, burst, most int) *limit {
	each := max(time.Duration(float64(time.Second)/rate), 1)
	ahead := time.Duration(min(float64(each)*float64(burst), float64(longest)))
	return &limit{by: by, methods: methods, rate: rate, each: each, ahead: max(ahead, each), most: most, keys: make(map[string]*list.Element)}
}

// take takes a call of a key; a time above zero is how long the caller is to wait, and then the
// call was not taken.
func (l *limit) take(key string, now time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.atLocked(key, now)
	from := max(*at, now)
	if wait := from + l.each - now - l.ahead; wait > 0 {
		return wait
	}
	*at = from + l.each
	return 0
}

// atLocked is where the number of a key is.
func (l *limit) atLocked(key string, now time.Duration) *time.Duration {
	if e, ok := l.keys[key]; ok {
		l.recent.MoveToFront(e)
		return &e.Value.(*bucket).at
	}
	if l.recent.Len() >= l.most {
		oldest := l.recent.Back()
		if oldest == nil || oldest.Value.(*bucket).at > now {
			return &l.shared // to forget the oldest would give it a new burst
		}
		delete(l.keys, oldest.Value.(*bucket).key)
		l.recent.Remove(oldest)
	}
	b := &bucket{key: key}
	l.keys[key] = l.recent.PushFront(b)
	return &b.at
}
