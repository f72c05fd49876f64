package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
	for _, test := range []struct{ line, want string }{
		{"weft desc", "describe"},
		{"weft rules ", "show history check diff apply rollback"},
		{"weft instances --regis", "--registry"},
		{"weft instances -o ", "table wide json yaml name"},
		{"weft list --context ", "production staging"},
		{"weft instances ", "Arith"},
		{"weft instances drain Arith ", "calculator"},
		{"weft call Ar", "Arith."},
		{"weft call --server " + s.address + " Shop.", "Shop.Add Shop.Count Shop.Echo Shop.Fail Shop.Slow Shop.Tenant"},
		{"weft describe --as ", "go schema template"},
		{"weft help exit", "exit-codes"},
	} {
		t.Run(test.line, func(t *testing.T) {
			var got string
			// The first time on a busy machine the registry may take more than the time that a shell waits.
			for range 20 {
				got = complete(t, folder, listen, test.line)
				if strings.Contains(got, test.want) {
					return
				}
			}
			t.Errorf("bash completes to %q, want %q", got, test.want)
		})
	}
	for _, name := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, out, _ := run(t, "", "completion", name); code != 0 || !strings.Contains(out, "__complete") {
			t.Errorf("completion %s returns %d and writes %q", name, code, out)
		}
	}
}

// complete has bash complete a line, with the script that the program writes, and returns the words.
func complete(t *testing.T, folder, registry, line string) string {
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
COMP_LINE=$1; COMP_POINT=${#1}
read -ra COMP_WORDS <<<"$1"
[[ $1 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
__start_weft
echo "${COMPREPLY[@]%%  *}"`
	cmd := exec.CommandContext(ctx, "bash", "--norc", "-c", script, "bash", line)
	cmd.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "WEFT_CONFIG="+filepath.Join(folder, "contexts.json"),
		"XDG_CACHE_HOME="+filepath.Join(folder, "cache"), "WEFT_REGISTRY=etcd://"+registry)
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("bash: %v\n%s", err, log.String())
	}
	return strings.Join(strings.Fields(string(out)), " ")
}
