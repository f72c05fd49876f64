package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"
)

// scenario is a kind of server under a kind of load.
type scenario struct {
	name     string
	what     string
	calls    []Call
	callers  int     // of the closed loop that finds the capacity
	capacity float64 // calls in a second, where it is known; 0: that of the closed loop
	deadline time.Duration
	critical float64
	throttle bool
	weft     bool // it is about weft alone
	beside   bool // it is run on the other wires as well, to be compared
	loads    []float64
	shape    func(capacity float64, length time.Duration) []Phase // in place of loads
	relays   int
}

const second = time.Second

func scenarios() []scenario {
	return []scenario{
		{name: "compute", what: "handlers that compute for 1 ms", calls: []Call{{"Burn", 1000, 1}}, callers: 4, deadline: 200 * time.Millisecond, critical: 0.04, beside: true},
		{name: "short", what: "handlers that compute for 50 µs, clients of package cluster", calls: []Call{{"Burn", 50, 1}}, callers: 16,
			deadline: 200 * time.Millisecond, throttle: true, weft: true, loads: []float64{1.5, 2, 3}},
		{name: "sleep", what: "handlers that sleep for 20 ms, far from any limit", calls: []Call{{"Sleep", 20_000, 1}}, callers: 1,
			deadline: 200 * time.Millisecond, capacity: 8000, loads: []float64{0.25, 0.5}},
		{name: "pool", what: "handlers that share ten slots of 10 ms", calls: []Call{{"Pool", 0, 1}}, callers: 10,
			deadline: 200 * time.Millisecond, critical: 0.04, beside: true},
		{name: "mix", what: "nine in ten compute for 200 µs, one sleeps for 200 ms", calls: []Call{{"Burn", 200, 0.9}, {"Sleep", 200_000, 0.1}},
			callers: 160, deadline: second, critical: 0.04, loads: []float64{1.5, 3}},
		{name: "step", what: "handlers that sleep for 20 ms, and then for 60: no overload", calls: []Call{{"Sleep", 20_000, 1}}, callers: 1,
			deadline: second, capacity: 2000, shape: func(capacity float64, length time.Duration) []Phase {
				return []Phase{{Name: "20 ms", Rate: capacity, Settle: second, Length: length}, {Name: "60 ms", Rate: capacity, Length: length, SleepMs: 60}}
			}},
		{name: "bursts", what: "six times the capacity for 30 ms of every 300", calls: []Call{{"Burn", 1000, 1}}, callers: 4, deadline: second,
			shape: func(capacity float64, length time.Duration) []Phase {
				return []Phase{{Name: "bursts", Rate: 6 * capacity, Burst: 30 * time.Millisecond, Settle: second, Length: length}}
			}},
		{name: "sleepers", what: "5,000 callers of handlers that sleep for 10 ms", calls: []Call{{"Sleep", 10_000, 1}}, callers: 5000, deadline: 10 * second,
			shape: func(float64, time.Duration) []Phase { return nil }},
		{name: "refusals", what: "256 callers of a method with a limit of one, in a closed loop", calls: []Call{{"One", 50_000, 1}}, callers: 256,
			deadline: second, weft: true, shape: func(float64, time.Duration) []Phase { return nil }},
		{name: "storm", what: "three hops with retries, the last one overloaded", calls: []Call{{"Relay", 1000, 1}}, callers: 4, deadline: 200 * time.Millisecond,
			throttle: true, weft: true, relays: 2, loads: []float64{2, 4}},
	}
}

// child is a process of this program.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// launcher starts processes of this program.
type launcher struct {
	self string
	pin  bool // servers keep to the first processor of the machine, generators to the second
}

func (l launcher) start(as string, args ...string) (*child, error) {
	cmd := exec.Command(l.self, args...)
	if l.pin {
		processor := "0"
		if as == "generator" {
			processor = "1"
		}
		cmd = exec.Command("taskset", append([]string{"-c", processor, l.self}, args...)...)
	}
	cmd.Env = append(os.Environ(), role+"="+as, "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &child{cmd, in, bufio.NewReader(out)}, cmd.Start()
}

// end ends the process, which ends with its standard input.
func (c *child) end() error {
	c.in.Close()
	return c.cmd.Wait()
}

func (l launcher) startServer(o serverOptions) (c *child, at, control string, err error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, "", "", err
	}
	if c, err = l.start("server", string(text)); err != nil {
		return nil, "", "", err
	}
	line, err := c.out.ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(line, &at, &control)
	}
	if err != nil {
		return nil, "", "", errors.Join(fmt.Errorf("the server did not say where it is: %w", err), c.end())
	}
	return c, at, control, nil
}

