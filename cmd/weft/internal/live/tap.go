package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
)

const tapHelp = `Shows calls as servers answer them, a line for each, until it is interrupted: those of the server at an address, or of all
instances of a service in the registry, also those that come later; with --count of those that there are. Bodies are shown
only where the server permits it. The servers need package admin. A server that cannot be shown, or shuts down, is named on
the standard error. Of a service it is tried again; without the registry, or with --count, the exit code is not 0 then.`

const tapExamples = `  weft tap tcp://127.0.0.1:8972
  weft tap Arith --failed
  weft tap Arith --method Arith.Mul --slower 50ms --count 10 -o json`

// TapCommand shows calls as they are answered.
func TapCommand(p *shell.Shell) *cobra.Command {
	req := new(admin.TapRequest)
	var slower time.Duration
	cmd := &cobra.Command{
		Use: "tap [address or service]", GroupID: shell.GroupSee, Short: "Show calls as servers answer them", Long: tapHelp, Example: tapExamples,
		Args: shell.Arguments(0, 1), ValidArgsFunction: catalog.CompleteService(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			address, rest := target.Split(args)
			service := strings.Join(rest, "")
			f, err := fleetOf(cmd.Context(), p, address, service, req.Count <= 0)
			if err != nil {
				return err
			}
			defer f.close()
			if len(req.Methods) == 0 && service != "" {
				req.Methods = []string{service + ".*"}
			}
			req.Slower = slower.Seconds()
			return tap(cmd.Context(), p, f, req)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&req.Methods, "method", nil, "only calls of this `method`, or of a service and .*; may be repeated")
	f.StringSliceVar(&req.Codes, "code", nil, "only calls that ended with this `code`, such as Unavailable; may be repeated")
	f.BoolVar(&req.Failed, "failed", false, "only calls that failed")
	f.DurationVar(&slower, "slower", 0, "only calls that took at least this `time`")
	f.StringVar(&req.Peer, "peer", "", "only calls of peers with this `text` in their address or name")
	f.IntVar(&req.OneIn, "one-in", 0, "show one of this `number` of calls")
	f.IntVar(&req.Count, "count", 0, "end after this `number` of calls; 0: go on")
	f.BoolVar(&req.Bodies, "bodies", false, "show requests and replies, where the server permits it")
	return cmd
}

func tap(ctx context.Context, p *shell.Shell, f *fleet, req *admin.TapRequest) error {
	log := &lines{to: p.Log}
	open := func(ctx context.Context, t *target.Target) (*weft.Stream[admin.TappedCall, admin.TapRequest], error) {
		s, err := t.Admin(p).Tap(target.Context(ctx, p), req)
		if err == nil {
			fmt.Fprintf(log, "weft: calls of %s are shown; Ctrl-C ends it\n", t.Address)
		}
		return s, err
	}
	shown := 0
	answered := make(map[string]bool)
	return follow(ctx, p, log, f, req.Count, open, func(m message[admin.TappedCall]) error {
		if m.server != "" {
			answered[m.server] = true
		}
		if m.value != nil && (req.Count <= 0 || shown < req.Count) {
			shown++
			if err := showCall(p, f, &m); err != nil {
				return err
			}
		}
		// Those that cannot be shown are to be told of.
		if req.Count > 0 && shown >= req.Count && !slices.ContainsFunc(f.servers, func(s string) bool { return !answered[s] }) {
			return errShown
		}
		return nil
	})
}

// showCall writes a call.
func showCall(p *shell.Shell, f *fleet, m *message[admin.TappedCall]) error {
	c := m.value
	if !p.ForPeople() {
		return p.WriteItem(c.Method, map[string]any{"server": m.server, "call": c})
	}
	text := fmt.Sprintf("%s  %-10s %10v  %s  %s", c.At.Local().Format("15:04:05.000"), c.Code, shell.Seconds(c.Duration), shell.OneLine(c.Method), shell.OneLine(c.Peer))
	if c.Code != "OK" {
		text = p.Paint(shell.Red, text)
	}
	if f.named() {
		text += "  at " + m.server
	}
	if c.Error != "" {
		text += "  " + shell.OneLine(c.Error)
	}
	if c.Content != nil {
		for _, body := range []string{c.Content.Request, c.Content.Reply} {
			if body != "" {
				text += "\n    " + body
			}
		}
	}
	if c.Oneway {
		text += "  one-way"
	}
	if c.Dropped > 0 {
		text += fmt.Sprintf("\n    (%d more were not shown)", c.Dropped)
	}
	_, err := fmt.Fprintln(p.Out, text)
	return err
}
