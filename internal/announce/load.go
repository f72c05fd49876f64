package announce

import (
	"context"
	"math"
	"time"

	"github.com/weftrpc/weft/instance"
)

// Work is what a server has done up to a moment: sums that never get smaller.
type Work struct {
	Calls uint64        // that have ended
	Timed uint64        // of which it is known how long they took
	Sum   time.Duration // how long those took
}

// Report publishes the load of the server from time to time, until ctx ends.
func (a *Announcer) Report(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			a.report(time.Now())
		case <-ctx.Done():
			return
		}
	}
}

// report publishes the load if it has changed a good deal, for every report is carried to every client, or if the registry has refused
// the last report.
func (a *Announcer) report(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	done, before, passed := a.cfg.Work(), a.before, now.Sub(a.at)
	a.before, a.at = done, now
	load := instance.Load{InFlight: a.cfg.InFlight()}
	if passed > 0 {
		load.Rate = math.Round(10*float64(done.Calls-before.Calls)/passed.Seconds()) / 10 // some registries have little room
	}
	if n := done.Timed - before.Timed; n > 0 {
		load.Latency = (done.Sum - before.Sum) / time.Duration(n)
	}
	if !a.open {
		return
	}
	if a.load == nil || differs(*a.load, load) {
		a.load = &load
	} else if !a.partly {
		return
	}
	a.partly = false
	for service := range a.shown {
		err := a.showLocked(service) // which tells a registry nothing that it has taken
		if err == nil {
			continue
		}
		a.partly = true
		if a.shown[service].errors.Allow(err) {
			a.cfg.Log.Warn("the load cannot be reported", "service", service, "error", err)
		}
	}
}

// differs reports whether one of the figures has changed by more than a quarter.
func differs(was, is instance.Load) bool {
	quarter := func(a, b, least float64) bool {
		d := a - b
		return d > least+a/4 || -d > least+a/4
	}
	return quarter(float64(was.InFlight), float64(is.InFlight), 4) ||
		quarter(was.Rate, is.Rate, 10) ||
		quarter(float64(was.Latency), float64(is.Latency), float64(time.Millisecond))
}
