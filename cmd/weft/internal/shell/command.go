package shell

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// The groups of commands in the help.
const (
	GroupCall     = "call"
	GroupSee      = "see"
	GroupRegistry = "registry"
	GroupOther    = "other"
)

// ErrUsage marks errors in the arguments.
var ErrUsage = errors.New("see 'weft help'")

// Group makes a command that only has commands below it.
func Group(id, use, short, long string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, GroupID: id, Short: short, Long: long,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return UnknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fmt.Errorf("%s: name what to do: %s; %w", cmd.Name(), Alternatives(names(cmd)), ErrUsage)
		},
	}
	cmd.AddCommand(below...)
	return cmd
}

// names are those of the commands below a command.
func names(cmd *cobra.Command) []string {
	var all []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			all = append(all, c.Name())
		}
	}
	return all
}

// Alternatives is such as "show, check or apply".
func Alternatives(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// UnknownCommand is the error of a name that no command has.
func UnknownCommand(cmd *cobra.Command, name string) error {
	if err := Misspelled(cmd, name); err != nil {
		return err
	}
	return fmt.Errorf("%s has no command %q, only %s; %w", cmd.CommandPath(), name, Alternatives(names(cmd)), ErrUsage)
}

// Misspelled is the error of a name that is nearly that of a command below cmd; nil if it is like none.
func Misspelled(cmd *cobra.Command, name string) error {
	cmd.SuggestionsMinimumDistance = max(1, min(2, len(name)/2)) // two of three letters are like any
	like := cmd.SuggestionsFor(name)
	if len(like) == 0 {
		return nil
	}
	return fmt.Errorf("%s has no command %q; did you mean %s? %w", cmd.CommandPath(), name, Alternatives(like), ErrUsage)
}

// Arguments checks the number of arguments.
func Arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := len(args); n < least || most >= 0 && n > most {
			return fmt.Errorf("%s: %s given, want %s; see '%s --help'%.0w",
				strings.TrimPrefix(cmd.CommandPath(), "weft "), Plural(n, "argument"), span(least, most), cmd.CommandPath(), ErrUsage)
		}
		return nil
	}
}

// span is such as "1", "1 to 2" or "1 or more".
func span(least, most int) string {
	switch {
	case most < 0:
		return fmt.Sprintf("%d or more", least)
	case least == most:
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}
