// Package diagnose finds out where calls go, and why something does not work.
package diagnose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
)

const explainHelp = `Explains where a call would go now, and why: the instances in the registry, what the rules and the state of each make
of it, and the one that a client would choose. No call is made. A client that runs has figures of its own for breakers,
health and load, which this command does not know: it is a client that has just started.

The exit code is 4 when no server can take the call.`

const explainExamples = `  weft explain Arith.Mul
  weft explain Greeter.Say -H user:ann --hash-key ann
  weft explain Greeter.Say -o json`

// ExplainCommand explains where a call would go.
func ExplainCommand(p *shell.Shell) *cobra.Command {
	hashKey := ""
	cmd := &cobra.Command{
		Use: "explain Service.Method [JSON]", GroupID: shell.GroupSee, Short: "Explain where a call would go, and why", Long: explainHelp, Example: explainExamples,
		Args: shell.Arguments(1, 2), ValidArgsFunction: target.CompleteMethod(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.Contains(args[0], "://") {
				return fmt.Errorf("explain: %s is the address of a server, the only place for a call to go; a registry is given by --registry; %w", args[0], shell.ErrUsage)
			}
			if !strings.Contains(args[0], ".") {
				return fmt.Errorf("explain: want Service.Method; %w", shell.ErrUsage)
			}
			if p.Settings.Server != "" {
				return fmt.Errorf("explain: with --server there is only one place for a call to go; %w", shell.ErrUsage)
			}
			ctx, cancel := target.Within(cmd.Context(), p)
			defer cancel()
			return explain(ctx, p, hashKey, args)
		},
	}
	cmd.Flags().StringVar(&hashKey, "hash-key", "", "the `key` by which consistent hashes and rules choose a server")
	return cmd
}

// explained is an explanation in JSON.
type explained struct {
	Method     string      `json:"method"`
	Source     string      `json:"source,omitempty"`
	Age        float64     `json:"age_seconds"`
	FailMode   string      `json:"fail_mode,omitempty"`
	Timeout    float64     `json:"timeout_seconds,omitempty"`
	Attempts   int         `json:"attempts,omitempty"`
	Idempotent bool        `json:"idempotent"`
	Rules      int         `json:"rules_version,omitempty"`
	RulesError string      `json:"rules_error,omitempty"`
	Routes     []verdict   `json:"routes,omitempty"`
	Candidates []candidate `json:"candidates"`
	Invalid    []string    `json:"invalid,omitempty"`
	Pick       string      `json:"pick,omitempty"`
	Fallback   bool        `json:"fallback,omitempty"`
	Error      string      `json:"error,omitempty"`
}

type verdict struct {
	Name  string `json:"name"`
	Holds bool   `json:"holds"`
	Why   string `json:"why"`
}

type candidate struct {
	ID       string `json:"id"`
	Address  string `json:"address"`
	Eligible bool   `json:"eligible"`
	Weight   int    `json:"weight"`
	Why      string `json:"why"`
}

func explain(ctx context.Context, p *shell.Shell, hashKey string, args []string) error {
	var request any
	if len(args) > 1 {
		if !json.Valid([]byte(args[1])) {
			return fmt.Errorf("explain: the request is no JSON; %w", shell.ErrUsage)
		}
		request = json.RawMessage(args[1])
	}
	t, err := target.Open(ctx, p, "")
	if err != nil {
		return err
	}
	defer t.Close()
	ctx = target.Context(ctx, p)
	if hashKey != "" {
		ctx = cluster.WithKey(ctx, hashKey)
	}
	e := t.Cluster.Explain(ctx, args[0], request)
	if p.ForPeople() {
		fmt.Fprintln(p.Out, strings.TrimRight(e.String(), "\n"))
	} else {
		var names []string
		if e.Pick != "" {
			names = []string{e.Pick}
		}
		if err := p.Write(&shell.Listing{Names: names, Value: inJSON(e)}); err != nil {
			return err
		}
	}
	if e.Err == nil {
		return nil
	}
	if w, ok := errors.AsType[*weft.Error](e.Err); ok && w.Reason != weft.ReasonNoServer && w.Reason != weft.ReasonForbidden {
		return shell.FromCall(e.Err)
	}
	service, _, _ := strings.Cut(args[0], ".")
	if at := strings.LastIndexByte(args[0], '.'); at > 0 {
		service = args[0][:at]
	}
	return shell.Exit(fmt.Errorf("no server can take a call of %s; 'weft instances %s' shows what is registered, 'weft doctor %s' asks the servers", args[0], service, service), shell.ExitUnreachable)
}

func inJSON(e *cluster.Explanation) *explained {
	out := &explained{
		Method: e.Method, Source: e.Source, Age: e.Age.Seconds(), FailMode: string(e.FailMode), Timeout: e.Timeout.Seconds(), Attempts: e.Attempts,
		Idempotent: e.Idempotent, Rules: e.RulesVersion, Candidates: []candidate{}, Pick: e.Pick, Fallback: e.Fallback,
	}
	if e.Rules != nil {
		out.RulesError = e.Rules.Error()
	}
	if e.Err != nil {
		out.Error = e.Err.Error()
	}
	if e.Routes != nil {
		for _, v := range e.Routes.Routes {
			out.Routes = append(out.Routes, verdict{v.Name, v.Holds, v.Why})
		}
	}
	for _, c := range e.Candidates {
		out.Candidates = append(out.Candidates, candidate{c.Instance.ID, c.Instance.Address, c.Eligible, c.Weight, c.Why})
	}
	for _, i := range e.Invalid {
		out.Invalid = append(out.Invalid, i.ID+": "+i.Err.Error())
	}
	return out
}
