package socket

import (
	"sync/atomic"
	"time"
)

// Pulse tells when operations are frequent, and has a timer due within milliseconds while they are: the monitor of the scheduler does
// not sleep longer then. Connections share one. The zero Pulse is ready; its timer is stopped when the operations end.
type Pulse struct {
	set  atomic.Bool // the timer is set
	used atomic.Bool // since the timer was due last

	last atomic.Int64 // while the timer is not set: when operations were noted last, in nanoseconds since the year 1970
	row  atomic.Int32 // and how many times they were soon after the ones before
}

const (
	// interval is the time between two timers: as long as the monitor itself waits at most before it looks for goroutines to interrupt.
	interval = 10 * time.Millisecond
	// soon and inARow make operations frequent: one in a millisecond at least. Those of a caller that makes a call now and then are not: a
	// timer would cost it more than the monitor does.
	soon   = together * time.Millisecond
	inARow = 4
)

// Frequent implements Timer.
func (p *Pulse) Frequent() bool {
	if !p.set.Load() {
		p.begin()
		return false
	}
	if !p.used.Load() { // operations of many processors read one variable, and seldom write it
		p.used.Store(true)
	}
	return true
}

// Due implements Timer.
func (p *Pulse) Due() bool { return p.set.Load() }

// begin sets the timer when operations are frequent.
func (p *Pulse) begin() {
	now := time.Now().UnixNano()
	if now-p.last.Swap(now) > int64(soon) {
		p.row.Store(0)
		return
	}
	if p.row.Add(1) < inARow || !p.set.CompareAndSwap(false, true) {
		return
	}
	p.row.Store(0)
	p.used.Store(true)
	var timer atomic.Pointer[time.Timer]
	timer.Store(time.AfterFunc(time.Hour, func() {
		if p.used.Swap(false) {
			timer.Load().Reset(interval)
			return
		}
		p.set.Store(false)
	}))
	timer.Load().Reset(interval)
	wakeMonitor() // it sleeps until the first timer that it knew of
}
