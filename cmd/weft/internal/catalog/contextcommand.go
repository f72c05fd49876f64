package catalog

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"

	"github.com/spf13/cobra"
)

const contextSetHelp = `Makes a context, or changes what it says: the flags that are given replace what it keeps, and the others stay.
A flag with an empty value, such as --cacert "", takes back what it has set. Nothing is connected to. The names of files
are kept as absolute ones.`

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
					return fmt.Errorf("context use: there is no context %q; 'weft context list' has all; %w", args[0], shell.ErrUsage)
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
			current := ""
			err := changeContexts(p, func(all *shell.Contexts) error {
				current = all.Current
				return keep(&p.Settings, cmd, all, args[0])
			})
			if err == nil && current != args[0] {
				fmt.Fprintf(p.Log, "weft: the context is kept; --context %s uses it once, 'weft context use %s' for all commands\n", args[0], args[0])
			}
			return err
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
					return fmt.Errorf("context remove: there is no context %q; 'weft context list' has all; %w", args[0], shell.ErrUsage)
				}
				delete(all.Contexts, args[0])
				if all.Current == args[0] {
					all.Current = ""
				}
				return nil
			})
		},
	}
	show := &cobra.Command{
		Use: "show [name]", Short: "Show what a context says", Args: shell.Arguments(0, 1),
		Long:              "Shows what a context says, without a name the one that is in use. Passwords and values with names of secrets are masked.",
		Example:           "  weft context show\n  weft context show staging -o yaml",
		ValidArgsFunction: completeContexts,
		RunE:              func(_ *cobra.Command, args []string) error { return contextShow(p, strings.Join(args, "")) },
	}
	return shell.Group(shell.GroupOther, "context", "Choose and edit the contexts of environments", shell.ContextsHelp, list, show, use, set, remove)
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
	given := cmd.Flags().Changed
	path := func(flag, value string, to *string) {
		switch {
		case !given(flag) || err != nil:
		case value == "":
			*to = ""
		default:
			*to, err = filepath.Abs(value)
		}
	}
	if given("registry") || given("server") {
		c.Registry, c.Server = s.Registry, s.Server
	}
	if s.Registry != "" {
		if _, err := ParseAddress(s.Registry); err != nil {
			return err
		}
	}
	path("cacert", s.Files.CA, &c.CACert)
	path("cert", s.Files.Cert, &c.Cert)
	path("key", s.Files.Key, &c.Key)
	path("token-file", s.TokenFile, &c.TokenFile)
	path("admin-token-file", s.AdminTokenFile, &c.AdminTokenFile)
	if given("servername") {
		c.ServerName = s.Files.ServerName
	}
	if cmd.Flags().Changed("tls") {
		c.TLS = s.TLS
	}
	if cmd.Flags().Changed("insecure") {
		c.Insecure = s.Files.Insecure
	}
	if given("header") {
		c.Headers = slices.DeleteFunc(slices.Clone(s.Headers), func(h string) bool { return h == "" })
		if _, err := shell.ReadHeaders(c.Headers); err != nil {
			return err
		}
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

// shownContext is a context as people may see it.
type shownContext struct {
	Name    string `json:"name"`
	Current bool   `json:"current"`
	shell.Environment
}

func shownOf(all *shell.Contexts, name string) shownContext {
	c := all.Contexts[name]
	c.Registry = WithoutPassword(c.Registry)
	c.Headers = slices.Clone(c.Headers)
	for n, header := range c.Headers {
		if key, _, ok := strings.Cut(header, ":"); ok && admin.Sensitive(key) {
			c.Headers[n] = key + ":***"
		}
	}
	return shownContext{name, name == all.Current, c}
}

// contextShow shows a context, "" for the one in use.
func contextShow(p *shell.Shell, name string) error {
	all, err := shell.ReadContexts()
	if err != nil {
		return err
	}
	if name = cmp.Or(name, p.Settings.Context, os.Getenv("WEFT_CONTEXT"), all.Current); name == "" {
		return fmt.Errorf("context show: no context is in use; 'weft context list' has all; %w", shell.ErrUsage)
	}
	if _, ok := all.Contexts[name]; !ok {
		return fmt.Errorf("context show: there is no context %q; 'weft context list' has all; %w", name, shell.ErrUsage)
	}
	c := shownOf(all, name)
	l := &shell.Listing{Heads: []string{"SETTING", "VALUE"}, Names: []string{name}, Value: c}
	yes := func(b bool) string {
		if b {
			return "yes"
		}
		return ""
	}
	for _, line := range [][]string{
		{"name", c.Name}, {"in use", yes(c.Current)}, {"registry", c.Registry}, {"server", c.Server}, {"tls", yes(c.TLS)}, {"cacert", c.CACert}, {"cert", c.Cert}, {"key", c.Key},
		{"servername", c.ServerName}, {"insecure", yes(c.Insecure)}, {"token-file", c.TokenFile}, {"admin-token-file", c.AdminTokenFile}, {"header", strings.Join(c.Headers, ", ")},
	} {
		if line[1] != "" {
			l.Lines = append(l.Lines, line)
		}
	}
	return p.Write(l)
}

// contextList lists the contexts. Passwords in addresses are left out.
func contextList(p *shell.Shell) error {
	all, err := shell.ReadContexts()
	if err != nil {
		return err
	}
	l := &shell.Listing{Heads: []string{"IN USE", "NAME", "REGISTRY", "SERVER", "TLS"}, None: "there is no context; 'weft context set' makes one"}
	values := []shownContext{}
	for _, name := range all.Names() {
		c := shownOf(all, name)
		mark, secure := "", ""
		if c.Current {
			mark = "*"
		}
		if c.TLS {
			secure = "yes"
		}
		l.Lines = append(l.Lines, []string{mark, name, c.Registry, c.Server, secure})
		l.Names = append(l.Names, name)
		values = append(values, c)
	}
	l.Value = values
	return p.Write(l)
}
