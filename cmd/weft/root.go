package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/weftrpc/weft/cmd/weft/internal/calls"
	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/diagnose"
	"github.com/weftrpc/weft/cmd/weft/internal/live"
	"github.com/weftrpc/weft/cmd/weft/internal/load"
	"github.com/weftrpc/weft/cmd/weft/internal/replay"
	"github.com/weftrpc/weft/cmd/weft/internal/schemas"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/cmd/weft/internal/show"
	"github.com/weftrpc/weft/cmd/weft/internal/steer"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
	"github.com/weftrpc/weft/cmd/weft/internal/up"

	"github.com/spf13/cobra"
)

const rootHelp = `weft calls and shows services, runs a registry, changes what is in one, and generates code. To begin with:

  weft list tcp://127.0.0.1:8972                              what a server serves
  weft call tcp://127.0.0.1:8972 Arith.Mul '{"A":6,"B":7}'    a call
  weft up                                                     a registry; 'weft instances' lists what is in it
  weft doctor                                                 why something does not work

Commands ask the registry at --registry, $WEFT_REGISTRY or that of the context in use ("weft help contexts"), or else
etcd://127.0.0.1:2379; with --server they ask one server instead. "weft help addresses" lists the forms of both.`

// execute runs a command and returns the exit code.
func execute(ctx context.Context, p *shell.Shell, args []string) int {
	root := root(p)
	if done, code := plugin(ctx, p, root, args); done {
		return code // it has written to the terminal itself, if there is one
	}
	out := &shell.Checked{To: p.Out}
	p.Out = out
	p.In = shell.Interruptible(ctx, p.In)
	p.Guard()
	root.SetArgs(longFlags(root, helpFirst(root, args)))
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Log)
	completion(root) // it keeps the output
	cmd, err := root.ExecuteContextC(shell.With(ctx, p))
	if err == nil && out.Err != nil {
		err = out.Err // such as of help, whose errors cobra does not report
	}
	if err == nil {
		return shell.ExitFine
	}
	if !p.Running && !errors.Is(err, shell.ErrUsage) {
		err = fmt.Errorf("%w%s; see '%s --help'%.0w", err, instead(cmd, err), cmd.CommandPath(), shell.ErrUsage)
	}
	if p.Resolved && errors.Is(err, shell.ErrUsage) {
		err = shell.UsageOf(cmd.CommandPath(), err)
	}
	return p.Report(ctx, err)
}

// root makes the tree of commands.
func root(p *shell.Shell) *cobra.Command {
	root := &cobra.Command{
		Use:   "weft",
		Short: "Call, see and steer services of weft",
		Long:  rootHelp,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return shell.UnknownCommand(cmd, args[0])
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			p.Running = true
			if cmd.Parent() == nil {
				return nil // the help must be there whatever the environment and the contexts say
			}
			if cmd.Name() == cobra.ShellCompRequestCmd || cmd.Name() == cobra.ShellCompNoDescRequestCmd {
				return nil // the flags are those of the line that is completed, and are not read yet
			}
			if err := p.Settings.Resolve(cmd); err != nil {
				return err
			}
			p.Resolved = true
			return nil
		},
		SilenceErrors:      true,
		SilenceUsage:       true,
		DisableSuggestions: true, // shell.UnknownCommand has them
	}
	root.AddGroup(
		&cobra.Group{ID: shell.GroupCall, Title: "Calls:"},
		&cobra.Group{ID: shell.GroupSee, Title: "See what is going on:"},
		&cobra.Group{ID: shell.GroupRegistry, Title: "Registry and rules:"},
		&cobra.Group{ID: shell.GroupOther, Title: "Other commands:"},
	)
	p.Settings.Add(root)
	root.AddCommand(commands(p)...)
	root.AddCommand(topics()...)
	root.SetHelpCommand(helpCommand(p, root))
	root.SetHelpCommandGroupID(shell.GroupOther)
	root.SetCompletionCommandGroupID(shell.GroupOther)
	root.SetUsageTemplate(usageTemplate)
	cobra.EnableCommandSorting = false
	return root
}

