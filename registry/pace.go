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
	paceEvery  = 100 * time.Millisecond // at most one attempt in so long
)

// pace spreads the attempts that follow failures, so that a client with many
// services does not ask a registry that has trouble more than ten times a second.
type pace struct {
	mu   sync.Mutex
	next time.Time
}

// wait waits before the next attempt after so many failures in a row: longer each
// time, up to mostPause, give or take a fifth. It returns early when ctx ends or
// something is sent on wake.
func (p *pace) wait(ctx context.Context, failures int, wake <-chan struct{}) {
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
	p.next = at.Add(paceEvery)
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
