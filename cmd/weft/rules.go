package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/registry"
)

// rules shows, checks and replaces the rules of a service.
func (p *program) rules(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("rules: show, history, check, apply or rollback is missing; %w", errUsage)
	}
	verb, args := args[0], args[1:]
	if isHelp(verb) {
		return p.help(ctx, append([]string{"rules"}, args...))
	}
	switch verb {
	case "show":
		return p.rulesShow(ctx, args)
	case "history":
		return p.rulesHistory(ctx, args)
	case "check":
		return p.rulesCheck(ctx, args)
	case "apply":
		return p.rulesApply(ctx, args)
	case "rollback":
		return p.rulesRollback(ctx, args)
	default:
		return fmt.Errorf("rules: there is no %q, only show, history, check, apply and rollback; %w", verb, errUsage)
	}
}

// kept is the rules of a service, as the registry keeps them.
type kept struct {
	address address
	reg     *registry.Registry
	service string
	doc     registry.Document
}

// with reads the rules of a service and does something with them, all within the time
// that the registry has.
func with(ctx context.Context, s *source, service string, do func(context.Context, *kept) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	address, reg, err := s.open()
	if err != nil {
		return err
	}
	defer reg.Close()
	k := &kept{address: address, reg: reg, service: service}
	if k.doc, err = reg.Load(ctx, cluster.RulesDocument(service)); err != nil {
		return fmt.Errorf("%s: %w", reg.Name(), err)
	}
	return do(ctx, k)
}

const showHelp = `Writes the rules of a service, as they can be edited, checked and applied again.

	weft rules show Greeter >rules.json
	weft rules show -version 6 Greeter
`

// rulesShow writes the rules as they are to be edited and applied again.
func (p *program) rulesShow(ctx context.Context, args []string) error {
	flags := p.flags("rules show", "service", showHelp)
	source := sourceFlags(flags)
	number := flags.Int("version", 0, "an older `number`, as 'weft rules history' lists them; 0: the rules in force")
	args, err := parse(flags, args, 1, 1)
	if err != nil {
		return err
	}
	return with(ctx, source, args[0], func(_ context.Context, k *kept) error {
		if *number != 0 {
			return p.showVersion(k, *number)
		}
		var rules *route.Rules
		if k.doc.Version == 0 {
			fmt.Fprintf(p.log, "weft: %s has no rules\n", k.service)
		} else if rules = p.inForce(k.service, k.doc); rules == nil {
			_, err := p.out.Write(k.doc.Value)
			return err
		}
		_, err := p.out.Write(rules.Encode())
		return err
	})
}

// showVersion writes older rules, without their number, so that they can be applied.
func (p *program) showVersion(k *kept, number int) error {
	revisions, err := route.History(k.doc.Value)
	for _, r := range revisions {
		if r.Version != number {
			continue
		}
		r.Version, r.Time, r.By, r.Note = 0, time.Time{}, "", ""
		text, err := r.Encode()
		if err == nil {
			_, err = p.out.Write(text)
		}
		return err
	}
	return errors.Join(fmt.Errorf("rules show: %s has no version %d any more, see 'weft rules history %s'", k.service, number, k.service), err)
}

const historyHelp = `Lists the versions of the rules of a service that are kept, the one in force first. Any of them
can be shown, and put into force again with 'weft rules rollback'.
`

// rulesHistory lists the versions of the rules.
func (p *program) rulesHistory(ctx context.Context, args []string) error {
	flags := p.flags("rules history", "service", historyHelp)
	source := sourceFlags(flags)
	args, err := parse(flags, args, 1, 1)
	if err != nil {
		return err
	}
	return with(ctx, source, args[0], func(_ context.Context, k *kept) error {
		revisions, wrong := route.History(k.doc.Value)
		if wrong != nil {
			fmt.Fprintf(p.log, "weft: what cannot be used is left out: %v\n", wrong)
		}
		if len(revisions) == 0 {
			_, err := fmt.Fprintf(p.out, "%s has no rules\n", k.service)
			return err
		}
		w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "VERSION\tTIME\tBY\tNOTE")
		for _, r := range revisions {
			at := "-"
			if !r.Time.IsZero() {
				at = r.Time.UTC().Format("2006-01-02 15:04:05 MST")
			}
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", r.Version, at, dash(r.By), dash(r.Note))
		}
		return w.Flush()
	})
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

const checkHelp = `Tells what is wrong with new rules, or what they would change: for the servers as they are now,
and for a call to every method and with every metadata that the old or the new rules ask for.
Nothing is changed. The exit code is 1 when the rules would be refused.

	weft rules check Greeter rules.json
	weft rules check -call 'Say user=ann' Greeter <rules.json
`

