package target

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/registry/etcd"
)

// CompleteMethod completes the name of a method: of the server whose address is the first argument,
// or else of the services in the registry.
func CompleteMethod(p *shell.Shell) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		address, rest := Split(args)
		if len(rest) > 0 {
			return nil, cobra.ShellCompDirectiveDefault // the request, perhaps in a file
		}
		find := func(ctx context.Context) ([]string, error) { return knownMethods(ctx, p, address) }
		return catalog.Completions(p, cmd, "methods of "+address, find), cobra.ShellCompDirectiveNoFileComp
	}
}

// knownMethods are the methods of a server, or of a server of each service in the registry. A
// server that does not answer gives the name of its service alone.
func knownMethods(ctx context.Context, p *shell.Shell, address string) ([]string, error) {
	if address != "" || p.Settings.Server != "" {
		return methodsAt(ctx, p, address)
	}
	a, reg, err := catalog.OpenRegistry(p)
	if err != nil {
		return nil, err
	}
	defer reg.Close()
	if a.Kind != "etcd" {
		return nil, nil
	}
	services, err := etcd.Services(ctx, a.Etcd())
	if err != nil {
		return nil, err
	}
	services, _ = catalog.WithoutOwn(services)
	var names []string
	asked := make(map[string][]string)
	for _, service := range services {
		snapshot, err := catalog.Ask(ctx, reg, service)
		if err != nil || len(snapshot.Instances) == 0 {
			continue
		}
		at := snapshot.Instances[0].Address
		if _, known := asked[at]; !known {
			asked[at], _ = methodsAt(ctx, p, at) // without an answer there are none
		}
		found := false
		for _, m := range asked[at] {
			if strings.HasPrefix(m, service+".") {
				names, found = append(names, m), true
			}
		}
		if !found {
			names = append(names, service+".")
		}
	}
	return names, nil
}

func methodsAt(ctx context.Context, p *shell.Shell, address string) ([]string, error) {
	t, err := Open(ctx, p, address)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	services, err := t.Describe(ctx, p, "", false)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range services {
		if catalog.Own(s.Name) {
			continue
		}
		for _, m := range s.Methods {
			names = append(names, m.Name)
		}
	}
	return names, nil
}
