package load

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
)

// result counts the calls that were due in the time that is measured.
type result struct {
	method string
	o      *options

	mu       sync.Mutex
	from     time.Time // when the measured time begins
	until    time.Time // when the last call had ended
	stopped  time.Time // when no more were begun
	codes    map[string]uint64
	lateness time.Duration // the longest that the generator was late
	buckets  [buckets]uint64
	sum      time.Duration
	longest  time.Duration
	calls    uint64
}

// The histogram has 32 buckets for each power of two, so that a quantile is at most 3 % too high.
const (
	perPower = 32
	buckets  = 64 * perPower
)

func bucketOf(d time.Duration) int {
	n := uint64(max(d, 0))
	if n < perPower {
		return int(n)
	}
	power := bits.Len64(n) - 6 // so that the first six bits are left
	return power*perPower + int(n>>power)
}

// upper is the upper end of a bucket.
func upper(b int) time.Duration {
	if b < 2*perPower {
		return time.Duration(b)
	}
	power := b/perPower - 1
	return time.Duration((uint64(b-power*perPower)+1)<<power - 1)
}

func newResult(method string, o *options) *result {
	return &result{method: method, o: o, codes: make(map[string]uint64)}
}

// begin begins the time that is measured, after a time that is not.
func (r *result) begin(warmUp time.Duration) time.Time {
	now := time.Now()
	r.from = now.Add(warmUp)
	r.stopped = r.from.Add(r.o.duration)
	return now
}

// end ends the time that is measured, when it was interrupted.
func (r *result) end() {
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
	r.calls++
	r.buckets[bucketOf(took)]++
	r.sum += took
	r.longest = max(r.longest, took)
	r.lateness = max(r.lateness, began.Sub(due))
	if ended.After(r.until) {
		r.until = ended
	}
	code := "OK"
	if err != nil {
		code = weft.CodeOf(err).String()
	}
	r.codes[code]++
}

// quantile is the time within which a share of the calls ended.
func (r *result) quantile(q float64) float64 {
	rank := uint64(math.Ceil(q * float64(r.calls)))
	for b, n := range r.buckets {
		if n >= rank && n > 0 {
			return min(upper(b), r.longest).Seconds()
		}
		rank -= n
	}
	return 0
}

// summary is a result in JSON.
type summary struct {
	Method   string            `json:"method"`
	Asked    float64           `json:"asked_calls_per_second,omitempty"`
	Callers  int               `json:"callers,omitempty"`
	Rate     float64           `json:"calls_per_second"`
	Seconds  float64           `json:"seconds"`
	Calls    uint64            `json:"calls"`
	Failed   uint64            `json:"failed"`
	Codes    map[string]uint64 `json:"codes"`
	Mean     float64           `json:"mean_seconds"`
	P50      float64           `json:"p50_seconds"`
	P90      float64           `json:"p90_seconds"`
	P99      float64           `json:"p99_seconds"`
	P999     float64           `json:"p999_seconds"`
	Longest  float64           `json:"max_seconds"`
	Lateness float64           `json:"generator_late_seconds,omitempty"`
}

func (r *result) summary() *summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &summary{
		Method: r.method, Asked: r.o.rate, Calls: r.calls, Codes: r.codes, Seconds: max(r.stopped.Sub(r.from), 0).Seconds(),
		P50: r.quantile(0.5), P90: r.quantile(0.9), P99: r.quantile(0.99), P999: r.quantile(0.999), Longest: r.longest.Seconds(),
	}
	if r.o.rate == 0 {
		s.Callers = r.o.callers
	} else {
		s.Lateness = r.lateness.Seconds()
	}
	s.Failed = r.calls - r.codes["OK"]
	if r.calls > 0 {
		s.Mean = (r.sum / time.Duration(r.calls)).Seconds()
	}
	if r.until.After(r.from) {
		s.Rate = float64(r.calls) / max(s.Seconds, r.until.Sub(r.from).Seconds())
	}
	return s
}

// write writes the summary.
func (s *summary) write(p *shell.Shell) error {
	if !p.ForPeople() {
		return p.Write(&shell.Listing{Names: []string{s.Method}, Value: s})
	}
	var b strings.Builder
	loop := shell.Plural(s.Callers, "caller")
	if s.Asked > 0 {
		loop = fmt.Sprintf("%g calls a second were asked for", s.Asked)
	}
	fmt.Fprintf(&b, "%s: %d calls in %v, %.1f a second (%s)\n\n", s.Method, s.Calls, time.Duration(s.Seconds*float64(time.Second)).Round(time.Millisecond), s.Rate, loop)
	for _, line := range []struct {
		name  string
		value float64
	}{{"mean", s.Mean}, {"50 %", s.P50}, {"90 %", s.P90}, {"99 %", s.P99}, {"99.9 %", s.P999}, {"longest", s.Longest}} {
		fmt.Fprintf(&b, "  %-8s %v\n", line.name, time.Duration(line.value*float64(time.Second)).Round(time.Microsecond))
	}
	b.WriteString("\n")
	for _, code := range slices.Sorted(maps.Keys(s.Codes)) {
		fmt.Fprintf(&b, "  %-18s %d\n", code, s.Codes[code])
	}
	if s.Asked > 0 && s.Rate < 0.95*s.Asked {
		fmt.Fprintf(&b, "\n%s\n", "The rate was not reached: the server, the network, --pending or this machine was the limit.")
	}
	if s.Lateness > 0.01 {
		fmt.Fprintf(&b, "\nCalls were begun up to %v late, which counts as their time: this machine or --pending was a limit too.\n",
			time.Duration(s.Lateness*float64(time.Second)).Round(time.Microsecond))
	}
	_, err := fmt.Fprint(p.Out, b.String())
	return err
}
