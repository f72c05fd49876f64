// Package replay makes recorded calls again, and tells how the answers differ.
package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
	"github.com/weftrpc/weft/plugin/record"
)

const replayHelp = `Makes the calls of a recording again, of a file or a folder that 'weft record' or plugin/record has written: at the
server at an address, or at those that the registry knows. It compares the answers with those that were recorded, and
tells what differs. The calls are made as they came, times --speed; with --callers so many callers make one after the
other, as fast as the servers answer. They carry the metadata that was recorded, and "replay: 1".

Only calls of methods that the servers describe as idempotent are made, since others change something again: --all makes
those of all methods. One-way calls and those without a request are left out. --ignore names parts of replies that may
differ, such as order.id or lines.*.time. Replies in JSON are compared by their values, others by their bytes, errors by
their codes.

The exit code is 1 when an answer differs or the recording is damaged.`

const replayExamples = `  weft replay calls.weftrec tcp://127.0.0.1:8972
  weft replay calls.weftrec tcp://127.0.0.1:8972 --speed 2 --ignore time --ignore 'lines.*.id'
  weft replay calls.weftrec tcp://127.0.0.1:8972 --callers 8 --method Arith.Mul -o json
  weft replay /var/lib/orders/calls --all`

// options are the flags of replay.
type options struct {
	speed   float64
	callers int
	all     bool
	methods []string
	ignore  []string
	show    int
}

// Command makes recorded calls again.
func Command(p *shell.Shell) *cobra.Command {
	o := new(options)
	cmd := &cobra.Command{
		Use: "replay recording [address]", GroupID: shell.GroupCall, Short: "Make recorded calls again, and compare the answers", Long: replayHelp, Example: replayExamples,
		Args: shell.Arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			address, rest := target.Split(args[1:])
			if len(rest) > 0 {
				return fmt.Errorf("replay: %q is no address; %w", rest[0], shell.ErrUsage)
			}
			switch {
			case o.speed <= 0 || o.speed > 1e6 || o.callers < 0 || o.callers > 10000 || o.show < 0:
				return fmt.Errorf("--speed is %g, --callers %d and --show %d, want more than 0, 0 to 10000 and 0 or more; %w", o.speed, o.callers, o.show, shell.ErrUsage)
			case o.callers > 0 && cmd.Flags().Changed("speed"):
				return fmt.Errorf("there is --speed and --callers, want one of them; %w", shell.ErrUsage)
			}
			return replay(cmd.Context(), p, o, args[0], address)
		},
	}
	f := cmd.Flags()
	f.Float64Var(&o.speed, "speed", 1, "how fast time passes: 2 is twice as fast as the calls came")
	f.IntVar(&o.callers, "callers", 0, "the `number` of callers of a closed loop, in place of --speed")
	f.BoolVar(&o.all, "all", false, "make calls of methods that are not idempotent too")
	f.StringSliceVar(&o.methods, "method", nil, "only calls of this `method`, or of a service and .*; may be repeated")
	f.StringSliceVar(&o.ignore, "ignore", nil, "do not compare this `path` of replies; may be repeated")
	f.IntVar(&o.show, "show", 10, "how many of the answers that differ are shown; a `number`")
	return cmd
}

// pending is how many calls may be under way when they are made as they came.
const pending = 1000

func replay(ctx context.Context, p *shell.Shell, o *options, path, address string) error {
	r, err := look(path, o)
	if err != nil {
		return err
	}
	dialing, cancel := target.Within(ctx, p)
	defer cancel()
	if !o.all {
		if r.idempotent, err = target.Idempotent(dialing, p, address, r.services()); err != nil {
			return fmt.Errorf("replay: which methods are idempotent is not known, and --all makes the calls of all: %w", err)
		}
	}
	t, err := target.OpenFor(dialing, p, address, r.first)
	if err != nil {
		return err
	}
	defer t.Close()
	if !carries(t.Scheme()) {
		return fmt.Errorf("replay: the wire %s takes no messages that are encoded already; use tcp://, grpc:// or http:// and the port of the same server; %w", t.Scheme(), shell.ErrUsage)
	}
	r.out.Target = t.Address
	cfg := &record.ReplayConfig{
		Target: t, Speed: o.speed, Concurrency: pending, Methods: o.methods, Timeout: p.Settings.Timeout, Ignore: o.ignore, Choose: r.choose, Each: r.each,
	}
	if o.callers > 0 {
		cfg.Speed, cfg.Concurrency = 0, o.callers
	}
	began := time.Now()
	stop := p.Progress(r.progress)
	stats, err := record.Replay(target.Context(ctx, p), path, cfg)
	stop()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w; %w", err, shell.ErrUsage) // of --method or --ignore
	}
	r.finish(&stats, time.Since(began))
	if err := r.write(p); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case stats.Calls == 0:
		return fmt.Errorf("replay: no call was made; %s", r.why())
	case stats.Different > 0 || len(stats.Damage) > 0:
		return shell.Written(shell.Exit(errors.New("answers differ"), shell.ExitFailed))
	}
	return nil
}

// carries reports whether a wire carries messages as they were recorded; "" is that of each instance.
func carries(scheme string) bool {
	return slices.Contains([]string{"", "tcp", "unix", "grpc", "grpcs", "http", "https"}, scheme)
}

// look reads a recording for the names of its methods.
func look(path string, o *options) (*replayed, error) {
	recording, err := record.Open(path)
	if err != nil {
		return nil, shell.Unreadable("the recording", err)
	}
	r := &replayed{o: o, methods: make(map[string]*method), recorded: make(map[string]bool)}
	r.out.Recording = path
	var damage error
	for c, err := range recording.Calls() {
		if err != nil {
			damage = errors.Join(damage, err)
			continue
		}
		r.total++
		r.recorded[c.Method] = true
		if r.first == "" {
			r.first = c.Method
		}
	}
	if r.total == 0 {
		if damage != nil {
			return nil, shell.Unreadable("the recording", damage)
		}
		return nil, fmt.Errorf("replay: %s has no calls", path)
	}
	return r, nil
}

// services are those of the methods in the recording.
func (r *replayed) services() []string {
	all := make(map[string]bool)
	for name := range r.recorded {
		if at := strings.LastIndexByte(name, '.'); at > 0 {
			all[name[:at]] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
