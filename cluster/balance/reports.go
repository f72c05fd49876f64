package balance

import (
	"math"
	"time"

	"github.com/weftrpc/weft/instance"
)

// reportHalf is in which time a report comes to count for half. Servers report every
// half minute, and only what has changed by more than a quarter.
const reportHalf = 30 * time.Second

// reports is what the servers of a list have reported of their load. A nil one is of a
// list without any.
type reports struct {
	busy []float64 // calls in flight of each server, for a server of mean weight
	mean float64   // of busy
}

// newReports notes what is reported. The servers that report nothing count as one of
// mean load.
func newReports(set []Node) *reports {
	r := &reports{busy: make([]float64, len(set))}
	weight, reporting := 0.0, 0
	for i, n := range set {
		n.Stats.note(n.Load)
		weight += float64(n.Weight)
		if n.Load != nil {
			r.busy[i] = busy(n.Load)
			reporting++
		}
	}
	if reporting == 0 {
		return nil
	}
	for i, n := range set {
		if n.Load != nil {
			r.busy[i] *= weight / float64(len(set)) / float64(n.Weight)
			r.mean += r.busy[i] / float64(reporting)
		}
	}
	for i, n := range set {
		if n.Load == nil {
			r.busy[i] = r.mean
		}
	}
	return r
}

// busy is how many calls a server has in flight on the average of the time since its
// report before, by Little's law, or had at the time of the report if those are more.
func busy(l *instance.Load) float64 {
	calls := max(l.Rate*l.Latency.Seconds(), float64(l.InFlight), 0)
	if math.IsNaN(calls) {
		return 0
	}
	return min(calls, math.MaxInt32)
}

// ratio is how many times the load of server a is that of b, both with one call more.
// The older a report is, the nearer to the mean it counts.
func (r *reports) ratio(a, b int, statsA, statsB *Stats, now time.Duration) float64 {
	return (1 + r.at(a, statsA, now)) / (1 + r.at(b, statsB, now))
}

func (r *reports) at(i int, s *Stats, now time.Duration) float64 {
	age := s.reportAge(now)
	return r.mean + (r.busy[i]-r.mean)*math.Exp2(-float64(age)/float64(reportHalf))
}

// unused stands for the time of a report that no pick has used yet: a picker is built
// without knowing the time.
const unused = math.MinInt64

// note takes a report, if it is a new one.
func (s *Stats) note(l *instance.Load) {
	if old := s.report.Load(); old == l || old != nil && l != nil && *old == *l {
		return
	}
	s.reported.Store(unused)
	s.report.Store(l)
}

// reportAge is for how long the last report has been known.
func (s *Stats) reportAge(now time.Duration) time.Duration {
	since := s.reported.Load()
	if since == unused && s.reported.CompareAndSwap(since, int64(now)) {
		return 0
	}
	return max(now-time.Duration(s.reported.Load()), 0)
}
