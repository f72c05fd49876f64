package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry/registrytest"
)

// patience is how long anything may take on a busy machine.
const patience = time.Minute

// asProgram is set in the environment of a process that is the command and not its
// tests.
const asProgram = "WEFT_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	isolate()
	leak.Main(m)
}

// isolate keeps what the user has set from the tests, and the tests from the user's folders.
func isolate() {
	for _, name := range []string{"WEFT_REGISTRY", "WEFT_SERVER", "WEFT_CONTEXT", "WEFT_TOKEN"} {
		os.Unsetenv(name)
	}
	// Programs that tests build are kept where they always are.
	if folder, err := os.UserCacheDir(); err == nil && os.Getenv("GOCACHE") == "" {
		os.Setenv("GOCACHE", filepath.Join(folder, "go-build"))
	}
	// What is not there is not read, and what cannot be made is not kept.
	os.Setenv("WEFT_CONFIG", "/nonexistent/contexts.json")
	os.Setenv("XDG_CACHE_HOME", "/nonexistent")
}

// process is the real program, while it runs.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}

	mu      sync.Mutex
	written bytes.Buffer
}

// Write keeps what the program writes.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written.Write(b)
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written.String()
}

// start starts the real program. It is killed at the end of the test, if it runs.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	return startFrom(t, nil, args...)
}

// startFrom is start with a standard input.
func startFrom(t *testing.T, in *os.File, args ...string) *process {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(own, args...), exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	p.cmd.Stdout, p.cmd.Stderr = p, p
	if in != nil {
		p.cmd.Stdin = in
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// It ends with the program, which the cleanup kills.
	go func() {
		p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-p.exited
		if t.Failed() {
			t.Logf("weft %s wrote:\n%s", strings.Join(args, " "), p.text())
		}
	})
	return p
}

// says waits until the program has written a text.
func (p *process) says(t *testing.T, text string) {
	t.Helper()
	polltest.Until(t, patience, "the program says "+text, func() error {
		select {
		case <-p.exited:
			if !strings.Contains(p.text(), text) {
				t.Fatalf("the program has ended (%v) without saying %q; it wrote:\n%s", p.cmd.ProcessState, text, p.text())
			}
		default:
		}
		if !strings.Contains(p.text(), text) {
			return fmt.Errorf("the program does not say %q", text)
		}
		return nil
	})
}

// terminate ends the program as a system does, and returns its exit code.
func (p *process) terminate(t *testing.T) int {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.exited:
	case <-time.After(patience):
		t.Fatalf("the program still runs %v after SIGTERM", patience)
	}
	return p.cmd.ProcessState.ExitCode()
}

// run runs a command to its end within this process.
func run(t *testing.T, in string, args ...string) (code int, out, log string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var o bytes.Buffer
	l := new(process) // several goroutines may write to it
	p := &shell.Shell{In: strings.NewReader(in), Out: &o, Log: l}
	code = execute(ctx, p, args)
	return code, o.String(), l.text()
}

func localPort(t *testing.T) string { return fmt.Sprintf("127.0.0.1:%d", registrytest.FreePort(t)) }

