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
	paceEvery  = 100 * time.Millisecond // at most one attempt in so long, if that will do
)

// pace spreads the attempts that follow failures.
type pace struct {
	mu   sync.Mutex
	next time.Time
}

// A registry that has trouble is asked at most ten times a second for registrations,
// and as often for watches. If that is too slow for all of them, it is asked as often
// as brings every registration back within a TTL, which is as often as when it is well,
// and every watch within half of one. Neither waits for the other: a client of many
// services must not lose its own registration over them.

// pauseRegistration waits before the next attempt after so many failures in a row. It
// returns early when ctx ends or something is sent on wake.
func (r *Registry) pauseRegistration(ctx context.Context, failures int, wake <-chan struct{}) {
	r.mu.Lock()
	n := 3 * len(r.registrations)
	r.mu.Unlock()
	r.registering.wait(ctx, failures, r.spread(n), r.cfg.TTL, wake)
}

// pauseWatch does the same for watches of instances and documents.
func (r *Registry) pauseWatch(ctx context.Context, failures int) {
	r.mu.Lock()
	n := 2 * (len(r.topics) + r.documents)
	r.mu.Unlock()
	r.watching.wait(ctx, failures, r.spread(n), r.cfg.TTL, nil)
}

// spread is the time between two attempts of which there may be n in a TTL.
func (r *Registry) spread(n int) time.Duration {
	return min(paceEvery, r.cfg.TTL/time.Duration(max(n, 1)))
}

// wait waits before the next attempt after so many failures in a row: longer each
// time, up to mostPause, give or take a fifth, and until the attempt before it is so
// long ago as every says, but not longer than most besides: attempts that were given up
// have their places, too. It returns early when ctx ends or something is sent on wake.
func (p *pace) wait(ctx context.Context, failures int, every, most time.Duration, wake <-chan struct{}) {
	d := firstPause
	for i := 1; i < failures && d < mostPause; i++ {
		d *= 2
	}
	d = min(d, mostPause)
	d = d*4/5 + rand.N(d*2/5)
	now := time.Now()
	p.mu.Lock()
	at := now.Add(d)
	if last := at.Add(most); p.next.After(last) {
		at = last
	} else if at.Before(p.next) {
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
