package main

import (
	"context"
	"errors"
	"fmt"
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
		{"weft describe --as ", "go schema template"},
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