func TestUsage(t *testing.T) {
	t.Setenv("WEFT_REGISTRY", "")
	absent := "etcd://" + localPort(t)
	for _, test := range []struct {
		name string
		args []string
		code int
		out  string // is in what the program writes
	}{
		{"no command", nil, 0, "To begin with:"},
		{"an unknown command", []string{"dwon"}, 2, `"dwon"`},
		{"help", []string{"help"}, 0, "Registry and rules:"},
		{"help of a command by its name", []string{"help", "up"}, 0, "-peer-listen"},
		{"help of a command of rules by its name", []string{"help", "rules", "apply"}, 0, "-force"},
		{"help of rules by their name", []string{"help", "rules"}, 0, "rollback"},
		{"help of help", []string{"help", "help"}, 0, "weft help [command or topic]"},
		{"help of a topic", []string{"help", "exit-codes"}, 0, "130"},
		{"help of an unknown command", []string{"help", "dwon"}, 2, `"dwon"`},
		{"help of rules and a command", []string{"rules", "help", "apply"}, 0, "-force"},
		{"help of rules", []string{"rules", "-h"}, 0, "rollback"},
		{"help of a command", []string{"up", "-h"}, 0, "-peer-listen"},
		{"a wrong value of a flag", []string{"up", "-listen", "x"}, 2, "-listen"},
		{"an unknown flag", []string{"up", "--lisen", "x"}, 2, "did you mean --listen?; see 'weft up --help'"},
		{"an unknown flag of all commands", []string{"instances", "--registri", "x"}, 2, "did you mean --registry?"},
		{"a flag with letters that are missing", []string{"instances", "--admin", "x"}, 2, "did you mean --admin-token-file?"},
		{"a flag that is like none", []string{"instances", "--whatever"}, 2, "unknown flag: --whatever; see 'weft instances --help'"},
		{"a request that begins with a dash", []string{"call", "tcp://127.0.0.1:1", "Arith.Neg", "-5"}, 2, "begins with a dash goes behind --"},
		{"a command with a wrong letter", []string{"instancse"}, 2, "did you mean instances?"},
		{"an unknown form of the output", []string{"instances", "-o", "xml"}, 2, "table, wide, json"},
		{"a template that is none", []string{"instances", "-o", "go-template={{"}, 2, "--output"},
		{"an unknown colour", []string{"version", "--color", "red"}, 2, "auto, always or never"},
		{"a registry and a server", []string{"instances", "--registry", "etcd://a:1", "--server", "tcp://a:1"}, 2, "want one of them"},
		{"a server in place of a registry", []string{"instances", "--server", "tcp://a:1"}, 2, "give --registry"},
		{"metadata without a key", []string{"instances", "-H", "tenant"}, 2, "tenant:acme"},
		{"a file of metadata that is not there", []string{"instances", "-H", "@/nowhere"}, 2, "--header: open /nowhere"},
		{"a token that is not there", []string{"instances", "--token-file", "/nowhere"}, 2, "--token-file: open /nowhere"},
		{"a certificate without a key", []string{"instances", "--cert", "a.pem"}, 2, "belong together"},
		{"authorities that are not there", []string{"instances", "--registry", "etcds://a:1", "--cacert", "/nowhere"}, 2, "--cacert: open /nowhere"},
		{"a context that is not there", []string{"instances", "--context", "nowhere"}, 2, "weft context set nowhere"},
		{"the version", []string{"version"}, 0, "weft "},
		{"a short command that is like none", []string{"foo"}, 2, "only call, list"},
		{"the completion of no shell", []string{"completion"}, 2, "bash, zsh, fish or powershell"},
		{"the completion of an unknown shell", []string{"completion", "tcsh"}, 2, `no command "tcsh"; did you mean bash`},
		{"an address with a path", []string{"call", "http://127.0.0.1:1/base", "Arith.Mul"}, 2, "it has a path, which is for a wire that takes one"},
		{"too many arguments", []string{"instances", "a", "b"}, 2, "2 arguments"},
		{"a command of instances with a wrong letter", []string{"instances", "drian", "Arith", "a"}, 2, "did you mean drain?"},
		{"rules without a verb", []string{"rules"}, 2, "show, history"},
		{"rules with an unknown verb", []string{"rules", "set", "Arith"}, 2, `"set"`},
		{"rules without a service", []string{"rules", "show"}, 2, "0 arguments"},
		{"flags behind the arguments", []string{"rules", "show", "Arith", "-registry", "x://y"}, 2, `"x"`},
		{"a version that is none", []string{"rules", "rollback", "Arith", "six"}, 2, `"six"`},
		{"a call without a method", []string{"rules", "check", "-call", " ", "Arith"}, 2, "no method"},
		{"metadata without a value", []string{"rules", "check", "-call", "Mul user", "Arith"}, 2, `"user"`},
		{"a registry of another kind", []string{"instances", "-registry", "zookeeper://127.0.0.1"}, 2, "name a service"},
		{"a registry without a port", []string{"instances", "-registry", "etcd://127.0.0.1"}, 1, "127.0.0.1"},
		{"a registry that is not there", []string{"instances", "-registry", absent}, 4, "connection refused"},
		{"a service of a registry that is not there", []string{"instances", "-registry", absent, "Arith"}, 4, "connection refused"},
		{"rules of a registry that is not there", []string{"rules", "show", "-registry", absent, "Arith"}, 4, "connection refused"},
		{"a file that is not there", []string{"rules", "check", "-registry", absent, "Arith", "/nowhere/rules.json"}, 2, "/nowhere/rules.json"},
		{"no time for the registry", []string{"instances", "-timeout", "0"}, 2, "-timeout is 0s"},
		{"less than no time for the rules", []string{"rules", "show", "-timeout", "-1s", "Arith"}, 2, "-timeout is -1s"},
		{"a registry of an unknown kind", []string{"instances", "-registry", "bogus://x"}, 2, `no kind "bogus", only etcd, `},
		{"a registry's file that is not there", []string{"instances", "-registry", "file:///nonexistent/registry.json", "Arith"}, 2, "/nonexistent/registry.json: no such file"},
		{"an address without a port", []string{"up", "-listen", "127.0.0.1"}, 2, "-listen"},
		{"an address that is a name", []string{"up", "-listen", "example.org:2379"}, 2, "example.org"},
		{"a member that is not of the cluster", []string{"up", "-name", "n3", "-cluster", "n1=http://127.0.0.1:1,n2=http://127.0.0.1:2"}, 2, "n1, n2"},
		{"a member twice", []string{"up", "-name", "n1", "-cluster", "n1=http://127.0.0.1:1,n1=http://127.0.0.1:2"}, 2, `"n1"`},
		{"a member without an address", []string{"up", "-name", "n1", "-cluster", "n1"}, 2, `"n1"`},
		{"peers of one that is alone", []string{"up", "-peer-listen", "127.0.0.1:1"}, 2, "-cluster"},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, out, log := run(t, "", test.args...)
			if code != test.code || !strings.Contains(out+log, test.out) {
				t.Errorf("the exit code is %d, want %d, and %q in:\n%s%s", code, test.code, test.out, out, log)
			}
		})
	}
}

