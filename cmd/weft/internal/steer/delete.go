package steer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
)

const deleteHelp = `Deletes rules of a service: the instance rules and routes with the names that are given, and what is set for the methods
with these names; with --all, all rules. What changes is written, the history keeps the old version, and 'weft rules
rollback' brings it back.`

const deleteExamples = `  weft rules delete --note 'the canary is over' Greeter canary
  weft rules delete --all Greeter`

// rulesDeleteCommand deletes rules.
func rulesDeleteCommand(p *shell.Shell) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use: "delete service [rule ...]", Short: "Delete rules by their names, or all", Long: deleteHelp, Example: deleteExamples,
		Args: shell.Arguments(1, -1), ValidArgsFunction: completeRule(p),
	}
	a := auditFlags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "delete all rules of the service")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if all == (len(args) > 1) {
			return fmt.Errorf("rules delete: want the names of rules, or --all; 'weft rules show %s' has the names; %w", args[0], shell.ErrUsage)
		}
		return with(cmd.Context(), p, args[0], func(ctx context.Context, k *kept) error { return rulesDelete(ctx, p, k, a, args[1:]) })
	}
	return cmd
}

// rulesDelete deletes the rules with names; without names all.
func rulesDelete(ctx context.Context, p *shell.Shell, k *kept, a *audit, names []string) error {
	if k.doc.Version == 0 {
		return fmt.Errorf("rules delete: %s has no rules", k.service)
	}
	snapshot, err := catalog.Ask(ctx, k.reg, k.service)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		next, err := route.Rollback(k.doc.Value, 0, a.author(), cmp.Or(a.note, "all rules deleted"), time.Now())
		if err != nil {
			return err
		}
		return replace(ctx, p, k, next, snapshot.Instances)
	}
	rules, err := route.Parse(k.doc.Value)
	if err != nil {
		return fmt.Errorf("the rules of %s that are kept cannot be used: %w; see 'weft rules rollback', or delete all with --all", k.service, err)
	}
	v := rules.Revision()
	for _, name := range names {
		if !remove(&v, name) {
			return fmt.Errorf("rules delete: %s has no rule %q, %s", k.service, name, only(ruleNames(&v)))
		}
	}
	return revise(ctx, p, a, k, v, snapshot.Instances)
}

// remove removes the rules with a name, and reports whether there were any.
func remove(v *route.Revision, name string) bool {
	before := len(v.Instances) + len(v.Routes) + len(v.Methods)
	v.Instances = slices.DeleteFunc(v.Instances, func(r route.InstanceRule) bool { return r.Name == name })
	v.Routes = slices.DeleteFunc(v.Routes, func(r route.RouteRule) bool { return r.Name == name })
	delete(v.Methods, name)
	return len(v.Instances)+len(v.Routes)+len(v.Methods) < before
}

// ruleNames are the names of all rules that have one.
func ruleNames(v *route.Revision) []string {
	var all []string
	for _, r := range v.Instances {
		if r.Name != "" {
			all = append(all, r.Name)
		}
	}
	for _, r := range v.Routes {
		all = append(all, r.Name)
	}
	for name := range v.Methods {
		all = append(all, name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// only says which names there are.
func only(names []string) string {
	if len(names) == 0 {
		return "and none with another name; --all deletes all"
	}
	return "only " + strings.Join(names, ", ")
}

// completeRule completes a service and the names of its rules.
func completeRule(p *shell.Shell) cobra.CompletionFunc {
	services := catalog.CompleteService(p)
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return services(cmd, args, word)
		}
		find := func(ctx context.Context) (names []string, err error) {
			err = with(ctx, p, args[0], func(_ context.Context, k *kept) error {
				rules, err := route.Parse(documentOf(k))
				if err == nil {
					v := rules.Revision()
					names = ruleNames(&v)
				}
				return err
			})
			return names, err
		}
		return catalog.Completions(p, cmd, "rules of "+args[0], find), cobra.ShellCompDirectiveNoFileComp
	}
}
