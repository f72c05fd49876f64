package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/runner"
)

const (
	callers = 4
	calls   = 400
	warmup  = 200 * time.Millisecond
	measure = time.Second // an open loop at half the rate takes as long as it needs

	slowMicros  = 5_000  // what a call of Hello.Slow takes at least
	delayMicros = 10_000 // and one of Hello.Sleep
)

// checkCalls makes calls with one codec of a peer: each of its workloads, and
// for echo two servers and an open loop as well. It returns an error only when
// the check itself cannot go on.
func checkCalls(ctx context.Context, p runner.Peer, codec string, stderr io.Writer, tell func(string, error)) error {
	n := callers
	if p.MaxCallers > 0 {
		n = min(n, p.MaxCallers)
	}
	plan := runner.Plan{
		Entries: []runner.Entry{{Label: p.Peer, Peer: p, Codec: codec}},
		Rounds:  1, Warmup: warmup, Measure: measure, Stderr: stderr,
	}
	for _, w := range p.Workloads {
		if !p.Supports(w, codec) {
			continue
		}
		plan.Points = append(plan.Points, runner.Point{Workload: w, Callers: n, Calls: calls})
		if w == contract.Echo {
			plan.Points = append(plan.Points,
				runner.Point{Workload: w, Callers: n, Calls: calls, Share: 0.5},
				runner.Point{Workload: w, Callers: n, Calls: calls, Servers: 2})
		}
	}
	if len(plan.Points) == 0 {
		tell(p.Peer+" "+codec, fmt.Errorf("no workload of %q works with this codec", p.Workloads))
		return nil
	}
	return plan.Run(ctx, func(runner.Progress, runner.Record) {}, func(r runner.Record) error {
		tell(r.Title(), judge(r))
		return nil
	})
}

// judge reports what is wrong with a run that was to make so many calls.
func judge(r runner.Record) error {
	switch {
	case r.Skipped != "":
		return fmt.Errorf("it could not be tried: %s", r.Skipped)
	case r.Failures > 0:
		return fmt.Errorf("%d failures, the first: %s", r.Failures, r.FirstError)
	case r.Calls != calls:
		return fmt.Errorf("it made %d main calls, -calls asked for %d", r.Calls, calls)
	case r.Conns < 1:
		return fmt.Errorf("conns is %d, and yet it made calls", r.Conns)
	case r.Workload == contract.Delay && r.Min < delayMicros:
		return fmt.Errorf("a call took %.0f µs, but the server sleeps 10 ms", r.Min)
	case r.Workload == contract.Slow && r.SideCalls > 0 && r.SideMean < slowMicros:
		return fmt.Errorf("side calls took %.0f µs in the mean, but the server sleeps 5 ms", r.SideMean)
	case (r.Workload == contract.Mixed || r.Workload == contract.Large) && r.SideCalls == 0:
		return fmt.Errorf("no side call was counted, but one caller more makes nothing else")
	}
	return nil
}
