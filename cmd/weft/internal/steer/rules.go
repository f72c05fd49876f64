// Package steer shows what is registered, and changes the rules by which clients route calls.
package steer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/registry"
)

const rulesHelp = `Shows, checks and replaces the rules of a service, by which all its clients route calls. docs/guide/rules.md explains
what rules can say. A change is checked before, and kept with its author and a note in a history.`

// RulesCommand shows, checks and replaces the rules of a service.
func RulesCommand(p *shell.Shell) *cobra.Command {
	return shell.Group(shell.GroupRegistry, "rules", "Show, check and change the rules by which clients route calls", rulesHelp,
		rulesShowCommand(p), rulesHistoryCommand(p), rulesCheckCommand(p), rulesDiffCommand(p), rulesApplyCommand(p), rulesDeleteCommand(p), rulesRollbackCommand(p))
}

// kept is the rules of a service, as the registry keeps them.
type kept struct {
	address catalog.Address
	reg     *registry.Registry
	service string
	doc     registry.Document
}

// with reads the rules of a service and does something with them, all within the time
// that the registry has.
func with(ctx context.Context, p *shell.Shell, service string, do func(context.Context, *kept) error) error {
	ctx, cancel := context.WithTimeout(ctx, p.Settings.Timeout)
	defer cancel()
	address, reg, err := catalog.OpenRegistry(p)
	if err != nil {
		return err
	}
	defer reg.Close()
	k := &kept{address: address, reg: reg, service: service}
	if k.doc, err = reg.Load(ctx, cluster.RulesDocument(service)); err != nil {
		return shell.FromRegistry(reg, err)
	}
	return do(ctx, k)
}

// rulesShowCommand writes the rules as they are to be edited and applied again.
func rulesShowCommand(p *shell.Shell) *cobra.Command {
	var number int
	cmd := &cobra.Command{
		Use: "show service", Short: "Write the rules of a service", Args: shell.Arguments(1, 1), ValidArgsFunction: catalog.CompleteService(p),
		Long:    "Writes the rules of a service, as they can be edited, checked and applied again.",
		Example: "  weft rules show Greeter >rules.json\n  weft rules show --version 6 Greeter",
		RunE: func(cmd *cobra.Command, args []string) error {
			return with(cmd.Context(), p, args[0], func(_ context.Context, k *kept) error { return rulesShow(p, k, number) })
		},
	}
	cmd.Flags().IntVar(&number, "version", 0, "an older `number`, as 'weft rules history' lists them; 0: the rules in force")
	return cmd
}

func rulesShow(p *shell.Shell, k *kept, number int) error {
	if number != 0 {
		return showVersion(p, k, number)
	}
	var rules *route.Rules
	if k.doc.Version == 0 {
		fmt.Fprintf(p.Log, "weft: %s has no rules\n", k.service)
	} else if rules = inForce(p, k.service, k.doc); rules == nil {
		_, err := p.Out.Write(k.doc.Value)
		return err
	}
	v := rules.Revision()
	return writeRules(p, &v, rules.Encode())
}

// writeRules writes rules; text is their JSON.
func writeRules(p *shell.Shell, v *route.Revision, text []byte) error {
	if p.ForPeople() {
		_, err := p.Out.Write(text)
		return err
	}
	return p.Write(&shell.Listing{Names: ruleNames(v), Value: json.RawMessage(text)})
}

// showVersion writes older rules, without their number, so that they can be applied.
func showVersion(p *shell.Shell, k *kept, number int) error {
	revisions, err := route.History(k.doc.Value)
	for _, r := range revisions {
		if r.Version != number {
			continue
		}
		r.Version, r.Time, r.By, r.Note = 0, time.Time{}, "", ""
		text, err := r.Encode()
		if err != nil {
			return err
		}
		return writeRules(p, &r, text)
	}
	return errors.Join(fmt.Errorf("rules show: %s has no version %d any more, see 'weft rules history %s'", k.service, number, k.service), err)
}

// rulesHistoryCommand lists the versions of the rules.
func rulesHistoryCommand(p *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "history service", Short: "List the versions of the rules", Args: shell.Arguments(1, 1), ValidArgsFunction: catalog.CompleteService(p),
		Long: `Lists the versions of the rules of a service that are kept, the one in force first. Any of them can be shown, and put
into force again with 'weft rules rollback'.`,
		Example: "  weft rules history Greeter",
		RunE: func(cmd *cobra.Command, args []string) error {
			return with(cmd.Context(), p, args[0], func(_ context.Context, k *kept) error { return rulesHistory(p, k) })
		},
	}
}

