package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/polltest"
)

// TestCompletion completes lines in a real bash: commands, flags, contexts, services of a registry, and
// methods of a server and of a registry.
func TestCompletion(t *testing.T) {
	s := begin(t)
	listen := localPort(t)
	upAt(t, listen, t.TempDir())
	serve(t, listen)
	listed(t, "etcd://"+listen, "Arith")
	folder := t.TempDir()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, "weft")
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec %s \"$@\"\n", asProgram, own)
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(folder, "contexts.json"), `{"contexts": {"staging": {}, "production": {}}}`)
	tests := []struct{ line, want string }{
		{"weft desc", "describe"},
		{"weft rules ", "show history check diff apply delete rollback"},
		{"weft instances --regis", "--registry"},
		{"weft instances -o ", "table wide json yaml name"},
		{"weft list --context ", "production staging"},
		{"weft instances ", "Arith"},
		{"weft instances drain Arith ", "calculator"},
		{"weft call Ar", "Arith."},
		{"weft call --server " + s.address + " Shop.", "Shop.Add Shop.Count Shop.Echo Shop.Fail Shop.Slow Shop.Tenant"},
		{"weft describe --as ", "go proto schema template"},
		{"weft context show s", "staging"},
		{"weft help exit", "exit-codes"},
	}
	var lines []string
	for _, test := range tests {
		lines = append(lines, test.line)
	}
	// The registry may take more than the time for which a shell waits, on a busy machine.
	polltest.Until(t, patience, "bash completes all lines", func() error {
		var wrong error
		left := lines[:0:0]
		got := complete(t, folder, listen, lines)
		for n, line := range lines {
			for _, test := range tests {
				if test.line == line && !strings.Contains(got[n], test.want) {
					left = append(left, line)
					wrong = errors.Join(wrong, fmt.Errorf("bash completes %q to %q, want %q", line, got[n], test.want))
				}
			}
		}
		lines = left
		return wrong
	})
	for _, name := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, out, _ := run(t, "", "completion", name); code != 0 || !strings.Contains(out, "__complete") {
			t.Errorf("completion %s returns %d and writes %q", name, code, out)
		}
	}
}

// complete has bash complete lines, with the script that the program writes, and returns the words for each.
func complete(t *testing.T, folder, registry string, lines []string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// The functions of the package bash-completion that the script needs.
	const script = `
_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD-1]}; }
_init_completion() { _get_comp_words_by_ref; }
__ltrim_colon_completions() { :; }
compopt() { :; }
source <(weft completion bash)
for COMP_LINE in "$@"; do
	COMP_POINT=${#COMP_LINE}
	read -ra COMP_WORDS <<<"$COMP_LINE"
	[[ $COMP_LINE == *" " ]] && COMP_WORDS+=("")
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	COMPREPLY=()
	__start_weft
	echo "${COMPREPLY[@]%%  *}"
done`
	cmd := exec.CommandContext(ctx, "bash", append([]string{"--norc", "-c", script, "bash"}, lines...)...)
	cmd.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "WEFT_CONFIG="+filepath.Join(folder, "contexts.json"),
		"XDG_CACHE_HOME="+filepath.Join(folder, "cache"), "WEFT_REGISTRY=etcd://"+registry)
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("bash: %v\n%s", err, log.String())
	}
	var all []string
	for line := range strings.Lines(string(out)) {
		all = append(all, strings.Join(strings.Fields(line), " "))
	}
	if len(all) != len(lines) {
		t.Fatalf("bash completes %d lines, want %d:\n%s", len(all), len(lines), out)
	}
	return all
}

