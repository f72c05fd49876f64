package load

import (
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cmd/weft/internal/histogram"
)

// intervals is into how many parts the measured time is divided, which show how much the figures vary.
const intervals = 30

// result counts the calls that were due in the time that is measured.
type result struct {
	method string
	target string
	o      *options

	mu       sync.Mutex
	from     time.Time // when the measured time begins
	until    time.Time // when the last call had ended
	stopped  time.Time // when no more were begun
	codes    map[string]uint64
	lateness time.Duration // the longest that the generator was late
	all      histogram.Histogram
	parts    [intervals]part
}

// part is one of the intervals.
type part struct {
	times  histogram.Histogram
	failed uint64
}

func newResult(method, target string, o *options) *result {
	return &result{method: method, target: target, o: o, codes: make(map[string]uint64)}
}

// begin begins the time that is measured, after a time that is not.
func (r *result) begin(warmUp time.Duration) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.from = now.Add(warmUp)
	r.stopped = r.from.Add(r.o.duration)
	return now
}

// end ends the time that is measured, when it was interrupted.
func (r *result) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Before(r.stopped) {
		r.stopped = now
	}
}

// add counts a call.
func (r *result) add(due, began, ended time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if due.Before(r.from) {
		return
	}
	took := ended.Sub(due)
	r.all.Add(took)
	of := &r.parts[min(int(due.Sub(r.from)*intervals/r.o.duration), intervals-1)]
	of.times.Add(took)
	r.lateness = max(r.lateness, began.Sub(due))
	if ended.After(r.until) {
		r.until = ended
	}
	code := "OK"
	if err != nil {
		code = weft.CodeOf(err).String()
		of.failed++
	}
	r.codes[code]++
}

// summary is a result in JSON, which --compare reads again.
type summary struct {
	Method      string            `json:"method"`
	Target      string            `json:"target"`
	At          time.Time         `json:"at"`
	Asked       float64           `json:"asked_calls_per_second,omitempty"`
	Callers     int               `json:"callers,omitempty"`
	Rate        float64           `json:"calls_per_second"`
	Seconds     float64           `json:"seconds"`
	Calls       uint64            `json:"calls"`
	Failed      uint64            `json:"failed"`
	Codes       map[string]uint64 `json:"codes"`
	Mean        float64           `json:"mean_seconds"`
	P50         float64           `json:"p50_seconds"`
	P90         float64           `json:"p90_seconds"`
	P99         float64           `json:"p99_seconds"`
	P999        float64           `json:"p999_seconds"`
	Longest     float64           `json:"max_seconds"`
	Lateness    float64           `json:"generator_late_seconds,omitempty"`
	Percentiles []percentile      `json:"percentiles"`
	Intervals   []interval        `json:"intervals"`
	Comparison  *comparison       `json:"comparison,omitempty"`
}

// percentile is a point of the distribution, as HDR histograms have them.
type percentile struct {
	Percentile float64 `json:"percentile"`
	Seconds    float64 `json:"seconds"`
	Calls      uint64  `json:"calls"` // that took at most so long
}

// interval is a part of the measured time.
type interval struct {
	From   float64 `json:"from_seconds"`
	Length float64 `json:"seconds"`
	Calls  uint64  `json:"calls"`
	Failed uint64  `json:"failed"`
	Mean   float64 `json:"mean_seconds"`
	P50    float64 `json:"p50_seconds"`
	P90    float64 `json:"p90_seconds"`
	P99    float64 `json:"p99_seconds"`
	P999   float64 `json:"p999_seconds"`
}

func (r *result) summary() *summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.all.Count()
	s := &summary{
		Method: r.method, Target: r.target, At: r.from.UTC().Truncate(time.Millisecond), Asked: r.o.rate, Calls: calls, Codes: r.codes,
		Seconds: max(r.stopped.Sub(r.from), 0).Seconds(), Failed: calls - r.codes["OK"], Mean: r.all.Mean().Seconds(),
		P50: r.quantile(0.5), P90: r.quantile(0.9), P99: r.quantile(0.99), P999: r.quantile(0.999), Longest: r.all.Longest().Seconds(),
		Percentiles: []percentile{}, Intervals: []interval{},
	}
	if r.o.rate == 0 {
		s.Callers = r.o.callers
	} else {
		s.Lateness = r.lateness.Seconds()
	}
	if r.until.After(r.from) {
		s.Rate = float64(calls) / max(s.Seconds, r.until.Sub(r.from).Seconds())
	}
	for _, p := range r.all.Distribution() {
		s.Percentiles = append(s.Percentiles, percentile{100 * p.Quantile, p.Value.Seconds(), p.Count})
	}
	length := r.o.duration.Seconds() / intervals
	for n := range r.parts {
		p, from := &r.parts[n], float64(n)*length
		if from+length > s.Seconds+1e-6 {
			break // it was interrupted within
		}
		at := func(q float64) float64 { return p.times.Quantile(q).Seconds() }
		s.Intervals = append(s.Intervals, interval{from, length, p.times.Count(), p.failed, p.times.Mean().Seconds(), at(0.5), at(0.9), at(0.99), at(0.999)})
	}
	return s
}

func (r *result) quantile(q float64) float64 { return r.all.Quantile(q).Seconds() }
