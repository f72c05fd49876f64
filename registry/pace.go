package registry

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	firstPause = 100 * time.Millisecond // before the second attempt
	mostPause  = 2500 * time.Millisecond
	paceEvery  = 100 * time.Millisecond // at most one attempt in so long; see Registry.pause
)

// pace spreads the attempts that follow failures.
type pace struct {
	mu   sync.Mutex
	next time.Time
}

// pause waits before the next attempt after so many failures in a row. A registry
// that has trouble is asked at most ten times a second, or, if that is more, as often
// as registrations are refreshed when it is well: all of them are to come back within
// a TTL. It returns early when ctx ends or something is sent on wake.
func (r *Registry) pause(ctx context.Context, failures int, wake <-chan struct{}) {
	r.mu.Lock()
	refreshes := 3 * len(r.registrations) // in a TTL
	r.mu.Unlock()
	every := min(paceEvery, r.cfg.TTL/time.Duration(max(refreshes, 1)))
	r.pace.wait(ctx, failures, every, wake)
}

// wait waits before the next attempt after so many failures in a row: longer each
// time, up to mostPause, give or take a fifth, and until the attempt before it is so
// long ago as every says. It returns early when ctx ends or something is sent on wake.
func (p *pace) wait(ctx context.Context, failures int, every time.Duration, wake <-chan struct{}) {
	d := firstPause
	for i := 1; i < failures && d < mostPause; i++ {
		d *= 2
	}
	d = min(d, mostPause)
	d = d*4/5 + rand.N(d*2/5)
	now := time.Now()
	p.mu.Lock()
	at := now.Add(d)
	if at.Before(p.next) {
		at = p.next
	}
	p.next = at.Add(every)
	p.mu.Unlock()
	sleep(ctx, at.Sub(now), wake)
}

// sleep waits for a time, until ctx ends, or until something comes on wake.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-wake:
	}
}
