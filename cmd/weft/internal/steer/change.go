package steer

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
)

const changeHelp = `

It is done by a rule with the name "weft instances ID", which is the first of the instance rules, so that all clients
follow it at once; 'weft rules history' has the change, and 'weft rules rollback' takes it back. The exit code is 1 if
the service has no such instance.`

// changeCommands change how much of the calls an instance gets.
func changeCommands(p *shell.Shell) []*cobra.Command {
	state := func(use, short, long string, s weft.State) *cobra.Command {
		cmd := &cobra.Command{
			Use: use + " service ID", Short: short, Long: long + changeHelp, Example: "  weft instances " + use + " Arith tcp://10.0.0.7:8972 --note 'disk is broken'",
			Args: shell.Arguments(2, 2), ValidArgsFunction: completeInstance(p),
		}
		a := auditFlags(cmd)
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			return changeInstance(cmd.Context(), p, a, args[0], args[1], func(r *route.InstanceRule) { r.State = &s })
		}
		return cmd
	}
	weight := &cobra.Command{
		Use: "weight service ID number", Short: "Set the weight of an instance",
		Long:    "Sets the weight of an instance: its share of the calls relative to the others, which have 100 if they say nothing." + changeHelp,
		Example: "  weft instances weight Arith tcp://10.0.0.7:8972 50 --note 'half as fast'",
		Args:    shell.Arguments(3, 3), ValidArgsFunction: completeInstance(p),
	}
	a := auditFlags(weight)
	weight.RunE = func(cmd *cobra.Command, args []string) error {
		n, err := strconv.Atoi(args[2])
		if err != nil || n < 0 {
			return fmt.Errorf("instances weight: %q is no weight, want 0 or more; %w", args[2], shell.ErrUsage)
		}
		return changeInstance(cmd.Context(), p, a, args[0], args[1], func(r *route.InstanceRule) { r.Weight = &n })
	}
	enable := &cobra.Command{
		Use: "enable service ID", Short: "Take back what drain, disable and weight have set",
		Long:    "Takes back what drain, disable and weight have set for an instance. Other rules still hold for it." + changeHelp,
		Example: "  weft instances enable Arith tcp://10.0.0.7:8972",
		Args:    shell.Arguments(2, 2), ValidArgsFunction: completeInstance(p),
	}
	enableAudit := auditFlags(enable)
	enable.RunE = func(cmd *cobra.Command, args []string) error {
		return changeInstance(cmd.Context(), p, enableAudit, args[0], args[1], nil)
	}
	return []*cobra.Command{
		weight,
		state("drain", "Send an instance no calls while there are others", "Drains an instance: it gets no calls, unless there is no other.", weft.Draining),
		state("disable", "Send an instance no calls at all", "Disables an instance: it gets no calls, even if there is no other.", weft.Off),
		enable,
	}
}

// completeInstance completes a service and the ID of one of its instances.
func completeInstance(p *shell.Shell) cobra.CompletionFunc {
	services := catalog.CompleteService(p)
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) != 1 {
			words, _ := services(cmd, args, word)
			return words, cobra.ShellCompDirectiveNoFileComp
		}
		find := func(ctx context.Context) ([]string, error) {
			_, reg, err := catalog.OpenRegistry(p)
			if err != nil {
				return nil, err
			}
			defer reg.Close()
			snapshot, err := catalog.Ask(ctx, reg, args[0])
			if err != nil {
				return nil, err
			}
			var ids []string
			for _, i := range snapshot.Instances {
				ids = append(ids, i.ID)
			}
			return ids, nil
		}
		return catalog.Completions(p, cmd, "instances of "+args[0], find), cobra.ShellCompDirectiveNoFileComp
	}
}

// ruleName is the name of the rule that the commands set for an instance.
func ruleName(id string) string { return "weft instances " + id }

// changeInstance changes the rule of an instance; without change it is removed.
func changeInstance(ctx context.Context, p *shell.Shell, a *audit, service, id string, change func(*route.InstanceRule)) error {
	return with(ctx, p, service, func(ctx context.Context, k *kept) error {
		snapshot, err := catalog.Ask(ctx, k.reg, service)
		if err != nil {
			return err
		}
		if len(snapshot.Instances) == 0 {
			return catalog.Unknown(ctx, k.address, k.reg, service)
		}
		known := func(i weft.Instance) bool { return i.ID == id }
		if !slices.ContainsFunc(snapshot.Instances, known) && change != nil {
			var ids []string
			for _, i := range snapshot.Instances {
				ids = append(ids, i.ID)
			}
			return fmt.Errorf("%s has no instance %q, only %s; see 'weft instances %s'", service, id, strings.Join(ids, ", "), service)
		}
		rules, err := route.Parse(documentOf(k))
		if err != nil {
			return fmt.Errorf("the rules of %s that are kept cannot be used, and so not be added to: %w; see 'weft rules rollback'", service, err)
		}
		v := rules.Revision()
		if !edit(&v.Instances, id, change) {
			if !p.ForPeople() {
				return writeReport(p, new(route.Report), 0)
			}
			_, err := fmt.Fprintf(p.Out, "nothing is set for instance %s of %s\n", id, service)
			return err
		}
		return revise(ctx, p, a, k, v, snapshot.Instances)
	})
}

// documentOf is the document of the rules, that of no rules if there is none.
func documentOf(k *kept) []byte {
	if k.doc.Version == 0 {
		return []byte("{}")
	}
	return k.doc.Value
}

// edit changes the rule of an instance in a list, and reports whether anything has changed.
func edit(rules *[]route.InstanceRule, id string, change func(*route.InstanceRule)) bool {
	at := slices.IndexFunc(*rules, func(r route.InstanceRule) bool { return r.Name == ruleName(id) })
	if change == nil {
		if at < 0 {
			return false
		}
		*rules = slices.Delete(*rules, at, at+1)
		return true
	}
	if at < 0 {
		// The first rule with a weight, and the first with a state, decide.
		*rules = slices.Insert(*rules, 0, route.InstanceRule{Name: ruleName(id), Match: route.Match{ID: route.Patterns{id}}})
		at = 0
	}
	change(&(*rules)[at])
	return true
}
