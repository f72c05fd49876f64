package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// run is what a scenario was like on a wire.
type run struct {
	wire     string
	scenario scenario
	results  []*Result
}

// runs are all that were made.
type runs []run

// of returns the run of a scenario on a wire; nil: there was none.
func (all runs) of(wire, name string) *run {
	i := slices.IndexFunc(all, func(r run) bool { return r.wire == wire && r.scenario.name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// loads are the phases of a run with more calls than the server can answer.
func (r *run) loads() []*Result {
	return r.phases(func(p *Result) bool { return p.Phase.Load > 1 })
}

func (r *run) phases(which func(*Result) bool) (out []*Result) {
	for _, p := range r.results {
		if which(p) {
			out = append(out, p)
		}
	}
	return out
}

// half is the phase at half of the capacity; nil: there was none.
func (r *run) half() *Result {
	if all := r.phases(func(p *Result) bool { return p.Phase.Load == 0.5 && !p.Phase.Again }); len(all) > 0 {
		return all[0]
	}
	return nil
}

// Line is what was asked for, and what was measured.
type Line struct{ What, Asked, Measured, Verdict string }

// verdict reports whether what was asked for was measured.
func verdict(met bool) string {
	if met {
		return "met"
	}
	return "missed"
}

// demands compares all that was measured with what is asked for. What was not run has no line.
func demands(all runs) (out []Line) {
	add := func(what, asked, measured string, met bool) {
		out = append(out, Line{what, asked, measured, verdict(met)})
	}
	for _, name := range []string{"compute", "short", "pool", "mix"} {
		if r := all.of("weft", name); r != nil && len(r.loads()) > 0 {
			goodputLines(r, add)
		}
	}
	if r := all.of("weft", "bursts"); r != nil {
		clock, cpu := r.scenario.goodput(r.results[0], r.results[len(r.results)-1])
		add("goodput, "+r.scenario.what, "75 %", fmt.Sprintf("%.0f %%; by processor time %.0f %%", 100*clock, 100*cpu), clock >= 0.75)
	}
	for _, name := range []string{"compute", "pool", "mix"} {
		if r := all.of("weft", name); r != nil && r.half() != nil && len(r.loads()) > 0 {
			worst, half := time.Duration(0), r.half().P99
			for _, p := range r.loads() {
				worst = max(worst, p.P99)
			}
			add("slowest 1 % of accepted calls, "+name, "3 times that at half load", fmt.Sprintf("%v, at half load %v", short(worst), short(half)), worst <= 3*half)
		}
	}
	for _, name := range []string{"compute", "pool", "mix"} {
		if r := all.of("weft", name); r != nil && len(r.loads()) > 0 {
			text, least := list(r.loads(), func(p *Result) float64 { return 100 * float64(p.CritGood) / float64(max(p.Critical, 1)) }, "%.1f")
			add("critical calls, "+name, "99 %", text+" %", least >= 99)
		}
	}
	memoryLine(all, add)
	backLine(all, add)
	calmLines(all, add)
	if r := all.of("weft", "refusals"); r != nil {
		p := r.results[0]
		each := p.CPU * 1e6 / float64(max(refusedOf(p), 1))
		measured := fmt.Sprintf("%.2f µs, of which the decision takes %.3f µs", each, micros(costOfRefusal()))
		if p.CPU == 0 {
			measured = "the server told its processor time too late"
		}
		add("a refusal, of the server's processor time, with reading the request and writing the answer", "1 µs", measured, p.CPU > 0 && each <= 1)
	}
	if all.of("weft", "compute") != nil {
		cost := micros(costOfCall())
		add("cost of the protection for each call", "0.1 µs", fmt.Sprintf("%.3f µs", cost), cost <= 0.1)
	}
	stormLine(all, add)
	for _, wire := range []string{"grpc", "off"} {
		for _, name := range []string{"compute", "pool"} {
			if r := all.of(wire, name); r != nil && len(r.loads()) > 0 {
				text, _ := list(r.loads(), r.share, "%.0f")
				out = append(out, Line{What: "goodput, " + name + ", " + map[string]string{"grpc": "grpc-go", "off": "without protection"}[wire] + at(r), Measured: text + " %"})
			}
		}
	}
	return out
}

type adder func(what, asked, measured string, met bool)

// goodputLines judges goodput: by processor time where handlers compute, which other programs of the machine do not
// disturb, and by the clock where they wait.
func goodputLines(r *run, add adder) {
	text, least := list(r.loads(), r.share, "%.0f")
	clock, _ := list(r.loads(), func(p *Result) float64 { c, _ := r.scenario.goodput(r.results[0], p); return 100 * c }, "%.0f")
	measured := text + " %"
	if r.scenario.name != "pool" {
		measured += "; by the clock " + clock + " %"
	}
	if late := r.late(); late > r.scenario.deadline/4 {
		measured += fmt.Sprintf("; disturbed: the generator began calls %v late", short(late))
	}
	add("goodput, "+r.scenario.name+": "+r.scenario.what+at(r), "90 %", measured, least >= 90)
}

// late is how late the generator was in the worst of the loads. Calls that begin late miss their deadlines whatever the server does.
func (r *run) late() (worst time.Duration) {
	for _, p := range r.loads() {
		worst = max(worst, p.Begun)
	}
	return worst
}

// share is the goodput of a phase, in percent of that of the closed loop.
func (r *run) share(p *Result) float64 {
	clock, cpu := r.scenario.goodput(r.results[0], p)
	if r.scenario.name == "pool" || cpu == 0 {
		return 100 * clock
	}
	return 100 * cpu
}

// at names the loads of a run.
func at(r *run) string {
	text, _ := list(r.loads(), func(p *Result) float64 { return p.Phase.Load }, "%g")
	return ", " + text + " times"
}

func memoryLine(all runs, add adder) {
	most := int64(0)
	for _, r := range all {
		if r.wire == "weft" {
			for _, p := range r.results {
				most = max(most, p.Most-r.results[0].Most)
			}
		}
	}
	add("memory of the server above that of the closed loop, all scenarios", "64 MiB", fmt.Sprintf("%d MiB", most>>20), most <= 64<<20)
}

func backLine(all runs, add adder) {
	longest, found := time.Duration(0), false
	var each []string
	for _, r := range all {
		for _, p := range r.results {
			if r.wire == "weft" && p.Phase.Again && len(r.loads()) > 0 {
				found = true
				longest = max(longest, p.Back)
				each = append(each, fmt.Sprintf("%s %.2g s", r.scenario.name, p.Back.Seconds()))
			}
		}
	}
	if found {
		add("until 95 % of the calls are answered in time again, at half load after the highest", "5 s", strings.Join(each, ", "), longest <= 5*time.Second)
	}
}

// calmLines judges that nothing is refused where the server can answer all, and where handlers only sleep.
func calmLines(all runs, add adder) {
	sum := func(which func(run, *Result) bool) (refused, offered int) {
		for _, r := range all {
			for _, p := range r.results {
				if r.wire == "weft" && which(r, p) {
					refused += refusedOf(p)
					offered += p.Offered
				}
			}
		}
		return refused, offered
	}
	sleeps := func(r run) bool { return r.scenario.name == "sleep" || r.scenario.name == "sleepers" }
	if refused, offered := sum(func(r run, p *Result) bool {
		return !sleeps(r) && p.Phase.Load > 0 && p.Phase.Load < 0.8 && !p.Phase.Again
	}); offered > 0 {
		add("calls refused below 0.8 of the capacity", "none", fmt.Sprintf("%d of %d", refused, offered), refused == 0)
	}
	if refused, offered := sum(func(r run, _ *Result) bool { return sleeps(r) }); offered > 0 {
		add("calls refused of handlers that sleep, 5,000 callers among them", "none", fmt.Sprintf("%d of %d", refused, offered), refused == 0)
	}
	if r := all.of("weft", "step"); r != nil {
		p := r.results[len(r.results)-1]
		part := share(refusedOf(p), p)
		add("calls refused when a dependency goes from 20 to 60 ms, which looks like a queue until it was probed", "5 %", fmt.Sprintf("%.1f %%", part), part <= 5)
	}
}

func stormLine(all runs, add adder) {
	r := all.of("weft", "storm")
	if r == nil {
		return
	}
	var each []string
	worst := 0.0
	for _, p := range r.loads() {
		for _, x := range p.Reports {
			if x.Made > 0 {
				n := float64(x.Attempts) / float64(x.Made)
				worst = max(worst, n)
				each = append(each, fmt.Sprintf("%.2f", n))
			}
		}
	}
	add("attempts a call, "+r.scenario.what+at(r), "1.15", strings.Join(each, ", "), worst <= 1.15)
}

// refusedOf is how many calls of a phase were refused.
func refusedOf(p *Result) (n int) {
	for _, of := range p.Refused {
		n += of
	}
	return n
}

// list writes a figure of each phase, and returns the least.
func list(phases []*Result, of func(*Result) float64, format string) (text string, least float64) {
	var all []string
	for i, p := range phases {
		v := of(p)
		all = append(all, fmt.Sprintf(format, v))
		if i == 0 || v < least {
			least = v
		}
	}
	return strings.Join(all, ", "), least
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func short(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

// printLines prints what was asked for and measured.
func printLines(to io.Writer, lines []Line) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, l := range lines {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l.Verdict, l.What, l.Asked, l.Measured)
	}
	_ = w.Flush()
}
