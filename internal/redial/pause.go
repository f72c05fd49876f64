package redial

import (
	"math/rand/v2"
	"time"
)

// afterDrain is the first pause after a server has drained.
const afterDrain = 10 * time.Millisecond

// impatient is the longest pause between two attempts while a caller waits.
const impatient = time.Second

// pause waits before the next attempt: longer each time, but not long while a caller
// waits. It returns false when the client was closed.
func (l *Link[C]) pause() bool {
	d := float64(l.cfg.Backoff)
	if l.drained {
		// The server has drained: the next one is likely to be here soon.
		d = min(d, float64(afterDrain))
	}
	for i := 1; i < l.tries && d < float64(l.cfg.Most); i++ {
		d *= 1.6
	}
	d = min(d, float64(l.cfg.Most)) * (0.8 + 0.4*rand.Float64())
	full := time.NewTimer(time.Duration(d))
	defer full.Stop()
	short := time.NewTimer(min(time.Duration(d), impatient))
	defer short.Stop()
	var wanted chan struct{}
	for {
		select {
		case <-full.C:
			return true
		case <-short.C:
			// From now on, a caller that waits gets an attempt at once.
			l.mu.Lock()
			wanted = l.wantedLocked()
			l.mu.Unlock()
		case <-wanted:
			return true
		case <-l.cfg.Life.Done():
			return false
		}
	}
}
