package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/runner"
)

// settings are the flags.
type settings struct {
	scope     scope
	peers     []string // labels; empty: as the scope has it
	with      []string // further programs
	codecs    []string
	callers   []int
	workloads []contract.Workload
	rounds    int
	seconds   float64
	warmup    time.Duration
	calls     int64
	out       string
	commit    string
	list      bool
}

// parse reads the flags. Values that make no sense are an error before anything
// is started.
func parse(args []string, stderr io.Writer) (*settings, error) {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var s settings
	var (
		plan      = flags.String("plan", string(quick), "core (weft's own goals), quick (ten minutes), full (what is published: some three hours) or doors (stock clients with their own servers and with weft's)")
		peers     = flags.String("peers", "", "peers, each `name`, name:conns or name:each (a connection per caller); default: all that the plan has")
		with      = flags.String("with", "", "further `programs` that understand the contract")
		codecs    = flags.String("codecs", "", "codecs (default: each peer's best, and in the plan full all but raw for echo)")
		callers   = flags.String("callers", "", "numbers of callers (default depends on plan and workload)")
		workloads = flags.String("workloads", "", "echo, slow, delay, mixed, large, math, math-new (default depends on the plan; in the plan full: these of its points)")
	)
	flags.IntVar(&s.rounds, "rounds", 0, "how often to repeat everything (default: 1 for quick, 3 otherwise)")
	flags.Float64Var(&s.seconds, "seconds", 0, "measured time of a run (default: 2 for quick, 3 otherwise)")
	flags.DurationVar(&s.warmup, "warmup", 0, "least time to warm up; up to three times as long until the rate is steady (default 1s, or what the peer needs)")
	flags.Int64Var(&s.calls, "calls", 0, "measure this many calls in place of a time")
	flags.StringVar(&s.out, "out", "", "append the records to this `file`")
	flags.StringVar(&s.commit, "commit", "", "what to write as commit (default: ask git)")
	flags.BoolVar(&s.list, "list", false, "list the peers that there are, and stop")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if s.rounds < 0 || !(s.seconds >= 0 && s.seconds <= 3600) || s.calls < 0 || s.warmup < 0 {
		return nil, errors.New("-rounds, -seconds, -warmup and -calls must not be negative, and a run takes at most an hour")
	}
	var err error
	if s.scope, err = parseScope(*plan); err != nil {
		return nil, err
	}
	s.peers, s.with, s.codecs = words(*peers), words(*with), words(*codecs)
	for _, word := range words(*workloads) {
		w, err := contract.ParseWorkload(word)
		if err != nil {
			return nil, fmt.Errorf("-workloads: %w", err)
		}
		s.workloads = append(s.workloads, w)
	}
	for _, word := range words(*callers) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-callers: %q is not a positive number", word)
		}
		s.callers = append(s.callers, n)
	}
	if s.rounds == 0 {
		s.rounds = s.scope.rounds()
	}
	if s.seconds == 0 {
		s.seconds = s.scope.seconds()
	}
	return &s, nil
}

// words are those between commas.
func words(text string) []string {
	var all []string
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			all = append(all, word)
		}
	}
	return all
}

// entries are the peers asked for, each with each of its codecs asked for.
func (s *settings) entries(peers []runner.Peer) ([]runner.Entry, error) {
	labels := s.peers
	if len(labels) == 0 {
		labels = s.scope.peers(peers)
	}
	var all []runner.Entry
	for _, label := range labels {
		e, err := runner.Find(peers, label)
		if err != nil {
			return nil, fmt.Errorf("-peers: %w", err)
		}
		codecs := s.codecs
		if len(codecs) == 0 {
			codecs = s.scope.codecs(e.Peer)
		}
		for _, codec := range codecs {
			if slices.Contains(e.Peer.Codecs, codec) {
				e.Codec = codec
				all = append(all, e)
			}
		}
	}
	for _, codec := range s.codecs {
		if !slices.ContainsFunc(peers, func(p runner.Peer) bool { return slices.Contains(p.Codecs, codec) }) {
			return nil, fmt.Errorf("-codecs: no peer has a codec %q", codec)
		}
	}
	return all, nil
}

// plan is what is to be run.
func (s *settings) plan(peers []runner.Peer) (*runner.Plan, error) {
	entries, err := s.entries(peers)
	if err != nil {
		return nil, err
	}
	return &runner.Plan{
		Entries: entries,
		Points:  s.points(),
		Rounds:  s.rounds,
		Warmup:  s.warmup,
		Measure: time.Duration(s.seconds * float64(time.Second)),
	}, nil
}
