package main

import (
	"errors"
	"flag"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft/generate"
)

const generateHelp = `Writes clients and register functions for services. An input is a package of Go, as for the go command, in which
interfaces are marked with //weft:service, or a .proto or .thrift file, whose messages become structs. Without an input it is the
package in this folder. Each source gets one file beside it: order.go, order.proto or order.thrift has order_weft.go, which is
removed when the source is gone or has nothing to generate.

Its flags have one dash, as those of weft-generate, which is the same without the other commands: -check, -codec,
-package, -I. "weft generate -h" explains them.`

// generateCommand writes clients and register functions for services.
func generateCommand(p *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "generate [flags] [input ...]", GroupID: shell.GroupOther, Short: "Write clients and register functions for services",
		Long: generateHelp, Example: "  weft generate\n  weft generate -check -codec ./...\n  weft generate -I proto shop.proto",
		DisableFlagParsing: true,
		// The flags that all commands have are not read.
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
}
