package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

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
	leak.Main(m)
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
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(own, args...), exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	p.cmd.Stdout, p.cmd.Stderr = p, p
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
	var o, l bytes.Buffer
	p := &program{in: strings.NewReader(in), out: &o, log: &l}
	code = p.main(ctx, args)
	return code, o.String(), l.String()
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
		{"no command", nil, 2, "there is no command"},
		{"an unknown command", []string{"dwon"}, 2, `"dwon"`},
		{"help", []string{"help"}, 0, "weft rules rollback"},
		{"help of a command by its name", []string{"help", "up"}, 0, "-peer-listen"},
		{"help of a command of rules by its name", []string{"help", "rules", "apply"}, 0, "-force"},
		{"help of rules by their name", []string{"help", "rules"}, 0, "weft rules rollback"},
		{"help of help", []string{"help", "help"}, 0, "weft rules rollback"},
		{"help of an unknown command", []string{"help", "dwon"}, 2, `"dwon"`},
		{"help of rules and a command", []string{"rules", "help", "apply"}, 0, "-force"},
		{"help of rules", []string{"rules", "-h"}, 0, "weft rules rollback"},
		{"help of a command", []string{"up", "-h"}, 0, "-peer-listen"},
		{"an unknown flag", []string{"up", "-listen", "x"}, 2, "-listen"},
		{"too many arguments", []string{"instances", "a", "b"}, 2, "2 arguments"},
		{"rules without a verb", []string{"rules"}, 2, "show, history"},
		{"rules with an unknown verb", []string{"rules", "set", "Arith"}, 2, `"set"`},
		{"rules without a service", []string{"rules", "show"}, 2, "0 arguments"},
		{"flags behind the arguments", []string{"rules", "show", "Arith", "-registry", "x://y"}, 2, `"x"`},
		{"a version that is none", []string{"rules", "rollback", "Arith", "six"}, 2, `"six"`},
		{"a call without a method", []string{"rules", "check", "-call", " ", "Arith"}, 2, "no method"},
		{"metadata without a value", []string{"rules", "check", "-call", "Mul user", "Arith"}, 2, `"user"`},
		{"a registry of another kind", []string{"instances", "-registry", "zookeeper://127.0.0.1"}, 2, "name a service"},
		{"a registry without a port", []string{"instances", "-registry", "etcd://127.0.0.1"}, 1, "127.0.0.1"},
		{"a registry that is not there", []string{"instances", "-registry", absent}, 1, "connection refused"},
		{"a service of a registry that is not there", []string{"instances", "-registry", absent, "Arith"}, 1, "connection refused"},
		{"rules of a registry that is not there", []string{"rules", "show", "-registry", absent, "Arith"}, 1, "connection refused"},
		{"a file that is not there", []string{"rules", "check", "-registry", absent, "Arith", "/nowhere/rules.json"}, 1, "/nowhere/rules.json"},
		{"no time for the registry", []string{"instances", "-timeout", "0"}, 2, "-timeout is 0s"},
		{"less than no time for the rules", []string{"rules", "show", "-timeout", "-1s", "Arith"}, 2, "-timeout is -1s"},
		{"a registry of an unknown kind", []string{"instances", "-registry", "bogus://x"}, 2, `no kind "bogus", only etcd, `},
		{"a registry's file that is not there", []string{"instances", "-registry", "file:///nonexistent", "Arith"}, 1, "/nonexistent: no such file"},
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
	for _, command := range []string{"up", "instances", "rules show", "rules history", "rules check", "rules apply", "rules rollback", "generate"} {
		t.Run(command, func(t *testing.T) {
			code, out, log := run(t, "", append(strings.Fields(command), "-h")...)
			if code != 0 || out != "" || !strings.HasPrefix(log, "weft "+command+" [flags]") || !strings.Contains(log, "\n\nFlags:\n") {
				t.Errorf("the exit code is %d and the help is:\n%s%s", code, out, log)
			}
			if _, asked, _ := run(t, "", append([]string{"help"}, strings.Fields(command)...)...); asked != log {
				t.Errorf("'weft help %s' writes %q, want what -h writes", command, asked)
			}
			if strings.Contains(log, "secret") {
				t.Errorf("the help tells the password:\n%s", log)
			}
			for line := range strings.Lines(log) {
				if len(line) > 130 {
					t.Errorf("a line has %d characters: %s", len(line), line)
				}
			}
		})
	}
}