// TestHelp asks every command for help: it fits a terminal, shows the flags, and
// contains no secrets. 'weft help' writes the same to the standard output.
func TestHelp(t *testing.T) {
	t.Setenv("WEFT_REGISTRY", "etcd://me:secret@127.0.0.1:1")
	for _, command := range allCommands(root(&shell.Shell{})) {
		if command == "generate" {
			continue // its flags are its own
		}
		t.Run(command, func(t *testing.T) {
			code, out, log := run(t, "", append(strings.Fields(command), "-h")...)
			if code != 0 || log != "" || !strings.Contains(out, "Usage:\n  weft "+command) || !strings.Contains(out, "\n\nFlags:\n") {
				t.Errorf("the exit code is %d and the help is:\n%s%s", code, out, log)
			}
			if _, asked, _ := run(t, "", append([]string{"help"}, strings.Fields(command)...)...); asked != out {
				t.Errorf("'weft help %s' writes %q, want what -h writes", command, asked)
			}
			if strings.Contains(out, "me:secret") {
				t.Errorf("the help tells the password:\n%s", out)
			}
			for line := range strings.Lines(out) {
				if len(line) > 130 {
					t.Errorf("a line has %d characters: %s", len(line), line)
				}
			}
		})
	}
}

// allCommands are the paths of all commands, without "weft" before them.
func allCommands(cmd *cobra.Command) []string {
	var all []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "completion" && c.Name() != "help" {
			all = append(all, strings.TrimPrefix(c.CommandPath(), "weft "))
		}
		all = append(all, allCommands(c)...)
	}
	return all
}

// TestAnotherKind does with a file what the other tests do with etcd.
func TestAnotherKind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.json")
	content := `{"services": {"Arith": [{"address": "tcp://10.0.0.7:8972", "version": "2.0"}]}}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("WEFT_REGISTRY", "file://"+path)
	for _, test := range []struct {
		in   string
		args []string
		code int
		want string
	}{
		{"", []string{"instances", "Greeter"}, 1, "only etcd can list the services that there are: compare the name"},
		{"{}", []string{"rules", "apply", "Greeter"}, 1, "no server of Greeter"},
		{"", []string{"instances"}, 2, "name a service"},
		{"", []string{"instances", "Arith"}, 0, "tcp://10.0.0.7:8972  on     100     2.0"},
		{someRules, []string{"rules", "apply", "Arith"}, 0, "version 1"},
		{"", []string{"instances", "Arith"}, 0, `weight 5 by rule "canary"`},
		{"", []string{"rules", "history", "Arith"}, 0, "1"},
	} {
		code, out, log := run(t, test.in, test.args...)
		if code != test.code || !strings.Contains(out+log, test.want) {
			t.Errorf("%v returns %d, want %d, and %q in:\n%s%s", test.args, code, test.code, test.want, out, log)
		}
	}
}

// TestWriteFails writes the help to a pipe that is closed.
func TestWriteFails(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	p := &shell.Shell{In: strings.NewReader(""), Out: w, Log: io.Discard}
	if code := execute(t.Context(), p, []string{"help"}); code != 1 {
		t.Errorf("the exit code is %d, want 1", code)
	}
}

// BenchmarkStart starts the command, which ends at once, as a shell does for each line and each completion:
//
//	go test -run '^$' -bench Start -benchtime 100x .
func BenchmarkStart(b *testing.B) {
	own, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	var used time.Duration
	for b.Loop() {
		cmd := exec.Command(own, "version")
		cmd.Env = append(os.Environ(), asProgram+"=1")
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	b.ReportMetric(float64(used.Microseconds())/1000/float64(b.N), "cpu-ms/op")
}
