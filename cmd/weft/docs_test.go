package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

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
	index.WriteString("# The command weft\n\nThese pages are the help of the command, written by `go test -run TestDocs -update` in [cmd/weft](../../cmd/weft/main.go).\n\n| command | |\n|---|---|\n")
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

// TestExamples runs the examples of the help, with the addresses of servers and registries that are there.
// Those that would not end, or name another machine or a file, are only checked for their commands and flags.
func TestExamples(t *testing.T) {
	s := begin(t)
	folder := t.TempDir()
	t.Chdir(folder)
	t.Setenv("WEFT_CONFIG", filepath.Join(folder, "contexts.json"))
	writeFile(t, filepath.Join(folder, "registry.json"), fmt.Sprintf(`{"services": {"Arith": [{"id": "tcp://10.0.0.7:8972", "address": %q}], "Greeter": [{"address": %q}]}}`, s.address, s.address))
	writeFile(t, filepath.Join(folder, "rules.json"), someRules)
	recording, err := os.ReadFile(recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(folder, "calls.weftrec"), string(recording))
	writeFile(t, filepath.Join(folder, "request.json"), `{"A":6,"B":7}`)
	writeFile(t, filepath.Join(folder, "contexts.json"), `{"current": "staging", "contexts": {"staging": {}}}`)
	t.Setenv("WEFT_REGISTRY", "file://"+filepath.Join(folder, "registry.json"))
	safe := regexp.MustCompile(`^weft (call( tcp://\S+| http://\S+)? Arith\.Mul|list Arith|list tcp|describe|health (tcp|Arith)|explain Arith|doctor Arith|replay calls.weftrec tcp|instances (weight|drain|disable|enable) |instances --|registry (status$|ls Arith$)|rules (show Greeter|history|check Greeter)|context (list|set|show staging)|version|top Arith --count|completion|generate$|schema (tcp|diff schema\.json tcp|check --against schema\.json tcp))`)
	continued := regexp.MustCompile(`\\\n *`)
	ran := 0
	for _, cmd := range every(root(&shell.Shell{})) {
		if cmd.Example == "" && cmd.Runnable() && cmd.Name() != "help" && cmd.Name() != "weft" && cmd.Parent().Name() != "completion" && !cmd.HasSubCommands() {
			t.Errorf("the help of %q has no example", cmd.CommandPath())
		}
		if cmd.Parent() != nil && cmd.Parent().Name() == "completion" {
			continue // these are cobra's
		}
		for line := range strings.Lines(continued.ReplaceAllString(cmd.Example, "")) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "   ")
			args, err := words(line)
			if err != nil || len(args) == 0 || args[0] != "weft" {
				continue
			}
			parsed, rest, err := root(&shell.Shell{}).Find(args[1:])
			if err == nil && parsed.Name() != "generate" {
				err = parsed.ParseFlags(rest)
			}
			if err != nil {
				t.Errorf("the example %q of %s: %v", line, cmd.CommandPath(), err)
			}
			if !safe.MatchString(line) || strings.ContainsAny(line, "~") || strings.Contains(line, "10.0.0.1:") || strings.Contains(line, "-version 6") || strings.Contains(line, "8500") || cmd.Name() == "generate" {
				continue
			}
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "127.0.0.1:8972", s.at)
			}
			ran++
			in := ""
			if strings.Contains(line, "<rules.json") {
				in = someRules
			}
			if code, _, log := run(t, in, args[1:]...); code != 0 {
				t.Errorf("the example %q of the help returns %d: %s", line, code, log)
			}
		}
	}
	if ran < 25 {
		t.Errorf("only %d examples were run", ran)
	}
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
	for _, page := range []string{"command.md", "admin.md", "observability.md"} {
		text, err := os.ReadFile(filepath.Join("../../docs/guide", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range line.FindAllStringSubmatch(string(text), -1) {
			args, err := words(strings.TrimSpace(match[1] + match[2]))
			if err != nil || len(args) < 2 || args[1] == "help" {
				continue
			}
			cmd, rest, err := root(&shell.Shell{}).Find(args[1:])
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err == nil && cmd.HasSubCommands() && len(cmd.Flags().Args()) == 0 && cmd.Name() != "instances" {
				err = fmt.Errorf("%s is no command of its own", cmd.CommandPath())
			}
			if err == nil && cmd.Args != nil && !strings.Contains(match[2], "weft call") {
				err = cmd.Args(cmd, cmd.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: %s: %v", page, strings.Join(args, " "), err)
			}
			checked++
		}
	}
	if checked < 35 {
		t.Errorf("only %d commands were checked", checked)
	}
}