func TestAddress(t *testing.T) {
	for _, test := range []struct {
		text string
		want address
	}{
		{"etcd://127.0.0.1:2379", address{kind: "etcd", hosts: []string{"127.0.0.1:2379"}}},
		{"etcds://a:1,b:2,c:3/shop", address{kind: "etcd", tls: true, hosts: []string{"a:1", "b:2", "c:3"}, path: "shop"}},
		{"etcd://me:p%40ss%2Fword@a:1/", address{kind: "etcd", user: "me", password: "p@ss/word", hosts: []string{"a:1"}}},
		{"zookeeper://me@[::1]:2181/a/b", address{kind: "zookeeper", user: "me", hosts: []string{"[::1]:2181"}, path: "a/b"}},
		{"consuls://:token@a:8501", address{kind: "consul", tls: true, password: "token", hosts: []string{"a:8501"}}},
		{"nacos://a:8848/shop", address{kind: "nacos", hosts: []string{"a:8848"}, path: "shop"}},
		{"redis://a", address{kind: "redis", hosts: []string{"a"}}},
		{"rediss://:pw@a/3", address{kind: "redis", tls: true, password: "pw", hosts: []string{"a"}, path: "3"}},
		{"nacoss://a:8848", address{kind: "nacos", tls: true, hosts: []string{"a:8848"}}},
		{"file:///etc/weft/registry.json", address{kind: "file", hosts: []string{""}, path: "etc/weft/registry.json"}},
	} {
		t.Run(test.text, func(t *testing.T) {
			got, err := parseAddress(test.text)
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("it is read as %+v, %v; want %+v", got, err, test.want)
			}
		})
	}
	for _, text := range []string{"etcd://%zz@a:1", "etcd://me:%zzsecret@a:1", "secret", "://secret", "redis:///0", "postgres://a", "files:///a", "nacosss://a", "s://a"} {
		_, err := parseAddress(text)
		if !errors.Is(err, errUsage) {
			t.Errorf("the address %q: %v", text, err)
		}
		// What is private stays private.
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error tells the password: %v", err)
		}
	}
}

// TestKinds opens a registry of every kind. No server is asked by that.
func TestKinds(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(folder+"/registry.json", []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Servers have registered beside a file that is not there.
	if err := os.Mkdir(folder+"/own.json.d", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ text, want string }{
		{"etcd://a:1", "etcd a:1"},
		{"zookeeper://a,b:2/shop", "a:2181,b:2"},
		{"consul://a:8500", "a:8500"},
		{"redis://a/3", "a:6379/3"},
		{"nacos://a:8848/shop", "a:8848"},
		{"file://" + folder + "/registry.json", "registry.json"},
		{"file://" + folder + "/own.json", "own.json"},
		{"file://" + folder + "/other.json", "no such file"},
		{"consul://a:1,b:2", errUsage.Error()},
		{"redis://a/three", errUsage.Error()},
	} {
		t.Run(test.text, func(t *testing.T) {
			a, err := parseAddress(test.text)
			if err != nil {
				t.Fatal(err)
			}
			reg, err := a.open()
			got := fmt.Sprint(err)
			if err == nil {
				got = reg.Name()
				defer reg.Close()
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("it opens as %q, want %q in it", got, test.want)
			}
		})
	}
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
		{"", []string{"instances", "Greeter"}, 1, "no server of Greeter is registered in file"},
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
	p := &program{in: strings.NewReader(""), out: w, log: io.Discard}
	if code := p.main(t.Context(), []string{"help"}); code != 1 {
		t.Errorf("the exit code is %d, want 1", code)
	}
}
