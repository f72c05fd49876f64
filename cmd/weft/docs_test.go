package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
)

var update = flag.Bool("update", false, "write docs/cli from the help of the commands")

// docsFolder has the help of all commands as pages.
const docsFolder = "../../docs/cli"

// TestDocs compares the pages with the help of the commands. "go test -run TestDocs -update" writes them.
func TestDocs(t *testing.T) {
	made := t.TempDir()
	cmd := root(&shell.Shell{})
	cmd.InitDefaultCompletionCmd()
	for _, c := range every(cmd) {
		c.DisableAutoGenTag = true
	}
	if err := doc.GenMarkdownTree(cmd, made); err != nil {
		t.Fatal(err)
	}
	// Topics have no command line, so cobra makes no pages of them.
	var index strings.Builder
	index.WriteString("# The command weft\n\nThese pages are the help of the command, written by `go test -run TestDocs -update` in [cmd/weft](../../cmd/weft/main.go).\n" +
		"The completion of bash, zsh and fish is tried in these shells on a pseudo-terminal. Of that of PowerShell the form is checked; no test runs it, since PowerShell is in no package of the\n" +
		"system, nor in one of another registry that holds the program itself.\n\n| command | |\n|---|---|\n")
	for _, c := range every(cmd) {
		if c.IsAvailableCommand() && (c.Parent() == nil || c.Parent().Name() != "completion") {
			fmt.Fprintf(&index, "| [%s](%s.md) | %s |\n", c.CommandPath(), strings.ReplaceAll(c.CommandPath(), " ", "_"), c.Short)
		}
	}
	for _, c := range topics() {
		fmt.Fprintf(&index, "\n## %s\n\n```\n%s\n```\n", c.Short, c.Long)
	}
	if err := os.WriteFile(filepath.Join(made, "README.md"), []byte(index.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(made, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.RemoveAll(docsFolder); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(docsFolder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	there, err := filepath.Glob(filepath.Join(docsFolder, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	if len(there) != len(pages) && !*update {
		t.Errorf("docs/cli has %d pages, want %d: run go test -run TestDocs -update in cmd/weft", len(there), len(pages))
	}
	for _, page := range pages {
		want, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.TrimRight(string(want), "\n") + "\n"
		at := filepath.Join(docsFolder, filepath.Base(page))
		if *update {
			if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(at); err != nil || string(got) != text {
			t.Errorf("%s is not the help of the command, error %v: run go test -run TestDocs -update in cmd/weft", at, err)
		}
	}
}

// every is a command and all below it, topics aside.
func every(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if !c.IsAdditionalHelpTopicCommand() {
			all = append(all, every(c)...)
		}
	}
	return all
}

// words divides a line as a shell does, up to a redirection, a pipe or another command.
func words(line string) ([]string, error) {
	var all []string
	var word strings.Builder
	quoted, some := false, false
	end := func() {
		if some {
			all = append(all, word.String())
		}
		word.Reset()
		some = false
	}
	for _, r := range line {
		switch {
		case r == '\'':
			quoted, some = !quoted, true
		case !quoted && (r == ' ' || r == '\t'):
			end()
		case !quoted && strings.ContainsRune("<>|&", r):
			end()
			return all, nil
		default:
			word.WriteRune(r)
			some = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("a quote is not closed")
	}
	end()
	return all, nil
}

// TestGuides checks the commands of the guides: each is one, and has the flags that it is given.
func TestGuides(t *testing.T) {
	line := regexp.MustCompile("(?m)^ *(weft [^\n#]+)|`(weft [a-z]+ [^`…]+)`")
	checked := 0
	continued := regexp.MustCompile(`\\\n *`)
	for _, page := range []string{"command.md", "admin.md", "observability.md", "kubernetes.md", "registries.md", "rules.md", "schema.md"} {
		text, err := os.ReadFile(filepath.Join("../../docs/guide", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range line.FindAllStringSubmatch(continued.ReplaceAllString(string(text), ""), -1) {
			example, _, _ := strings.Cut(strings.TrimSpace(match[1]+match[2]), "   ")
			args, err := words(example)
			if err != nil || len(args) < 2 || args[1] == "help" {
				continue
			}
			cmd, rest, err := root(&shell.Shell{}).Find(args[1:])
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if errors.Is(err, pflag.ErrHelp) {
				continue
			}
			mentioned := match[2] != "" && len(cmd.Flags().Args()) == 0 // and not meant to be run as it is
			if err == nil && cmd.HasSubCommands() && len(cmd.Flags().Args()) == 0 && cmd.Name() != "instances" {
				err = fmt.Errorf("%s is no command of its own", cmd.CommandPath())
			}
			if err == nil && cmd.Args != nil && !mentioned {
				err = cmd.Args(cmd, cmd.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: %s: %v", page, strings.Join(args, " "), err)
			}
			checked++
		}
	}
	if checked < 60 {
		t.Errorf("only %d commands were checked", checked)
	}
}