// TestShells presses the keys of lines with a tab at their end in real shells on a pseudo-terminal, and sees which words the
// command gets.
func TestShells(t *testing.T) {
	need := exec.CommandContext(t.Context(), "../../scripts/need.sh", "zsh", "fish", "bash-completion")
	if out, err := need.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := begin(t)
	tests := []struct{ line, want string }{
		{"weft desc\t", "describe"},
		{"weft registry stat\t", "registry status"},
		{"weft list --context stag\t", "list --context staging"},
		{"weft instances -o wi\t", "instances -o wide"},
		{"weft instances --regis\tx", "instances --registry x"},
		{"weft call --server " + s.address + " Shop.Ten\t", "call --server " + s.address + " Shop.Tenant"},
	}
	// The line of a shell that reads the script of the completion, and then says that it is ready.
	shells := map[string]struct{ file, text, command string }{
		"bash": {"rc", "source /usr/share/bash-completion/bash_completion\nsource <(weft completion bash)\nPS1='ready> '\n", "bash --noprofile --rcfile $FOLDER/rc -i"},
		"zsh":  {".zshrc", "autoload -U compinit\ncompinit -u -D\nsource <(weft completion zsh)\nPS1='ready> '\n", "ZDOTDIR=$FOLDER zsh -d -i"},
		"fish": {"rc", "weft completion fish | source\nset -g fish_greeting\nfunction fish_prompt\n echo 'ready> '\nend\n", "HOME=$FOLDER fish --no-config -i -C 'source $FOLDER/rc'"},
	}
	for name, sh := range shells {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			programIn(t, folder)
			writeFile(t, filepath.Join(folder, sh.file), sh.text)
			writeFile(t, filepath.Join(folder, "contexts.json"), `{"contexts": {"staging": {}, "production": {}}}`)
			keys := interactive(t, folder, sh.command)
			for _, test := range tests {
				// A registry or server may take more than the time for which a shell waits, on a busy machine.
				tries := 0
				polltest.Until(t, patience, fmt.Sprintf("%s completes %q", name, test.line), func() error {
					tries++
					if _, err := keys.Write([]byte(test.line + "\n")); err != nil {
						t.Fatal(err)
					}
					got := ""
					polltest.Until(t, patience, "the command runs", func() error {
						lines := strings.Split(read(t, filepath.Join(folder, "called")), "\n")
						if len(lines) < 2 {
							return errors.New("it does not")
						}
						got = strings.TrimSpace(lines[0])
						return nil
					})
					writeFile(t, filepath.Join(folder, "called"), "")
					if got != test.want {
						return fmt.Errorf("try %d: the command gets %q, want %q; the terminal has %q", tries, got, test.want, read(t, filepath.Join(folder, "record")))
					}
					return nil
				})
			}
		})
	}
}

// programIn writes the program weft into a folder: it completes, and otherwise writes what it was called with into the file
// "called".
func programIn(t *testing.T, folder string) {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\ncase $1 in\n__complete* | completion) %s=1 exec %s \"$@\" ;;\nesac\necho \"$*\" >>%s/called\n", asProgram, own, folder)
	if err := os.WriteFile(filepath.Join(folder, "weft"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(folder, "called"), "")
}

// interactive runs a shell on a pseudo-terminal until it is ready, and returns its keyboard.
func interactive(t *testing.T, folder, command string) io.Writer {
	t.Helper()
	record := filepath.Join(folder, "record")
	cmd := exec.Command("script", "--quiet", "--flush", "--command", "stty cols 200 rows 40; export FOLDER="+folder+"; "+command, record)
	// A shell that is killed writes its history, which must not be that of the developer.
	cmd.Env = append(os.Environ(), "HOME="+folder, "HISTFILE=", "TERM=xterm", "SHELL=/bin/sh", "PATH="+folder+":"+os.Getenv("PATH"), "WEFT_CONFIG="+filepath.Join(folder, "contexts.json"), "XDG_CACHE_HOME="+filepath.Join(folder, "cache"))
	keys, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	polltest.Until(t, patience, "the shell is ready", func() error {
		text, err := os.ReadFile(record)
		if err != nil {
			return err
		}
		if !strings.Contains(string(text), "ready> ") {
			return fmt.Errorf("it has written %q", text)
		}
		return nil
	})
	return keys
}

// TestPowerShell looks at the form of the script for PowerShell, which does not install on the machines of the tests: its strings and brackets are
// closed, it is registered for the program, and it asks the program as the scripts do that run in the other shells.
func TestPowerShell(t *testing.T) {
	code, script, _ := run(t, "", "completion", "powershell")
	if code != 0 {
		t.Fatal(code)
	}
	var open []rune
	var quote, before rune
	comment := false
	line := 1
	for _, c := range script {
		switch escaped := before == '`' && quote != '\''; {
		case c == '\n':
			comment = false
			line++
		case comment, escaped:
			c = 0 // it escapes nothing
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '#':
			comment = true
		case strings.ContainsRune("([{", c):
			open = append(open, c)
		case strings.ContainsRune(")]}", c):
			if n := len(open); n == 0 || strings.IndexRune("([{", open[n-1]) != strings.IndexRune(")]}", c) {
				t.Fatalf("line %d closes what is not open", line)
			}
			open = open[:len(open)-1]
		}
		before = c
	}
	if len(open) > 0 || quote != 0 {
		t.Errorf("%q and %q are not closed", string(open), quote)
	}
	for _, part := range []string{"Register-ArgumentCompleter -CommandName 'weft' -ScriptBlock ${__weftCompleterBlock}", "[scriptblock]${__weftCompleterBlock} = {", "$RequestComp=\"$Program __complete $Arguments\""} {
		if !strings.Contains(script, part) {
			t.Errorf("the script does not have %q", part)
		}
	}
	_, bash, _ := run(t, "", "completion", "bash")
	for _, directive := range []string{"Error=1", "NoSpace=2", "NoFileComp=4"} { // of what the program answers
		name, value, _ := strings.Cut(directive, "=")
		if !strings.Contains(script, "$ShellCompDirective"+directive) || !strings.Contains(bash, "shellCompDirective"+name+"="+value) {
			t.Errorf("the scripts do not agree on %s", directive)
		}
	}
}
