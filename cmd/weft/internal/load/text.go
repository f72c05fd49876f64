package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
)

// write writes the summary.
func (s *summary) write(p *shell.Shell) error {
	if !p.ForPeople() {
		return p.Write(&shell.Listing{Names: []string{s.Method}, Value: s})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d calls in %v, %.1f a second (%s)\n\n", s.Method, s.Calls, shell.Seconds(s.Seconds).Round(time.Millisecond), s.Rate, s.loop())
	lines := []struct {
		name  string
		value float64
	}{{"mean", s.Mean}, {"50 %", s.P50}, {"90 %", s.P90}, {"99 %", s.P99}, {"99.9 %", s.P999}, {"longest", s.Longest}}
	for _, line := range lines {
		fmt.Fprintf(&b, "  %-8s %v\n", line.name, shell.Seconds(line.value))
	}
	b.WriteString("\n")
	for _, code := range slices.Sorted(maps.Keys(s.Codes)) {
		fmt.Fprintf(&b, "  %-18s %d\n", code, s.Codes[code])
	}
	for _, note := range s.notes() {
		fmt.Fprintf(&b, "\n%s\n", note)
	}
	if s.Comparison != nil {
		s.Comparison.text(&b)
	}
	_, err := fmt.Fprint(p.Out, b.String())
	return err
}

// loop says how the calls were made.
func (s *summary) loop() string {
	if s.Asked > 0 {
		return fmt.Sprintf("%g calls a second were asked for", s.Asked)
	}
	return shell.Plural(s.Callers, "caller")
}

// notes say what makes the figures doubtful.
func (s *summary) notes() (all []string) {
	if s.Asked > 0 && s.Rate < 0.95*s.Asked {
		all = append(all, "The rate was not reached: the server, the network, --pending or this machine was the limit.")
	}
	if s.Lateness > 0.01 {
		all = append(all, fmt.Sprintf("Calls were begun up to %v late, which counts as their time: this machine or --pending was a limit too.", shell.Seconds(s.Lateness)))
	}
	return all
}

// progress is the line of a measurement that goes on.
func (r *result) progress() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if now.Before(r.from) {
		return fmt.Sprintf("%s: warming up for %v more", r.method, r.from.Sub(now).Round(100*time.Millisecond))
	}
	elapsed := min(now.Sub(r.from), r.o.duration)
	calls := r.all.Count()
	return fmt.Sprintf("%s: %v of %v, %d calls, %.0f a second, 50 %% in %v, 99 %% in %v, %d failed", r.method, elapsed.Round(100*time.Millisecond), r.o.duration,
		calls, float64(calls)/max(elapsed.Seconds(), 0.001), r.all.Quantile(0.5).Round(time.Microsecond), r.all.Quantile(0.99).Round(time.Microsecond), calls-r.codes["OK"])
}
