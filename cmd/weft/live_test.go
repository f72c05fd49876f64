package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
)

// busy makes calls of Arith.Mul, and of methods that fail, until the test ends, with a token if one is given.
func busy(t *testing.T, address string, token ...string) {
	t.Helper()
	cfg := new(weft.ClientConfig)
	for _, text := range token {
		cfg.Credential = weft.StaticCredential("Bearer", text)
	}
	c, err := weft.Dial(t.Context(), address, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { // it ends with ctx
		defer close(done)
		for ctx.Err() == nil {
			weft.Invoke[int](ctx, c, "Arith.Mul", &Args{6, 7})
			weft.Invoke[Sum](ctx, c, "Shop.Fail", &Sum{})
			weft.Invoke[Text](ctx, c, "Hostile.Say", &Text{}) // which few servers have
			select {
			case <-ctx.Done():
			case <-time.After(time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done; c.Close() })
}

// TestTop shows the methods of a server that is called, as rows and as JSON.
func TestTop(t *testing.T) {
	s := begin(t)
	busy(t, s.address)
	path := write(t, "registry.json", fmt.Sprintf(`{"services": {"Arith": [{"address": %q}]}}`, s.address))
	eventually(t, 0, "Arith.Mul", "", "top", s.address, "--interval", "200ms", "--count", "2")
	eventually(t, 0, "100.0%", "", "top", s.address, "--interval", "200ms", "--count", "1", "--sort", "errors")
	polltest.Until(t, patience, "top in JSON", func() error {
		code, out, log := run(t, "", "top", "Arith", "--registry", "file://"+path, "--interval", "200ms", "--count", "1", "-o", "json")
		var rows []struct {
			Method string
			Rate   float64 `json:"calls_per_second"`
		}
		if err := json.Unmarshal([]byte(out), &rows); code != 0 || err != nil || len(rows) != 1 || rows[0].Method != "Arith.Mul" || rows[0].Rate <= 0 {
			return fmt.Errorf("it returns %d, error %v:\n%s%s", code, err, out, log)
		}
		return nil
	})
	eventually(t, 0, "Arith.Mul\n", "", "top", s.address, "--interval", "200ms", "--count", "1", "-o", "name")
	expect(t, 2, "", "want rate, errors", "", "top", s.address, "--sort", "size")
	expect(t, 2, "", "at least 100ms", "", "top", s.address, "--interval", "1ms")
	expect(t, 2, "", "name a server", "", "top")
	expect(t, 4, "", "'weft doctor", "", "top", "tcp://"+localPort(t))
}

// TestTap shows calls of a server that is called.
func TestTap(t *testing.T) {
	s := begin(t)
	busy(t, s.address)
	expect(t, 0, "Arith.Mul", "calls of "+s.address+" are shown", "", "tap", s.address, "--count", "3", "--method", "Arith.*")
	expect(t, 0, "the shop is closed", "", "", "tap", s.address, "--count", "1", "--failed")
	expect(t, 0, "Shop.Fail\n", "", "", "tap", s.address, "--count", "1", "--failed", "-o", "name")
	expect(t, 0, "---\ncall:\n", "", "", "tap", s.address, "--count", "1", "-o", "yaml")
	expect(t, 0, `"code":"FailedPrecondition"`, "", "", "tap", s.address, "--count", "1", "--code", "FailedPrecondition", "-o", "json")
}

// TestMissing shows a service of which one instance refuses and one is dead.
func TestMissing(t *testing.T) {
	s := begin(t)
	busy(t, s.address)
	refusing := begin(t, func(cfg *weft.ServerConfig) {
		cfg.Authenticate = func(context.Context, weft.Credential, *weft.CallInfo) (any, error) { return "ann", nil }
	})
	dead := "tcp://" + localPort(t)
	t.Setenv("WEFT_REGISTRY", "file://"+write(t, "registry.json", fmt.Sprintf(`{"services": {"Arith": [{"address": %q}, {"address": %q}, {"address": %q}]}}`, s.address, refusing.address, dead)))
	for _, args := range [][]string{{"top", "Arith", "--count", "1", "--interval", "200ms"}, {"tap", "Arith", "--count", "1"}} {
		polltest.Until(t, patience, args[0], func() error {
			code, out, log := run(t, "", append(args, "--timeout", "20s")...)
			if code != 4 && code != 5 || !strings.Contains(out, "Arith.Mul") {
				return fmt.Errorf("weft %v returns %d, want 4 or 5, and Arith.Mul in:\n%s", args, code, out)
			}
			for _, line := range []string{refusing.address + " is not shown: ", dead + " is not shown: "} {
				if n := strings.Count(log, line); n > 1 {
					t.Fatalf("weft %v logs %q, want one line with %q", args, log, line)
				} else if n == 0 {
					return fmt.Errorf("weft %v logs %q, want a line with %q", args, log, line)
				}
			}
			return nil
		})
	}
}

// TestTerminal runs top on a pseudo-terminal, and interrupts it there.
func TestTerminal(t *testing.T) {
	s := begin(t)
	busy(t, s.address)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// script makes the pseudo-terminal, and ends with the exit code of the program.
	record := filepath.Join(t.TempDir(), "record")
	cmd := exec.Command("script", "--quiet", "--flush", "--return", "--command", own+" top "+s.address+" --interval 100ms", record)
	cmd.Env = append(os.Environ(), asProgram+"=1", "TERM=xterm")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { // it ends with the program, which is killed below
		cmd.Wait()
		close(exited)
	}()
	defer func() {
		cmd.Process.Signal(syscall.SIGKILL)
		<-exited
	}()
	recorded := func() string {
		text, err := os.ReadFile(record)
		if err != nil {
			return ""
		}
		return string(text)
	}
	polltest.Until(t, patience, "the table is drawn twice", func() error {
		if text := recorded(); strings.Count(text, "\x1b[H") < 2 || !strings.Contains(text, "Arith.Mul") {
			return fmt.Errorf("it has written %q", text)
		}
		return nil
	})
	if _, err := in.Write([]byte{3}); err != nil { // Ctrl-C
		t.Fatal(err)
	}
	select {
	case <-exited:
	case <-time.After(patience):
		t.Fatal("it goes on after Ctrl-C")
	}
	text := recorded()
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(text, "\x1b[?1049h") || !strings.Contains(text, "\x1b[?25h\x1b[?1049l") {
		t.Errorf("the exit code is %d, want 130, and the terminal as it was; it has written %q", code, text)
	}
}

// onTerminal runs a command on a pseudo-terminal to its end, and returns what it has written there.
func onTerminal(t *testing.T, line string) (text string, code int) {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	record := filepath.Join(t.TempDir(), "record")
	cmd := exec.CommandContext(ctx, "script", "--quiet", "--flush", "--return", "--command", own+" "+line, record)
	cmd.Env = append(os.Environ(), asProgram+"=1", "TERM=xterm")
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	return string(written), cmd.ProcessState.ExitCode()
}

// TestChange sets and takes back the weight and the state of an instance.
func TestChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.json")
	writeFile(t, path, `{"services": {"Arith": [{"id": "a", "address": "tcp://10.0.0.7:1"}, {"id": "b", "address": "tcp://10.0.0.8:1"}]}}`)
	t.Setenv("WEFT_REGISTRY", "file://"+path)
	expect(t, 0, "in force", "", "", "instances", "weight", "Arith", "a", "30", "--note", "half as fast", "--by", "ann")
	expect(t, 0, "30", "", "", "instances", "Arith")
	expect(t, 0, "instance a: on -> draining", "", "", "instances", "drain", "Arith", "a")
	expect(t, 0, `draining by rule "weft instances a"`, "", "", "instances", "Arith")
	expect(t, 0, "instance b: on -> off", "", "", "instances", "disable", "Arith", "b")
	expect(t, 0, "half as fast", "", "", "rules", "history", "Arith")
	expect(t, 0, "instance a: draining -> on", "", "", "instances", "enable", "Arith", "a")
	expect(t, 0, "nothing is set for instance a", "", "", "instances", "enable", "Arith", "a")
	expect(t, 1, "", `no instance "c", only a, b`, "", "instances", "drain", "Arith", "c")
	expect(t, 1, "", "no server of Nothing", "", "instances", "drain", "Nothing", "c")
	expect(t, 2, "", "want 0 or more", "", "instances", "weight", "Arith", "a", "much")

	expect(t, 0, "Arith    2          1   version 4", "", "", "registry", "ls", "Arith")
	expect(t, 0, "file", "", "", "registry", "status")
	expect(t, 0, `"instances": 2`, "", "", "registry", "ls", "Arith", "-o", "json")
	expect(t, 0, "a\nb\n", "", "", "registry", "watch", "Arith", "--count", "2", "-o", "name")
	expect(t, 0, "+  a  on  tcp://10.0.0.7:1", "", "", "registry", "watch", "Arith", "--count", "2")
	other := filepath.Join(t.TempDir(), "other.json")
	writeFile(t, other, "{}")
	expect(t, 2, "", "registry: name what to do: ", "", "registry")
	expect(t, 2, "", "--to is missing", "", "registry", "copy", "Arith")
	expect(t, 0, "the rules of Arith are in file", "has no rules", "", "registry", "copy", "--to", "file://"+other, "Nothing", "Arith")
	expect(t, 1, "", "--force", "", "registry", "copy", "--to", "file://"+other, "Arith")
	expect(t, 0, "the rules of Arith", "", "", "registry", "copy", "--to", "file://"+other, "Arith", "--force")
	expect(t, 0, "half as fast", "", "", "rules", "history", "Arith", "--registry", "file://"+other)
	expect(t, 1, "weight 100 -> 5", "", `{"instances": [{"name": "x", "match": {"id": "a"}, "weight": 5}]}`, "rules", "diff", "Arith")
}

// TestHostileNames shows what others have named and said: on a terminal nothing of it steers the terminal, and in a table and a
// tap it stays on its line.
func TestHostileNames(t *testing.T) {
	s := begin(t)
	err := weft.Handle(s.srv, "Hostile.Say", func(context.Context, *Text) (*Text, error) {
		return nil, weft.Errorf(weft.NotFound, "gone\x1b[2J\r\nweft: all is well")
	}, weft.Doc("Say\x1b]0;title\a ends."))
	if err != nil {
		t.Fatal(err)
	}
	busy(t, s.address)
	for line, want := range map[string]string{
		"call " + s.address + " Hostile.Say":                            `gone\u001b[2J\u000d`,
		"list " + s.address + " Hostile":                                `Say\u001b]0;title\u0007 ends.`,
		"describe " + s.address + " Hostile.Say":                        `// Say\u001b]0;title\u0007 ends.`,
		"tap " + s.address + " --count 1 --method Hostile.Say --failed": `gone\u001b[2J\r\nweft: all is well`,
	} {
		text, _ := onTerminal(t, line)
		if strings.Contains(text, "\x1b[2J") || strings.Contains(text, "\x1b]0;") || !strings.Contains(text, want) {
			t.Errorf("weft %s: the terminal gets %q, want %q in it", line, text, want)
		}
	}
	// What is no terminal gets what there is.
	if _, out, _ := run(t, "", "describe", s.address, "Hostile.Say"); !strings.Contains(out, "Say\x1b]0;title\a ends.") {
		t.Errorf("the description is %q", out)
	}
}