func rulesHistory(p *shell.Shell, k *kept) error {
	revisions, wrong := route.History(k.doc.Value)
	if wrong != nil {
		fmt.Fprintf(p.Log, "weft: what cannot be used is left out: %v\n", wrong)
	}
	type version struct {
		Version int       `json:"version"`
		Time    time.Time `json:"time,omitzero"`
		By      string    `json:"by,omitempty"`
		Note    string    `json:"note,omitempty"`
	}
	l := &shell.Listing{Heads: []string{"VERSION", "TIME", "BY", "NOTE"}, None: k.service + " has no rules"}
	values := []version{}
	for _, r := range revisions {
		at := ""
		if !r.Time.IsZero() {
			at = r.Time.UTC().Format(time.RFC3339)
		}
		l.Lines = append(l.Lines, []string{fmt.Sprint(r.Version), at, r.By, r.Note})
		l.Names = append(l.Names, fmt.Sprint(r.Version))
		values = append(values, version{r.Version, r.Time, r.By, r.Note})
	}
	l.Value = values
	return p.Write(l)
}

const checkHelp = `Tells what is wrong with new rules, or what they would change: for the servers as they are now, and for a call to every
method and with every metadata that the old or the new rules ask for. With --calls it is told for the calls of a
recording ('weft record', plugin/record): how many would go elsewhere, and the share of the calls that each instance
gets. Nothing is changed. The exit code is 1 when the rules would be refused.`

// rulesCheckCommand tells what is wrong with proposed rules, or what they would change.
func rulesCheckCommand(p *shell.Shell) *cobra.Command {
	tried := new(sample)
	cmd := &cobra.Command{
		Use: "check service [file]", Aliases: []string{"dry-run"}, Short: "Tell what new rules would change", Long: checkHelp, Args: shell.Arguments(1, 2), ValidArgsFunction: catalog.CompleteService(p),
		Example: "  weft rules check Greeter rules.json\n  weft rules check --call 'Say user=ann' Greeter <rules.json\n  weft rules dry-run --calls calls.weftrec Greeter rules.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := rulesCheck(cmd.Context(), p, args, tried)
			return err
		},
	}
	sampleFlags(cmd, tried)
	return cmd
}

// rulesDiffCommand is rulesCheckCommand with an exit code that reports whether anything changes.
func rulesDiffCommand(p *shell.Shell) *cobra.Command {
	tried := new(sample)
	cmd := &cobra.Command{
		Use: "diff service [file]", Short: "Tell whether new rules would change anything", Args: shell.Arguments(1, 2), ValidArgsFunction: catalog.CompleteService(p),
		Long:    "Does what 'weft rules check' does. The exit code is 1 when the rules would change anything, and 2 when they are wrong.",
		Example: "  weft rules diff Greeter rules.json && echo the same",
		RunE: func(cmd *cobra.Command, args []string) error {
			differ, err := rulesCheck(cmd.Context(), p, args, tried)
			switch {
			case err != nil:
				if _, wrong := errors.AsType[*route.Error](err); wrong {
					return shell.Exit(err, shell.ExitUsage)
				}
				return err
			case differ:
				return shell.Written(shell.Exit(errors.New("the rules differ"), shell.ExitFailed))
			}
			return nil
		},
	}
	sampleFlags(cmd, tried)
	return cmd
}

func sampleFlags(cmd *cobra.Command, s *sample) {
	cmd.Flags().Var(&s.named, "call", "a `call` to try instead, a method and its metadata, such as 'Say user=ann'; may be repeated")
	cmd.Flags().StringVar(&s.recording, "calls", "", "try the calls of this recording, a `file` or a folder")
	cmd.Flags().StringVar(&s.hashKey, "hash-key", "", "with --calls, the `key` of the metadata that holds the hash key of a call")
}

