package live

import (
	"context"
	"fmt"
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
instances of a service in the registry. Bodies are shown only where the server permits it. The servers need
package admin. A server that cannot be shown is named on the standard error, and the exit code is not 0 then.`

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
			servers, err := addresses(cmd.Context(), p, address, service)
			if err != nil {
				return err
			}
			if len(req.Methods) == 0 && service != "" {
				req.Methods = []string{service + ".*"}
			}
			req.Slower = slower.Seconds()
			return tap(cmd.Context(), p, servers, req)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&req.Methods, "method", nil, "only calls of this `method`, or of a service and .*; may be repeated")
	f.StringSliceVar(&req.Codes, "code", nil, "only calls that ended with this `code`, such as Unavailable; may be repeated")
	f.BoolVar(&req.Failed, "failed", false, "only calls that failed")
	f.DurationVar(&slower, "slower", 0, "only calls that took at least this `time`")
	f.StringVar(&req.Peer, "peer", "", "only calls of peers with this `text` in their address or name")
	f.IntVar(&req.OneIn, "one-in", 0, "show one of this `number` of calls")
	f.IntVar(&req.Count, "count", 0, "end after this `number` of calls of each server; 0: go on")
	f.BoolVar(&req.Bodies, "bodies", false, "show requests and replies, where the server permits it")
	return cmd
}

func tap(ctx context.Context, p *shell.Shell, servers []string, req *admin.TapRequest) error {
	log := &lines{to: p.Log}
	open := func(ctx context.Context, t *target.Target) (*weft.Stream[admin.TappedCall, admin.TapRequest], error) {
		s, err := t.Admin(p).Tap(target.Context(ctx, p), req)
		if err == nil {
			fmt.Fprintf(log, "weft: calls of %s are shown; Ctrl-C ends it\n", t.Address)
		}
		return s, err
	}
	return follow(ctx, p, log, servers, open, func(m message[admin.TappedCall]) error {
		if m.err != nil {
			return nil
		}
		c := m.value
		if !p.ForPeople() {
			return p.WriteItem(c.Method, map[string]any{"server": m.server, "call": c})
		}
		text := fmt.Sprintf("%s  %-10s %10v  %s  %s", c.At.Local().Format("15:04:05.000"), c.Code, shell.Seconds(c.Duration), shell.OneLine(c.Method), shell.OneLine(c.Peer))
		if c.Code != "OK" {
			text = p.Paint(shell.Red, text)
		}
		if len(servers) > 1 {
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
	})
}
