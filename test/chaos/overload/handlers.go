package main

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/internal/session"
)

// Job is what a call asks for.
type Job struct{ Micros int }

// Done is what it gets. Burn by weft's wire tells how long the call waited after it was read, and how long it ran, in ns.
type Done struct {
	Sum         uint64
	Waited, Ran int64
}

// work are the methods that are called, whatever the wire.
type work struct {
	perMicro float64 // rounds of spin in a microsecond
	slots    chan struct{}
	sleep    atomic.Int64 // in place of what a call of Sleep asks for; 0: what it asks for
	calls    atomic.Int64
}

func newWork() *work { return &work{perMicro: calibrate(), slots: make(chan struct{}, 10)} }

// spin is work that takes no memory.
func spin(rounds int) uint64 {
	x := uint64(88172645463325252)
	for range rounds {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// calibrate finds out how many rounds take a microsecond: the most of many short trials, of
// which other processes have disturbed some.
func calibrate() float64 {
	const rounds = 200_000
	best := time.Hour
	for range 50 {
		began := time.Now()
		runtime.KeepAlive(spin(rounds))
		best = min(best, time.Since(began))
	}
	return rounds / (float64(best) / float64(time.Microsecond))
}

// Burn computes.
func (w *work) Burn(ctx context.Context, j *Job) (*Done, error) {
	began := session.Nanos()
	w.calls.Add(1)
	d := &Done{Sum: spin(int(float64(j.Micros) * w.perMicro))}
	if c := session.FromContext(ctx); c != nil {
		d.Waited, d.Ran = began-c.Received(), session.Nanos()-began
	}
	return d, nil
}

// Sleep sleeps.
func (w *work) Sleep(_ context.Context, j *Job) (*Done, error) {
	w.calls.Add(1)
	d := time.Duration(j.Micros) * time.Microsecond
	if s := w.sleep.Load(); s > 0 {
		d = time.Duration(s)
	}
	time.Sleep(d)
	return &Done{}, nil
}

// One sleeps; of its calls one runs at a time, and the others are refused.
func (w *work) One(ctx context.Context, j *Job) (*Done, error) {
	w.calls.Add(1)
	time.Sleep(time.Duration(j.Micros) * time.Microsecond)
	return &Done{}, nil
}

// Pool holds one of ten slots for 10 ms.
func (w *work) Pool(ctx context.Context, _ *Job) (*Done, error) {
	w.calls.Add(1)
	select {
	case w.slots <- struct{}{}:
		time.Sleep(10 * time.Millisecond)
		<-w.slots
		return &Done{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Set changes how long Sleep sleeps.
func (w *work) Set(_ context.Context, j *Job) (*Done, error) {
	w.sleep.Store(int64(j.Micros) * int64(time.Microsecond))
	return &Done{}, nil
}