// rulesCheck writes what proposed rules would change, and reports whether they would.
func rulesCheck(ctx context.Context, p *shell.Shell, args []string, tried *sample) (differ bool, err error) {
	if tried.recording != "" && len(tried.named) > 0 {
		return false, fmt.Errorf("there is --call and --calls, want one of them; %w", shell.ErrUsage)
	}
	proposed, err := read(p, args[1:])
	if err != nil {
		return false, err
	}
	rules, err := route.Parse(proposed)
	if err != nil {
		return false, err
	}
	err = with(ctx, p, args[0], func(ctx context.Context, k *kept) error {
		snapshot, err := catalog.Ask(ctx, k.reg, k.service)
		if err != nil {
			return err
		}
		if len(snapshot.Instances) == 0 {
			fmt.Fprintf(p.Log, "weft: %v\n", catalog.Unknown(ctx, k.address, k.reg, k.service))
		}
		current := inForce(p, k.service, k.doc)
		differ = !sameRules(current, rules)
		noteGone(p, current, rules)
		report, err := dryRun(p, k, rules, snapshot.Instances, tried)
		if err != nil {
			return err
		}
		if differ && !report.Changed() {
			fmt.Fprintln(p.Log, "weft: the rules differ from those in force, but change nothing for the servers that are registered and the calls that were tried")
		}
		return writeReport(p, report, 0)
	})
	return differ, err
}

// sameRules reports whether rules say the same, whatever their number and note.
func sameRules(a, b *route.Rules) bool {
	plain := func(r *route.Rules) string {
		v := r.Revision()
		v.Version, v.Time, v.By, v.Note = 0, time.Time{}, "", ""
		text, err := v.Encode()
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	return plain(a) == plain(b)
}

const applyHelp = `Puts new rules of a service into force: all clients follow them within moments. They are checked first, and what they
change is written. They replace all rules that are in force. Rules with a "version", as 'weft rules show' writes them,
are refused when another version is in force by now, so that no change is lost. So are rules of a service of which no
server is registered, unless --force is given: its name may be misspelled.`

const applyExamples = `  weft rules show Greeter >rules.json
  vi rules.json
  weft rules apply --note 'disk of 10.0.0.7 is broken' Greeter rules.json`

// audit is what the history keeps of a change.
type audit struct{ by, note string }

func auditFlags(cmd *cobra.Command) *audit {
	a := new(audit)
	cmd.Flags().StringVar(&a.by, "by", "", "the `name` of the author, for the history (default the user's)")
	cmd.Flags().StringVar(&a.note, "note", "", "the `reason`, for the history")
	return a
}

// author is the name of the author.
func (a *audit) author() string { return cmp.Or(a.by, self()) }

// rulesApplyCommand replaces the rules.
func rulesApplyCommand(p *shell.Shell) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "apply service [file]", Short: "Put new rules into force", Long: applyHelp, Example: applyExamples, Args: shell.Arguments(1, 2), ValidArgsFunction: catalog.CompleteService(p),
	}
	a := auditFlags(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "apply the rules even if no server of the service is registered")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		proposed, err := read(p, args[1:])
		if err != nil {
			return err
		}
		return with(cmd.Context(), p, args[0], func(ctx context.Context, k *kept) error {
			next, err := route.Next(k.doc.Value, proposed, a.author(), a.note, time.Now())
			if err != nil {
				return err
			}
			snapshot, err := catalog.Ask(ctx, k.reg, k.service)
			if err != nil {
				return err
			}
			if len(snapshot.Instances) == 0 && !force {
				return fmt.Errorf("rules apply: %w; --force applies the rules all the same", catalog.Unknown(ctx, k.address, k.reg, k.service))
			}
			rules, err := route.Parse(next)
			if err != nil {
				return err
			}
			noteGone(p, inForce(p, k.service, k.doc), rules)
			return replace(ctx, p, k, next, snapshot.Instances)
		})
	}
	return cmd
}

// noteGone names the rules in force that proposed ones do not have.
func noteGone(p *shell.Shell, current, proposed *route.Rules) {
	was, is := current.Revision(), proposed.Revision()
	left := ruleNames(&is)
	gone := slices.DeleteFunc(ruleNames(&was), func(name string) bool { return slices.Contains(left, name) })
	if len(gone) > 0 {
		fmt.Fprintf(p.Log, "weft: in force now, and not in the new rules: %s\n", strings.Join(gone, ", "))
	}
}

const rollbackHelp = `Puts the rules of an older version of a service into force again, under a new number. It works also when the rules that
are kept now cannot be used. Version 0 is no rules, and is always there.`

