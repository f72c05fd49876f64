// Package load measures how a method behaves under calls.
package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
)

const benchHelp = `Makes many calls of a unary method, and tells how long they take. With --rate calls are begun at that rate whether
earlier ones have ended or not, as many callers would do (an open loop); the time of a call counts from when it was due,
so that a server that stands still is seen in the figures. Without --rate a number of callers makes one call after the
other (a closed loop). The calls of the first second do not count. Ctrl-C ends it, and the figures so far are written;
calls that take more than a second from then on do not count.

--compare reads the JSON of an earlier run (-o json) and tells the ratios of the figures, with their noise: by how much
they may be off by chance, going by how much the thirty parts of the measured time differ. With --max-ratio the exit code
is 1 when the time of half or of 99 of 100 calls has grown beyond that, and beyond the noise. --html writes a page with
plots, which needs no other file. On a terminal the figures so far are shown while it runs.

Messages are JSON, so the figures are those of JSON. The exit code is 3 when more calls fail than --max-errors allows.
One call is made before: with --max-errors 0 its error ends the command, otherwise only that of a method or request that
the server does not take.`

const benchExamples = `  weft bench Arith.Mul '{"A":6,"B":7}' --rate 1000 --duration 30s
  weft bench tcp://127.0.0.1:8972 Arith.Mul '{"A":6,"B":7}' --callers 50 --duration 10s
  weft bench tcp://127.0.0.1:8972 Arith.Mul --rate 500 --duration 3s -o json >before.json
  weft bench tcp://127.0.0.1:8972 Arith.Mul --rate 500 --duration 3s --compare before.json --html report.html`

// options are the flags of bench.
type options struct {
	rate      float64
	callers   int
	duration  time.Duration
	warmUp    time.Duration
	maxErrors float64
	pending   int
	compare   string
	html      string
	maxRatio  float64
	unknown   bool
}

// BenchCommand measures a method.
func BenchCommand(p *shell.Shell) *cobra.Command {
	o := new(options)
	cmd := &cobra.Command{
		Use: "bench [address] Service.Method [JSON]", GroupID: shell.GroupCall, Short: "Measure a method under many calls", Long: benchHelp, Example: benchExamples,
		Args: shell.Arguments(1, 3), ValidArgsFunction: target.CompleteMethod(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			address, rest := target.Split(args)
			if len(rest) == 0 || len(rest) > 2 || !strings.Contains(rest[0], ".") {
				return fmt.Errorf("bench: want Service.Method and perhaps its request; %w", shell.ErrUsage)
			}
			if err := o.check(); err != nil {
				return err
			}
			return bench(cmd.Context(), p, o, address, rest)
		},
	}
	f := cmd.Flags()
	f.Float64Var(&o.rate, "rate", 0, "begin this `number` of calls in a second; 0: a closed loop")
	f.IntVar(&o.callers, "callers", 16, "the `number` of callers of a closed loop")
	f.DurationVar(&o.duration, "duration", 10*time.Second, "the `time` that is measured")
	f.DurationVar(&o.warmUp, "warm-up", time.Second, "the `time` before it, which is not")
	f.Float64Var(&o.maxErrors, "max-errors", 0, "the `share` of calls that may fail, from 0 to 1")
	f.IntVar(&o.pending, "pending", 10000, "the `number` of calls of an open loop that may be under way")
	f.StringVar(&o.compare, "compare", "", "compare with the `file` that an earlier run has written with -o json")
	f.Float64Var(&o.maxRatio, "max-ratio", 0, "with --compare, exit with 1 when times have grown by more than this `factor`; 0: never")
	f.BoolVar(&o.unknown, "allow-unknown", false, "send fields too that the server does not describe, as of 'weft call'")
	f.StringVar(&o.html, "html", "", "write a page with plots to this `file`")
	return cmd
}

