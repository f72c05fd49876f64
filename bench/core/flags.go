package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft/bench/internal/harness"
	"github.com/weftrpc/weft/bench/internal/msg"
)

// settings is what the flags say.
type settings struct {
	plan   harness.Plan
	out    string
	commit string
}

// parse reads the flags. Values that make no sense are an error before anything
// is started.
func parse(args []string, stderr io.Writer) (*settings, error) {
	var names []string
	for _, p := range peers() {
		names = append(names, p.Name())
	}
	flags := flag.NewFlagSet("core", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var (
		who      = flags.String("peers", strings.Join(names, ","), "peers, each `name`, name:conns or name:each (a connection per caller)")
		codecs   = flags.String("codecs", "raw,vtproto,google", "codecs")
		callers  = flags.String("callers", "", "numbers of callers (default depends on the workload)")
		workload = flags.String("workload", "say", "say, slow, sleep or large; the last three run beside say")
		conns    = flags.Int("conns", 0, "connections for peers without a number of their own; 0 lets each peer choose")
		rounds   = flags.Int("rounds", 3, "how often to repeat everything")
		seconds  = flags.Float64("seconds", 3, "measured time of a run")
		calls    = flags.Int64("calls", 0, "measure this many calls in place of a time")
		warmup   = flags.Duration("warmup", time.Second, "least time to warm up; up to three times as long until the rate is steady")
		out      = flags.String("out", "", "append the records to this `file` too")
		commit   = flags.String("commit", "", "what to write as commit (default: ask git)")
	)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *rounds < 1 || *seconds <= 0 || *calls < 0 || *warmup <= 0 || *conns < 0 {
		return nil, errors.New("-rounds, -seconds and -warmup must be positive, -calls and -conns not negative")
	}
	s := &settings{out: *out, commit: *commit, plan: harness.Plan{
		Rounds:  *rounds,
		Warmup:  *warmup,
		Measure: time.Duration(*seconds * float64(time.Second)),
		Calls:   *calls,
	}}
	work, err := harness.ParseWorkload(*workload)
	if err != nil {
		return nil, err
	}
	s.plan.Workloads = []harness.Workload{harness.Say}
	if work != harness.Say {
		s.plan.Workloads = append(s.plan.Workloads, work)
	}
	if *callers == "" {
		*callers = defaultCallers(work)
	}
	if s.plan.Entries, err = list(*who, entry(*conns)); err != nil {
		return nil, fmt.Errorf("-peers: %w", err)
	}
	if s.plan.Codecs, err = list(*codecs, msg.ParseCodec); err != nil {
		return nil, fmt.Errorf("-codecs: %w", err)
	}
	if s.plan.Callers, err = list(*callers, positive); err != nil {
		return nil, fmt.Errorf("-callers: %w", err)
	}
	return s, nil
}

// defaultCallers are those whose figures the workload is about.
func defaultCallers(work harness.Workload) string {
	switch work {
	case harness.Slow:
		return "100,1000"
	case harness.Sleep:
		return "1000,5000"
	case harness.Large:
		return "1,100"
	}
	return "1,100,1000,5000"
}

// entry reads a peer; conns is for one that names no number itself.
func entry(conns int) func(string) (harness.Entry, error) {
	return func(label string) (harness.Entry, error) {
		e, err := peers().ParseEntry(label)
		if err == nil && e.Conns == 0 {
			e.Conns = conns
		}
		return e, err
	}
}

func positive(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is not a positive number", text)
	}
	return n, nil
}

// list reads words between commas.
func list[T any](text string, read func(string) (T, error)) ([]T, error) {
	var all []T
	for word := range strings.SplitSeq(text, ",") {
		one, err := read(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}