const rollbackExamples = `  weft rules history Greeter
  weft rules rollback --note 'the canary was slow' Greeter 6
  weft rules rollback --note 'broken by hand' Greeter 0`

// rulesRollbackCommand puts old rules into force.
func rulesRollbackCommand(p *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rollback service version", Short: "Put the rules of an older version into force", Long: rollbackHelp, Example: rollbackExamples,
		Args: shell.Arguments(2, 2), ValidArgsFunction: catalog.CompleteService(p),
	}
	a := auditFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		number, err := strconv.Atoi(args[1])
		if err != nil || number < 0 {
			return fmt.Errorf("rules rollback: %q is no version; %w", args[1], shell.ErrUsage)
		}
		return with(cmd.Context(), p, args[0], func(ctx context.Context, k *kept) error {
			next, err := route.Rollback(k.doc.Value, number, a.author(), a.note, time.Now())
			if err != nil {
				return err
			}
			snapshot, err := catalog.Ask(ctx, k.reg, k.service)
			if err != nil {
				return err
			}
			return replace(ctx, p, k, next, snapshot.Instances)
		})
	}
	return cmd
}

// revise stores a changed revision of the rules. Its version stays: a change that was made meanwhile is not to be lost.
func revise(ctx context.Context, p *shell.Shell, a *audit, k *kept, v route.Revision, instances []weft.Instance) error {
	v.Time, v.By, v.Note = time.Time{}, "", ""
	proposed, err := json.Marshal(v)
	if err != nil {
		return err
	}
	next, err := route.Next(k.doc.Value, proposed, a.author(), a.note, time.Now())
	if err != nil {
		return err
	}
	return replace(ctx, p, k, next, instances)
}

// replace writes what a new document changes, and stores it.
func replace(ctx context.Context, p *shell.Shell, k *kept, next []byte, instances []weft.Instance) error {
	rules, err := route.Parse(next)
	if err != nil {
		return err
	}
	report, err := dryRun(p, k, rules, instances, new(sample))
	if err != nil {
		return err
	}
	if p.ForPeople() { // what changes is to be seen also when the registry does not take it
		if err := writeReport(p, report, 0); err != nil {
			return err
		}
	}
	if err := k.reg.Store(ctx, cluster.RulesDocument(k.service), next, k.doc.Version); err != nil {
		return shell.FromRegistry(k.reg, err)
	}
	version := rules.Revision().Version
	if !p.ForPeople() {
		return writeReport(p, report, version)
	}
	_, err = fmt.Fprintf(p.Out, "version %d of the rules of %s is in force\n", version, k.service)
	return err
}

// dryRun finds out what proposed rules would change for the instances, and for calls.
func dryRun(p *shell.Shell, k *kept, proposed *route.Rules, instances []weft.Instance, tried *sample) (*route.Report, error) {
	current := inForce(p, k.service, k.doc)
	var report *route.Report
	if tried.recording != "" {
		recorded, note, err := tried.recorded(k.service)
		if err != nil {
			return nil, err
		}
		if note != "" {
			fmt.Fprintf(p.Log, "weft: %s\n", note)
		}
		report = route.DryRun(current, proposed, instances, recorded)
	} else {
		named := tried.named
		if named == nil {
			named = asked(current, proposed)
		}
		report = route.DryRun(current, proposed, instances, nil)
		// The sample says where calls of a kind go, and nothing of how many there are.
		report.Calls = route.DryRun(current, proposed, instances, named.of(k.service)).Calls
	}
	return report, nil
}

// self is the name of the user under whom the program runs; "" if there is none.
func self() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

// read reads the rules from the file that is named, or from the standard input.
func read(p *shell.Shell, names []string) ([]byte, error) {
	in := p.In
	if len(names) == 0 && p.InTerminal {
		fmt.Fprintln(p.Log, "weft: no file is named, so the rules are read from here; Ctrl-D on a line of its own ends them")
	}
	if len(names) > 0 && names[0] != "-" {
		file, err := os.Open(names[0])
		if err != nil {
			return nil, shell.Unreadable("the rules", err)
		}
		defer func() { _ = file.Close() }() // it is only read
		in = file
	}
	doc, err := io.ReadAll(io.LimitReader(in, registry.MaxDocument+1))
	if err == nil && len(doc) > registry.MaxDocument {
		err = fmt.Errorf("the rules have more than %d bytes", registry.MaxDocument)
	}
	return doc, err
}