// check says what is wrong with the flags.
func (o *options) check() error {
	switch {
	case o.rate < 0 || o.rate > 1e6:
		return fmt.Errorf("--rate is %g, want 0 to 1000000; %w", o.rate, shell.ErrUsage)
	case o.callers < 1 || o.callers > 10000 || o.pending < 1 || o.pending > 100000:
		return fmt.Errorf("--callers is %d and --pending %d, want 1 to 10000 and 1 to 100000; %w", o.callers, o.pending, shell.ErrUsage)
	case o.duration <= 0 || o.warmUp < 0:
		return fmt.Errorf("--duration is %v and --warm-up %v, want more than 0, and no less; %w", o.duration, o.warmUp, shell.ErrUsage)
	case o.maxRatio != 0 && (o.maxRatio < 1 || o.compare == ""):
		return fmt.Errorf("--max-ratio is %g, want 1 or more, and --compare; %w", o.maxRatio, shell.ErrUsage)
	case o.maxErrors < 0 || o.maxErrors > 1:
		return fmt.Errorf("--max-errors is %g, want 0 to 1; %w", o.maxErrors, shell.ErrUsage)
	}
	return nil
}

func bench(ctx context.Context, p *shell.Shell, o *options, address string, args []string) error {
	request := "{}"
	if len(args) > 1 {
		request = args[1]
	}
	var old *summary
	var err error
	if o.compare != "" {
		if old, err = readOld(o.compare); err != nil {
			return err
		}
	}
	dialing, cancel := target.Within(ctx, p)
	defer cancel()
	t, err := target.OpenFor(dialing, p, address, args[0])
	if err != nil {
		return err
	}
	defer t.Close()
	m, err := newMaker(dialing, p, t, o, args[0], request)
	if err != nil {
		return err
	}
	// One call first: a wrong method or request is told at once, and not a thousand times.
	if err := m.call(target.Context(dialing, p)); err != nil && (o.maxErrors == 0 || isWrong(err)) {
		return shell.FromCall(err)
	}
	r := newResult(args[0], t.Address, o)
	calls, cut := context.WithCancel(target.Context(context.WithoutCancel(ctx), p))
	defer cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cut) })()
	stop := p.Progress(r.progress)
	if o.rate > 0 {
		openLoop(ctx, calls, o, m, r)
	} else {
		closedLoop(ctx, calls, o, m, r)
	}
	stop()
	s := r.summary()
	if old != nil {
		s.Comparison = compare(o.compare, old, s)
	}
	if err := s.write(p); err != nil {
		return err
	}
	if o.html != "" {
		if err := s.writePage(o.html); err != nil {
			return err
		}
		fmt.Fprintf(p.Log, "weft: the page is in %s\n", o.html)
	}
	switch {
	case s.Calls == 0:
		return errors.New("bench: no call has ended in the time that is measured")
	case float64(s.Failed) > o.maxErrors*float64(s.Calls):
		return shell.Exit(fmt.Errorf("bench: %d of %d calls failed, and --max-errors is %g", s.Failed, s.Calls, o.maxErrors), shell.ExitCallFailed)
	}
	if o.maxRatio > 0 {
		if worst, name := s.Comparison.slower(); worst > o.maxRatio {
			return fmt.Errorf("bench: the time of %s of the calls has grown to %.2f times that of %s, noise left out, and --max-ratio is %g", name, worst, o.compare, o.maxRatio)
		}
	}
	return nil
}

// grace is how long calls may take that are under way when the measurement is interrupted. Those that take longer do not count.
const grace = time.Second

// isWrong reports whether all calls will fail with the error, whatever the server does: no server is known,
// or the method or the request is wrong.
func isWrong(err error) bool {
	e, ok := errors.AsType[*weft.Error](err)
	if !ok {
		return weft.CodeOf(err) == weft.Unknown
	}
	return e.Reason == weft.ReasonNoServer || e.Reason == weft.ReasonNoMethod || e.Reason == weft.ReasonNoServices ||
		e.Reason == weft.ReasonWrongKind || e.Reason == weft.ReasonDecode && e.Outcome == weft.Refused
}
