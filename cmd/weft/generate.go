package main

import (
	"errors"
	"flag"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weftrpc/weft/generate"
)

const generateHelp = `Writes clients and register functions for services. An input is a package of Go, as for the go command, in which
interfaces are marked with //weft:service, or a .proto or .thrift file, whose messages become structs. Without an input it is the
package in this folder. Each source gets one file beside it: order.go, order.proto or order.thrift has order_weft.go, which is
removed when the source is gone or has nothing to generate.

Its flags are those of weft-generate, which is the same without the other commands; it refuses the flags that all others have:

  -I folder      a folder with the imports of .proto files or the includes of .thrift files; may be repeated
  -check         write nothing; fail if a file is missing, not up to date or to be removed
  -codec         also write code that encodes and decodes structs whose fields have numbers
  -package name  the name of the Go package of .proto files without go_package and of .thrift files without
                 namespace go (default: that of their folder)`

// generateCommand writes clients and register functions for services.
func generateCommand(p *shell.Shell) *cobra.Command {
	cmd := &cobra.Command{
		Use: "generate [flags] [input ...]", GroupID: shell.GroupOther, Short: "Write clients and register functions for services",
		Long: generateHelp, Example: "  weft generate\n  weft generate -check -codec ./...\n  weft generate -I proto shop.proto",
		DisableFlagParsing: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			p.Running = true
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			err := generate.Command(cmd.Context(), args, p.Out, p.Log)
			switch {
			case errors.Is(err, flag.ErrHelp):
				return nil
			case errors.Is(err, generate.ErrFlags):
				return shell.Written(shell.Exit(err, shell.ExitUsage))
			}
			return err
		},
	}
	// Hidden flags in place of those of all commands keep them out of the help and its page.
	new(shell.Settings).Add(cmd)
	cmd.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Hidden = true })
	return cmd
}
