package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
)

// longFlags puts a second dash before the long flags that have one only, as they had before
// the command took two: "-registry" becomes "--registry".
func longFlags(root *cobra.Command, args []string) []string {
	known := make(map[string]bool)
	var collect func(cmd *cobra.Command)
	collect = func(cmd *cobra.Command) {
		note := func(f *pflag.Flag) { known[f.Name] = len(f.Name) > 1 }
		cmd.Flags().VisitAll(note)
		cmd.PersistentFlags().VisitAll(note)
		for _, c := range cmd.Commands() {
			collect(c)
		}
	}
	collect(root)
	known["help"] = true
	out := make([]string, 0, len(args))
	for i, arg := range args {
		if arg == "--" || i == 0 && arg == cobra.ShellCompRequestCmd || len(args) > 0 && args[0] == "generate" {
			return append(out, args[i:]...)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && known[name] {
			arg = "-" + arg
		}
		out = append(out, arg)
	}
	return out
}

// instead says what may have been meant by a flag that a command does not have; "" if the error is another.
func instead(cmd *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return ""
	}
	if unknown.GetSpecifiedShortnames() != "" {
		return "; an argument that begins with a dash goes behind --"
	}
	var like []string
	note := func(f *pflag.Flag) {
		if !f.Hidden && near(unknown.GetSpecifiedName(), f.Name) {
			like = append(like, "--"+f.Name)
		}
	}
	cmd.LocalFlags().VisitAll(note)
	cmd.InheritedFlags().VisitAll(note)
	if len(like) == 0 {
		return ""
	}
	return "; did you mean " + shell.Alternatives(like) + "?"
}

// near reports whether two words differ by at most two letters that are missing, too many or others, or one is what the other
// begins with.
func near(a, b string) bool {
	if len(a) > 2 && strings.HasPrefix(b, a) {
		return true
	}
	// Each row has the differences between the first letters of a, and of b.
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)] <= min(2, len(b)/3)
}
