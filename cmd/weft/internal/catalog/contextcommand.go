package catalog

import (
	"fmt"
	"path/filepath"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"

	"github.com/spf13/cobra"
)

const contextSetHelp = `Makes a context, or changes what it says: the flags that are given replace what it keeps, and the others stay.
Nothing is connected to. The names of files are kept as absolute ones.`

// ContextCommand edits the contexts.
func ContextCommand(p *shell.Shell) *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "List the contexts", Args: shell.Arguments(0, 0),
		Long:    "Lists the contexts, with a star before the one that is in use.",
		Example: "  weft context list\n  weft context list -o json",
		RunE:    func(*cobra.Command, []string) error { return contextList(p) },
	}
	use := &cobra.Command{
		Use: "use name", Short: "Choose the context of all later commands", Args: shell.Arguments(0, 1),
		Long:              "Chooses the context of all later commands; without a name there is none any more.",
		Example:           "  weft context use staging\n  weft context use",
		ValidArgsFunction: completeContexts,
		RunE: func(_ *cobra.Command, args []string) error {
			return changeContexts(p, func(all *shell.Contexts) error {
				if len(args) == 0 {
					all.Current = ""
					return nil
				}
				if _, ok := all.Contexts[args[0]]; !ok {
					return fmt.Errorf("context use: there is no context %q; 'weft context list' has all", args[0])
				}
				all.Current = args[0]
				return nil
			})
		},
	}
	set := &cobra.Command{
		Use: "set name", Short: "Make or change a context", Args: shell.Arguments(1, 1), Long: contextSetHelp,
		Example:           "  weft context set staging --registry etcd://10.0.0.1:2379 --token-file ~/.weft/staging",
		ValidArgsFunction: completeContexts,
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeContexts(p, func(all *shell.Contexts) error { return keep(&p.Settings, cmd, all, args[0]) })
		},
	}
	remove := &cobra.Command{
		Use: "remove name", Short: "Remove a context", Args: shell.Arguments(1, 1),
		Long:              "Removes a context. The files that it names stay.",
		Example:           "  weft context remove staging",
		ValidArgsFunction: completeContexts,
		RunE: func(_ *cobra.Command, args []string) error {
			return changeContexts(p, func(all *shell.Contexts) error {
				if _, ok := all.Contexts[args[0]]; !ok {
					return fmt.Errorf("context remove: there is no context %q; 'weft context list' has all", args[0])
				}
				delete(all.Contexts, args[0])
				if all.Current == args[0] {
					all.Current = ""
				}
				return nil
			})
		},
	}
	return shell.Group(shell.GroupOther, "context", "Choose and edit the contexts of environments", shell.ContextsHelp, list, use, set, remove)
}

func completeContexts(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	all, err := shell.ReadContexts()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return all.Names(), cobra.ShellCompDirectiveNoFileComp
}

// changeContexts changes the file.
func changeContexts(p *shell.Shell, change func(*shell.Contexts) error) error {
	all, err := shell.ReadContexts()
	if err != nil {
		return err
	}
	if err := change(all); err != nil {
		return err
	}
	return all.Save()
}

// keep puts the flags that are given into a context.
func keep(s *shell.Settings, cmd *cobra.Command, all *shell.Contexts, name string) error {
	c := all.Contexts[name]
	var err error
	path := func(flag, to *string) {
		if *flag != "" && err == nil {
			*to, err = filepath.Abs(*flag)
		}
	}
	text := func(flag string, to *string) {
		if flag != "" {
			*to = flag
		}
	}
	if s.Registry != "" || s.Server != "" {
		c.Registry, c.Server = s.Registry, s.Server
	}
	if s.Registry != "" {
		if _, err := ParseAddress(s.Registry); err != nil {
			return err
		}
	}
	path(&s.Files.CA, &c.CACert)
	path(&s.Files.Cert, &c.Cert)
	path(&s.Files.Key, &c.Key)
	path(&s.TokenFile, &c.TokenFile)
	path(&s.AdminTokenFile, &c.AdminTokenFile)
	text(s.Files.ServerName, &c.ServerName)
	if cmd.Flags().Changed("tls") {
		c.TLS = s.TLS
	}
	if cmd.Flags().Changed("insecure") {
		c.Insecure = s.Files.Insecure
	}
	if len(s.Headers) > 0 {
		if _, err := shell.ReadHeaders(s.Headers); err != nil {
			return err
		}
		c.Headers = s.Headers
	}
	if err != nil {
		return err
	}
	if all.Contexts == nil {
		all.Contexts = map[string]shell.Environment{}
	}
	all.Contexts[name] = c
	return nil
}

// contextList lists the contexts. Passwords in addresses are left out.
func contextList(p *shell.Shell) error {
	all, err := shell.ReadContexts()
	if err != nil {
		return err
	}
	type shown struct {
		Name    string `json:"name"`
		Current bool   `json:"current"`
		shell.Environment
	}
	l := &shell.Listing{Heads: []string{"IN USE", "NAME", "REGISTRY", "SERVER", "TLS"}, None: "there is no context; 'weft context set' makes one"}
	values := []shown{}
	for _, name := range all.Names() {
		c := all.Contexts[name]
		c.Registry = WithoutPassword(c.Registry)
		mark, secure := "", ""
		if name == all.Current {
			mark = "*"
		}
		if c.TLS {
			secure = "yes"
		}
		l.Lines = append(l.Lines, []string{mark, name, c.Registry, c.Server, secure})
		l.Names = append(l.Names, name)
		values = append(values, shown{name, name == all.Current, c})
	}
	l.Value = values
	return p.Write(l)
}
