package registrytest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft/registry"
)

// aftermath is for how long a standstill may still show: connections that it has broken
// are made again.
const aftermath = 10 * time.Second

// pulse knows when this machine, or the registry, stood still, or its clock was set. A
// driver that reports then that the registry does not answer is right, so what has failed is
// done again; otherwise it fails the test.
type pulse struct {
	least time.Duration // how long a standstill is at least

	mu    sync.Mutex
	beat  time.Time // when this process last ran
	clock int64     // what the clock said then: nanoseconds of Unix time
	asked time.Time // when the question was asked that has no answer yet; zero: there is none
	stood time.Time // when the last standstill ended; zero: there was none
}

// newPulse watches this process until the end of the test.
func newPulse(t *testing.T, least time.Duration) *pulse {
	t.Helper()
	p := &pulse{least: least}
	p.tick()
	every(t, least/10, p.tick)
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

// ask asks the registry something until the end of the test, to find out when it stands
// still. A registry without documents is not asked.
func (p *pulse) ask(t *testing.T, d registry.Driver) {
	t.Helper()
	documents, ok := d.(registry.Documents)
	if !ok {
		return
	}
	name := service()
	every(t, p.least/2, func() {
		p.mu.Lock()
		p.asked = time.Now()
		p.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), aftermath)
		_, _ = documents.Load(ctx, name) // how long it takes counts
		cancel()
		p.mu.Lock()
		defer p.mu.Unlock()
		if now := time.Now(); now.Sub(p.asked) >= p.least {
			p.stood = now
		}
		p.asked = time.Time{}
	})
}

// stands reports whether this machine or the registry stands still, or has done so a
// moment ago.
func (p *pulse) stands() bool { return p.stoodSince(time.Now().Add(-aftermath)) }

// stoodSince reports whether this machine or the registry stood still after a moment.
func (p *pulse) stoodSince(moment time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	return now.Sub(p.beat) >= p.least || !p.asked.IsZero() && now.Sub(p.asked) >= p.least || p.stood.After(moment)
}
