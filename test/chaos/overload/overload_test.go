package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Servers under several times what they can do answer nearly as many calls as ever, critical
// ones first, in time and in bounded memory; below that, and for handlers that sleep, nothing is refused.
// Servers and generators are processes without the race detector.
//
// What a server can do is known only while nothing else wants the processors. So goodput is compared by
// the processor time that the server had, a scenario has four tries, and one of them in which other
// processes took more than a tenth of the machine does not fail the test. When fewer than two tries
// were left alone, the test asks only for what holds on any machine, and says so.
func TestOverload(t *testing.T) {
	self := filepath.Join(t.TempDir(), "overload")
	if out, err := exec.Command("go", "build", "-race=false", "-o", self, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, c := range []struct {
		name  string
		loads []float64
		check func(s scenario, r []*Result) error
	}{
		{"compute", []float64{4, 10}, func(s scenario, r []*Result) error {
			return errors.Join(calm(r[1]), loaded(s, r[0], r[3], true, 0.7), loaded(s, r[0], r[4], true, 0.7), calm(r[5]))
		}},
		{"pool", []float64{4, 10}, func(s scenario, r []*Result) error {
			return errors.Join(calm(r[1]), loaded(s, r[0], r[3], false, 0.7), loaded(s, r[0], r[4], false, 0.7), calm(r[5]))
		}},
		{"mix", []float64{1.5}, func(s scenario, r []*Result) error {
			return errors.Join(calm(r[1]), loaded(s, r[0], r[3], true, 0.7), calm(r[4]))
		}},
		{"sleepers", nil, func(_ scenario, r []*Result) error {
			if r[0].Good == 0 || len(r[0].Refused) > 0 {
				return fmt.Errorf("of %d calls %d were answered, %v refused", r[0].Offered, r[0].Good, r[0].Refused)
			}
			return nil
		}},
		{"storm", []float64{2}, func(_ scenario, r []*Result) error {
			for _, x := range r[3].Reports {
				if x.Made > 0 && float64(x.Attempts) > 1.15*float64(x.Made) {
					return fmt.Errorf("%d attempts for %d calls", x.Attempts, x.Made)
				}
			}
			return calm(r[4])
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var err, survived error
			alone, taken := 0, 0.0
			for try := range 4 {
				for _, s := range scenarios() {
					if s.name != c.name {
						continue
					}
					s.loads = c.loads
					others := watchOthers()
					results, runErr := s.run(launcher{self: self}, "weft", c.loads, 2*time.Second)
					if runErr != nil {
						t.Fatal(runErr)
					}
					var text strings.Builder
					report(&text, "weft", s, results)
					taken = others()
					t.Logf("try %d, in which other processes took %.0f %% of the machine\n%s", try+1, 100*taken, text.String())
					failed := c.check(s, results)
					if failed == nil {
						return
					}
					if taken <= 0.1 {
						alone, err = alone+1, failed
					}
					survived = errors.Join(survived, survives(results))
				}
			}
			if alone >= 2 {
				t.Error(err)
				return
			}
			t.Logf("other processes took much of the machine: only memory, answers and refusals were judged")
			if survived != nil {
				t.Error(survived)
			}
		})
	}
}

// survives wants what holds however little of the processors a server gets: there are answers, and the
// memory is bounded.
func survives(results []*Result) error {
	for _, r := range results {
		switch {
		case r.Good == 0:
			return fmt.Errorf("%s: of %d calls none was answered in time", r.Phase.Name, r.Offered)
		case r.Most > results[0].Most+64<<20:
			return fmt.Errorf("%s: the server grew from %d to %d bytes", r.Phase.Name, results[0].Most, r.Most)
		}
	}
	return nil
}

// calm wants that hardly a call was refused, and nearly all were answered in time.
func calm(r *Result) error {
	if refused := refusedOf(r); refused*50 > r.Offered || r.Good*100 < 95*r.Offered {
		return fmt.Errorf("%s: of %d calls %d were answered in time, %v refused", r.Phase.Name, r.Offered, r.Good, r.Refused)
	}
	return nil
}

// loaded wants a share of the goodput of the closed loop, by processor time or by the clock,
// bounded memory, and critical calls to fare much better than others.
func loaded(s scenario, first, r *Result, byProcessor bool, least float64) error {
	clock, cpu := s.goodput(first, r)
	got := clock
	if byProcessor && cpu > 0 {
		got = cpu
	}
	if got < least {
		return fmt.Errorf("%s: goodput is %.0f %% of that of the closed loop, want %.0f", r.Phase.Name, 100*got, 100*least)
	}
	if len(r.Refused) == 0 {
		return fmt.Errorf("%s: nothing was refused", r.Phase.Name)
	}
	if r.Most > first.Most+64<<20 {
		return fmt.Errorf("%s: the server grew from %d to %d bytes", r.Phase.Name, first.Most, r.Most)
	}
	if r.Critical > 0 && r.CritGood*10 < r.Critical*9 {
		return fmt.Errorf("%s: of %d critical calls %d were answered in time", r.Phase.Name, r.Critical, r.CritGood)
	}
	return nil
}

// The arguments are checked.
func TestParseLoads(t *testing.T) {
	if got, err := parseLoads("1.5,4"); err != nil || len(got) != 2 || got[0] != 1.5 {
		t.Errorf("got %v, %v", got, err)
	}
	for _, text := range []string{"", "x", "0", "-1", "1000"} {
		if _, err := parseLoads(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
	if os.Getenv(role) != "" {
		t.Errorf("%s is set", role)
	}
}

// What is asked for is judged by what was measured.
func TestDemands(t *testing.T) {
	phase := func(load float64, good, p99 int, again bool) *Result {
		return &Result{Phase: Phase{Name: "x", Load: load, Again: again}, Seconds: 1, Offered: max(good, int(1000*load)), Good: good, CPU: 1,
			P99: time.Duration(p99) * time.Millisecond, Critical: 100, CritGood: 99, Refused: map[string]int{}}
	}
	results := func(good, p99 int) []*Result {
		return []*Result{phase(0, 1000, 5, false), phase(0.5, 500, 5, false), phase(0.75, 750, 5, false), phase(2, good, p99, false), phase(0.5, 500, 5, true)}
	}
	verdicts := func(all runs) map[string]string {
		out := make(map[string]string)
		for _, l := range demands(all) {
			name, _, _ := strings.Cut(l.What, ":")
			out[name] = l.Verdict
		}
		return out
	}
	compute := scenarios()[0]
	good := verdicts(runs{{"weft", compute, results(950, 15)}, {"grpc", compute, results(10, 1)}})
	bad := verdicts(runs{{"weft", compute, results(850, 16)}})
	for name, want := range map[string]string{"goodput, compute": "missed", "slowest 1 % of accepted calls, compute": "missed", "critical calls, compute": "met",
		"memory of the server above that of the closed loop, all scenarios": "met"} {
		if bad[name] != want || good[name] != "met" {
			t.Errorf("%s: %q and %q, want %q and met", name, bad[name], good[name], want)
		}
	}
	if v, ok := good["goodput, compute, grpc-go, 2 times"]; !ok || v != "" {
		t.Errorf("grpc-go is judged %q, %v", v, good)
	}
	name := filepath.Join(t.TempDir(), "doc.md")
	if err := os.WriteFile(name, []byte("a <!-- overload:begin --> b <!-- overload:end --> c"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := publish(name, demands(runs{{"weft", compute, results(950, 15)}}), time.Second); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(text), "| 90 % | 95 %") || !strings.HasPrefix(string(text), "a <") {
		t.Errorf("%s, %v", text, err)
	}
}

// Calls are counted from when the processor time is, unless hardly anything of the phase is left then.
func TestCountedFrom(t *testing.T) {
	began := time.Unix(100, 0)
	end := began.Add(10 * time.Second)
	for at, want := range map[time.Duration]struct {
		from  time.Duration
		timed bool
	}{
		-time.Second: {0, true}, 0: {0, true}, 2 * time.Second: {2 * time.Second, true}, 5 * time.Second: {5 * time.Second, true},
		6 * time.Second: {0, false}, 9999 * time.Millisecond: {0, false}, 11 * time.Second: {0, false},
	} {
		r := Report{At: began.Add(at).UnixNano()}
		if from, timed := r.countedFrom(began, end); from.Sub(began) != want.from || timed != want.timed {
			t.Errorf("a report %v after the beginning: counted from %v, %v, want %v", at, from.Sub(began), timed, want)
		}
	}
	// Without the processor time goodput is judged by the clock, and what a refusal costs is not known.
	compute := scenarios()[0]
	first := &Result{Seconds: 1, Offered: 1000, Good: 1000, CPU: 1}
	late := &Result{Phase: Phase{Load: 2}, Seconds: 1, Offered: 2000, Good: 950, Refused: map[string]int{"x": 1050}}
	if _, cpu := compute.goodput(first, late); cpu != 0 {
		t.Errorf("goodput by processor time is %v, want none", cpu)
	}
	if err := loaded(compute, first, late, true, 0.9); err != nil {
		t.Error(err)
	}
	for _, s := range scenarios() {
		if s.name != "refusals" {
			continue
		}
		for _, l := range demands(runs{{"weft", s, []*Result{late}}}) {
			if strings.HasPrefix(l.What, "a refusal,") && (l.Verdict != "missed" || strings.Contains(l.Measured, "µs")) {
				t.Errorf("%+v", l)
			}
		}
	}
}

// The time until all is as before is that of the last moment in which it was not.
func TestUsualAfter(t *testing.T) {
	began := time.Now()
	var all []sample
	for i := range 400 { // one every 10 ms
		s := sample{due: began.Add(time.Duration(i) * 10 * time.Millisecond), took: time.Millisecond}
		if i < 100 && i%2 == 0 {
			s.err = errors.New("refused")
		}
		all = append(all, s)
	}
	if got := usualAfter(all, began, time.Second); got != time.Second {
		t.Errorf("all is as before after %v, want a second", got)
	}
}