// completion adds cobra's command, and has it refuse a shell that it does not know.
func completion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil {
		return // it is there
	}
	group := shell.Group("", "completion", "", "")
	cmd.Args, cmd.RunE = group.Args, group.RunE
}

// commands are those of weft, in the order of the help.
func commands(p *shell.Shell) []*cobra.Command {
	return []*cobra.Command{
		calls.Command(p, target.CompleteMethod(p)),
		show.ListCommand(p),
		show.DescribeCommand(p),
		show.HealthCommand(p),
		load.BenchCommand(p),
		replay.Command(p),
		steer.InstancesCommand(p),
		live.TopCommand(p),
		live.TapCommand(p),
		live.RecordCommand(p),
		diagnose.ExplainCommand(p),
		diagnose.DoctorCommand(p),
		steer.RulesCommand(p),
		steer.RegistryCommand(p),
		up.Command(p),
		catalog.ContextCommand(p),
		schemas.Command(p),
		generateCommand(p),
		versionCommand(p),
	}
}

// helpCommand explains commands and topics.
func helpCommand(p *shell.Shell, root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [command or topic]", GroupID: shell.GroupOther, Short: "Explain a command or a topic",
		Long: "Explains a command or a topic, as --help does behind a command.",
		// The help must be there whatever the environment and the contexts say.
		PersistentPreRunE: func(*cobra.Command, []string) error {
			p.Running = true
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var all []string
			for _, c := range cmd.Commands() {
				if !c.Hidden {
					all = append(all, c.Name()+"\t"+c.Short)
				}
			}
			return all, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return shell.UnknownCommand(cmd, append(rest, args...)[0])
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// helpFirst makes "help rules apply" of "rules help apply".
func helpFirst(root *cobra.Command, args []string) []string {
	if len(args) < 2 || args[1] != "help" {
		return args
	}
	if cmd, _, err := root.Find(args[:1]); err != nil || cmd == root || !cmd.HasSubCommands() {
		return args
	}
	return append([]string{"help", args[0]}, args[2:]...)
}

// plugin runs the program weft-foo of $PATH for the command foo, which weft does not have.
func plugin(ctx context.Context, p *shell.Shell, root *cobra.Command, args []string) (done bool, code int) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[0], "__") || strings.ContainsAny(args[0], `/\`) {
		return false, 0
	}
	if cmd, _, err := root.Find(args[:1]); err == nil && cmd != root || args[0] == "completion" {
		return false, 0
	}
	path, err := exec.LookPath("weft-" + args[0])
	if err != nil {
		return false, 0
	}
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.In, p.Out, p.Log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		return true, exit.ExitCode()
	}
	if err != nil && ctx.Err() != nil {
		return true, shell.ExitInterrupted
	}
	if err != nil {
		return true, p.Report(ctx, fmt.Errorf("%s: %w", path, err))
	}
	return true, shell.ExitFine
}

// usageTemplate is cobra's, with flags that fit a line.
const usageTemplate = `Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}{{$cmds := .Commands}}{{if eq (len .Groups) 0}}

Commands:{{range $cmds}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{else}}{{range $group := .Groups}}

{{.Title}}{{range $cmds}}{{if (and (eq .GroupID $group.ID) .IsAvailableCommand)}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped 110 | trimTrailingWhitespaces}}{{end}}{{if .HasHelpSubCommands}}

Topics:{{range .Commands}}{{if .IsAdditionalHelpTopicCommand}}
  {{rpad .CommandPath .CommandPathPadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableSubCommands}}

"{{.CommandPath}} [command] --help" explains a command.{{end}}{{if .HasAvailableInheritedFlags}}

"weft help" lists the flags that all commands have.{{end}}
`
