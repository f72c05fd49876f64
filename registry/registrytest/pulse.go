package registrytest

import (
	"context"
	"sync"
	"testing"
	"time"
)

// pulse knows when this machine, or the registry, stood still, or its clock was set. A
// driver that reports then that the registry does not answer is right, so what has failed is
// done again; otherwise it fails the test. What pulse knows does not come from the driver:
// one that is slow, or reports errors, does not excuse itself.
type pulse struct {
	least  time.Duration // how long a standstill is at least
	shows  time.Duration // how long after its beginning a standstill is noticed, at most
	recent time.Duration // for how long it may still show: connections that it has broken are made again

	mu    sync.Mutex
	beat  time.Time // when this process last ran
	clock int64     // what the clock said then: nanoseconds of Unix time
	asked time.Time // when the first question was asked that has no answer yet; zero: there is none
	stood time.Time // when the last standstill ended; zero: there was none
}

// newPulse watches this process until the end of the test.
func newPulse(t *testing.T, l limits) *pulse {
	t.Helper()
	p := &pulse{least: l.still, shows: min(2*l.still, l.patience), recent: l.recent}
	p.tick()
	every(t, p.least/10, p.tick)
	return p
}

// every calls do again and again until the end of the test.
func every(t *testing.T, pause time.Duration, do func()) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan struct{})
	// The cleanup ends it, and waits for it.
	go func() {
		defer close(done)
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				do()
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-done
	})
}

// tick notes that this process runs.
func (p *pulse) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	passed, clock := now.Sub(p.beat), now.UnixNano()
	set := time.Duration(clock-p.clock) - passed
	if !p.beat.IsZero() && (passed >= p.least || max(set, -set) >= p.least) {
		p.stood = now
	}
	p.beat, p.clock = now, clock
}

// ask asks the registry until the end of the test, to find out when it stands still. A
// registry that answers with an error does not serve, which is the same to a driver.
func (p *pulse) ask(t *testing.T, probe func(context.Context) error) {
	t.Helper()
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked = time.Time{}
	})
	every(t, p.least/2, func() {
		p.mu.Lock()
		if p.asked.IsZero() {
			p.asked = time.Now()
		}
		p.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), p.recent)
		err := probe(ctx)
		cancel()
		p.mu.Lock()
		defer p.mu.Unlock()
		if now := time.Now(); err != nil || now.Sub(p.asked) >= p.least {
			p.stood = now
		}
		if err == nil {
			p.asked = time.Time{}
		}
	})
}

// stands reports whether this machine or the registry stands still, or has done so a
// moment ago.
func (p *pulse) stands() bool { return p.stoodSince(time.Now().Add(-p.recent)) }

// stoodSince reports whether this machine or the registry stood still after a moment.
func (p *pulse) stoodSince(moment time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	return now.Sub(p.beat) >= p.least || !p.asked.IsZero() && now.Sub(p.asked) >= p.least || p.stood.After(moment)
}

// explains reports whether a standstill may be the reason of what has failed just now. One
// that has only begun shows soon: explains waits for it, until the question is over.
func (p *pulse) explains(over <-chan struct{}) bool {
	for deadline := time.Now().Add(p.shows); !p.stands(); {
		if !time.Now().Before(deadline) {
			return false
		}
		select {
		case <-over:
			return false
		case <-time.After(p.shows / 20):
		}
	}
	return true
}
