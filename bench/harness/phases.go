package harness

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/procstat"
)

const (
	// warmupParts is into how many parts the warm-up time is cut to see whether
	// the rate is still changing; two parts in a row within steadyWithin are steady.
	warmupParts  = 4
	steadyWithin = 0.10
)

// run is the life of one caller. It keeps its goroutine through both phases:
// a stack that has grown while warming up stays grown.
func (r *loadRun) run(i int) {
	c := r.callers[i]
	c.loop(&r.deadline, endless)
	r.warm.Done()
	select {
	case <-r.begin:
		c.loop(&r.deadline, r.quota(i))
		if i < r.task.callers {
			r.mains.Done()
		}
		r.done.Done()
	case <-r.quit:
	}
}

// quota is caller i's part of a fixed number of calls. Callers of side calls
// go on until the others are done.
func (r *loadRun) quota(i int) int64 {
	callers := int64(r.task.callers)
	if r.task.calls == 0 || int64(i) >= callers {
		return endless
	}
	share := r.task.calls / callers
	if int64(i) < r.task.calls%callers {
		share++
	}
	return share
}

// warmUp runs all callers until the rate is steady, and leaves them idle.
func (r *loadRun) warmUp() (time.Duration, error) {
	r.deadline.Store(math.MaxInt64)
	r.warm.Add(len(r.callers))
	for i := range r.callers {
		go r.run(i) // ends after the measured phase, or with r.quit
	}
	begin := r.clock.now()
	r.untilSteady(begin)
	took := r.clock.now() - begin
	r.deadline.Store(0)
	if err := await(&r.warm, drainTime); err != nil {
		return took, fmt.Errorf("warm-up: %w", err)
	}
	if r.main.Count() == 0 {
		_, first := r.failures()
		return took, fmt.Errorf("no call succeeded while warming up: %w", first)
	}
	return took, nil
}

// untilSteady returns when the warm-up time is over and the rate no longer
// changes, or after warmupMost times the warm-up time.
func (r *loadRun) untilSteady(begin time.Duration) {
	part := max(r.task.warmup/warmupParts, time.Millisecond)
	count, rate := int64(0), 0.0
	for {
		time.Sleep(part)
		elapsed := r.clock.now() - begin
		before, previous := count, rate
		count = r.main.Count()
		rate = float64(count - before)
		steady := math.Abs(rate-previous) <= steadyWithin*previous
		if elapsed >= r.task.warmup && steady || elapsed >= warmupMost*r.task.warmup {
			return
		}
	}
}

// measure runs the measured phase. All callers are idle before and after, so
// that every processor second, allocation and system call between the two
// readings belongs to a call that is counted.
func (r *loadRun) measure() (*contract.Event, error) {
	failures, firstErr := r.failures() // of the warm-up: they count too
	r.main.Reset()
	r.side.Reset()
	r.done.Add(len(r.callers))
	r.mains.Add(r.task.callers)
	mallocs := procstat.Mallocs()
	cpu := procstat.CPUTime()

	begin := r.clock.now()
	r.deadline.Store(int64(begin + r.task.bound()))
	close(r.begin)
	if err := await(&r.mains, r.task.bound()+drainTime); err != nil {
		return nil, fmt.Errorf("measured phase: %w", err)
	}
	elapsed := r.clock.now() - begin
	r.deadline.Store(0) // side callers have no quota of their own
	if err := await(&r.done, drainTime); err != nil {
		return nil, fmt.Errorf("measured phase, side calls: %w", err)
	}

	cpu = procstat.CPUTime() - cpu
	mallocs = procstat.Mallocs() - mallocs
	result := r.result(elapsed)
	result.CPU = int64(cpu)
	result.Failures += failures
	if firstErr != nil {
		result.FirstError = firstErr.Error()
	}
	return &contract.Event{Event: contract.Result, Allocs: mallocs, Measured: result}, nil
}

// result gathers what the callers saw in the measured phase.
func (r *loadRun) result(elapsed time.Duration) *contract.Measured {
	failures, first := r.failures()
	result := &contract.Measured{
		Conns:    r.client.Conns(),
		Seconds:  min(elapsed, r.task.bound()).Seconds(),
		Main:     r.main.Distribution(),
		Side:     r.side.Distribution(),
		Failures: failures,
	}
	result.Calls = result.Main.Count
	for _, c := range r.callers {
		result.Late += c.late
	}
	if first != nil {
		result.FirstError = first.Error()
	}
	return result
}

// failures sums up what the callers' last phase gave. They must be idle.
func (r *loadRun) failures() (n int64, first error) {
	for _, c := range r.callers {
		n += c.failures
		if first == nil {
			first = c.firstErr
		}
	}
	return n, first
}

// await waits for callers, for a bounded time: a reply that never comes must not
// hang the comparison.
func await(callers *sync.WaitGroup, limit time.Duration) error {
	all := make(chan struct{})
	go func() { // ends with the last caller
		callers.Wait()
		close(all)
	}()
	select {
	case <-all:
		return nil
	case <-time.After(limit):
		return fmt.Errorf("some calls did not end within %v", limit)
	}
}