// run runs the scenario: the closed loop, half and three quarters of the capacity, the loads, and half again; on the wires that
// are compared with weft's the closed loop and the loads.
func (s scenario) run(l launcher, wire string, loads []float64, length time.Duration) (out []*Result, err error) {
	p := Plan{Wire: wire, Conns: 4, Deadline: s.deadline, Critical: s.critical, Throttle: s.throttle, Calls: s.calls}
	o := serverOptions{Wire: wire}
	for hop := range s.relays + 1 {
		c, at, control, err := l.startServer(o)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, c.end()) }()
		p.At, p.Control = at, append(p.Control, control)
		o = serverOptions{Wire: wire, Next: at, Last: hop == 0}
	}
	if s.loads != nil {
		loads = s.loads
	}
	settle := min(length, 2*second)
	p.Phases = []Phase{{Name: "closed loop", Callers: s.callers, Settle: settle, Length: length}}
	first, err := l.plan(p)
	if err != nil {
		return nil, err
	}
	capacity := s.capacity
	if capacity == 0 {
		capacity = float64(first[0].Good) / first[0].Seconds
	}
	switch {
	case s.shape != nil:
		p.Phases = s.shape(capacity, length)
	default:
		if s.capacity == 0 && wire == "weft" {
			loads = append([]float64{0.5, 0.75}, loads...)
		}
		p.Phases = nil
		for _, x := range loads {
			p.Phases = append(p.Phases, Phase{Name: fmt.Sprintf("%g times", x), Load: x, Rate: capacity * x, Settle: settle, Length: length})
		}
		if wire == "weft" {
			p.Phases = append(p.Phases, Phase{Name: "0.5 times again", Load: 0.5, Again: true, Rate: capacity / 2, Settle: 4 * second, Length: max(length/2, second)})
		}
	}
	if len(p.Phases) == 0 {
		return first, nil
	}
	rest, err := l.plan(p)
	return append(first, rest...), err
}

// plan runs a generator process.
func (l launcher) plan(p Plan) (out []*Result, err error) {
	c, err := l.start("generator")
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(c.in).Encode(p); err != nil {
		return nil, errors.Join(err, c.end())
	}
	for d := json.NewDecoder(c.out); ; {
		r := new(Result)
		if err := d.Decode(r); errors.Is(err, io.EOF) {
			return out, c.end()
		} else if err != nil {
			return nil, errors.Join(err, c.end())
		}
		out = append(out, r)
	}
}

// goodput is that of a phase as a share of what the closed loop had, by the clock and by the
// server's processor time.
func (s scenario) goodput(first, r *Result) (clock, cpu float64) {
	best := float64(first.Good) / first.Seconds
	if s.capacity > 0 {
		best = s.capacity
	}
	offered := float64(r.Offered) / r.Seconds
	clock = float64(r.Good) / r.Seconds / min(best, max(offered, 1))
	if first.CPU > 0 && r.CPU > 0 {
		cpu = float64(r.Good) / r.CPU / (float64(first.Good) / first.CPU)
	}
	return clock, cpu
}

// report prints the results.
func report(to io.Writer, wire string, s scenario, results []*Result) {
	fmt.Fprintf(to, "%s, %s: %s, deadline %v\n", wire, s.name, s.what, s.deadline)
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "load\toffered/s\tp99 begun after\tgood/s\tof possible\tby processor\tp50\tp99\twaited\tran\toutside\trefused\tp99 of these\theld back\tfailed\tcritical\tMiB\tattempts\t")
	for _, r := range results {
		clock, cpu := s.goodput(results[0], r)
		refused := refusedOf(r)
		critical := "-"
		if r.Critical > 0 {
			critical = fmt.Sprintf("%.1f %%", 100*float64(r.CritGood)/float64(r.Critical))
		}
		fmt.Fprintf(w, "%s\t%.0f\t%v\t%.0f\t%.0f %%\t%.0f %%\t%v\t%v\t%v\t%v\t%v\t%.1f %%\t%v\t%.1f %%\t%.1f %%\t%s\t%d\t%s\t\n", r.Phase.Name,
			float64(r.Offered)/r.Seconds, short(r.Begun), float64(r.Good)/r.Seconds, 100*clock, 100*cpu,
			r.P50.Round(100*time.Microsecond), short(r.P99), short(r.Waited), short(r.Ran), short(r.Outside), share(refused, r), r.RefuseP99.Round(100*time.Microsecond),
			share(r.Throttled, r), share(r.Failed, r), critical, r.Most>>20, attempts(r))
	}
	_ = w.Flush()
	for _, r := range results {
		if o := r.Reports[0].Overload; len(o.Decisions) > 0 {
			fmt.Fprintf(to, "  %s: limit %d, %d in flight, wait %.2f, methods %v, refused %v, critical ones lost %v; %s\n", r.Phase.Name, o.Limit, o.InFlight, o.Wait, o.Methods, r.Refused, r.CritLost, o.Decisions[0].Text)
		}
	}
	for _, r := range results {
		if r.Error != "" {
			fmt.Fprintf(to, "  %s: a failure: %s\n", r.Phase.Name, r.Error)
		}
	}
	fmt.Fprintln(to)
}

func share(n int, r *Result) float64 { return 100 * float64(n) / float64(max(r.Offered, 1)) }

// attempts is how many attempts each relay made for a call.
func attempts(r *Result) string {
	var all []string
	for _, x := range r.Reports {
		if x.Made > 0 {
			all = append(all, fmt.Sprintf("%.2f", float64(x.Attempts)/float64(x.Made)))
		}
	}
	return strings.Join(all, " ")
}