// rulesCheck tells what is wrong with proposed rules, or what they would change.
func (p *program) rulesCheck(ctx context.Context, args []string) error {
	flags := p.flags("rules check", "service [file]", checkHelp)
	source := sourceFlags(flags)
	var calls calls
	flags.Var(&calls, "call", "a `call` to try instead, a method and its metadata, such as 'Say user=ann'; may be given more than once")
	args, err := parse(flags, args, 1, 2)
	if err != nil {
		return err
	}
	proposed, err := p.read(args[1:])
	if err != nil {
		return err
	}
	rules, err := route.Parse(proposed)
	if err != nil {
		return err
	}
	return with(ctx, source, args[0], func(ctx context.Context, k *kept) error {
		snapshot, err := ask(ctx, k.reg, k.service)
		if err != nil {
			return err
		}
		if len(snapshot.Instances) == 0 {
			fmt.Fprintf(p.log, "weft: %v\n", unknown(ctx, k.address, k.reg, k.service))
		}
		return p.dryRun(k, rules, snapshot.Instances, calls)
	})
}

const applyHelp = `Puts new rules of a service into force: all clients follow them within moments. They are checked
first, and what they change is written. Rules that were made from an older version than the one
in force are refused, so that no change is lost. So are rules of a service of which no server is
registered, unless -force is given: its name may be misspelled.

	weft rules show Greeter >rules.json
	vi rules.json
	weft rules apply -note 'disk of 10.0.0.7 is broken' Greeter rules.json
`

// rulesApply replaces the rules.
func (p *program) rulesApply(ctx context.Context, args []string) error {
	flags := p.flags("rules apply", "service [file]", applyHelp)
	source, by, note := sourceFlags(flags), byFlag(flags), noteFlag(flags)
	force := flags.Bool("force", false, "apply the rules even if no server of the service is registered")
	args, err := parse(flags, args, 1, 2)
	if err != nil {
		return err
	}
	proposed, err := p.read(args[1:])
	if err != nil {
		return err
	}
	return with(ctx, source, args[0], func(ctx context.Context, k *kept) error {
		next, err := route.Next(k.doc.Value, proposed, *by, *note, time.Now())
		if err != nil {
			return err
		}
		snapshot, err := ask(ctx, k.reg, k.service)
		if err != nil {
			return err
		}
		if len(snapshot.Instances) == 0 && !*force {
			return fmt.Errorf("rules apply: %w; -force applies the rules all the same", unknown(ctx, k.address, k.reg, k.service))
		}
		return p.replace(ctx, k, next, snapshot.Instances)
	})
}

const rollbackHelp = `Puts the rules of an older version of a service into force again, under a new number. It works
also when the rules that are kept now cannot be used. Version 0 is no rules, and is always there.

	weft rules history Greeter
	weft rules rollback -note 'the canary was slow' Greeter 6
	weft rules rollback -note 'broken by hand' Greeter 0
`

// rulesRollback puts old rules into force.
func (p *program) rulesRollback(ctx context.Context, args []string) error {
	flags := p.flags("rules rollback", "service version", rollbackHelp)
	source, by, note := sourceFlags(flags), byFlag(flags), noteFlag(flags)
	args, err := parse(flags, args, 2, 2)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(args[1])
	if err != nil || number < 0 {
		return fmt.Errorf("rules rollback: %q is no version; %w", args[1], errUsage)
	}
	return with(ctx, source, args[0], func(ctx context.Context, k *kept) error {
		next, err := route.Rollback(k.doc.Value, number, *by, *note, time.Now())
		if err != nil {
			return err
		}
		snapshot, err := ask(ctx, k.reg, k.service)
		if err != nil {
			return err
		}
		return p.replace(ctx, k, next, snapshot.Instances)
	})
}

// replace writes what a new document changes, and stores it.
func (p *program) replace(ctx context.Context, k *kept, next []byte, instances []weft.Instance) error {
	rules, err := route.Parse(next)
	if err != nil {
		return err
	}
	if err := p.dryRun(k, rules, instances, nil); err != nil {
		return err
	}
	if err := k.reg.Store(ctx, cluster.RulesDocument(k.service), next, k.doc.Version); err != nil {
		return fmt.Errorf("%s: %w", k.reg.Name(), err)
	}
	_, err = fmt.Fprintf(p.out, "version %d of the rules of %s is in force\n", rules.Revision().Version, k.service)
	return err
}

// dryRun writes what proposed rules would change for the instances.
func (p *program) dryRun(k *kept, proposed *route.Rules, instances []weft.Instance, sample calls) error {
	current := p.inForce(k.service, k.doc)
	if sample == nil {
		sample = asked(current, proposed)
	}
	report := route.DryRun(current, proposed, instances, nil)
	// The sample says where calls of a kind go, and nothing of how many there are.
	report.Calls = route.DryRun(current, proposed, instances, sample.of(k.service)).Calls
	_, err := io.WriteString(p.out, report.String())
	return err
}

// byFlag and noteFlag are what the history keeps of a change.
func byFlag(flags *flag.FlagSet) *string {
	return flags.String("by", self(), "the `name` of the author, for the history")
}

func noteFlag(flags *flag.FlagSet) *string {
	return flags.String("note", "", "the `reason`, for the history")
}

// self is the name of the user who runs the program; "" if it has none.
func self() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

// read reads the rules from the file that is named, or from the standard input.
func (p *program) read(names []string) ([]byte, error) {
	in := p.in
	if len(names) > 0 && names[0] != "-" {
		file, err := os.Open(names[0])
		if err != nil {
			return nil, err
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
