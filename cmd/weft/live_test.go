package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/internal/polltest"
)

// busy makes calls of Arith.Mul, and of methods that fail, until the test ends, with a token if one is given.
func busy(t *testing.T, address string, token ...string) {
	t.Helper()
	cfg := new(weft.ClientConfig)
	for _, text := range token {
		cfg.Credential = weft.StaticCredential("Bearer", text)
	}
	busyWith(t, address, cfg)
}

// busyWith is busy with a client of another configuration.
func busyWith(t *testing.T, address string, cfg *weft.ClientConfig) {
	t.Helper()
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

// TestTapCount ends when so many calls of all servers are shown, also if one is not called.
func TestTapCount(t *testing.T) {
	one, two := begin(t), begin(t)
	busy(t, one.address)
	t.Setenv("WEFT_REGISTRY", "file://"+write(t, "registry.json", fmt.Sprintf(`{"services": {"Arith": [{"address": %q}, {"address": %q}]}}`, one.address, two.address)))
	code, out, log := run(t, "", "tap", "Arith", "--count", "2")
	if code != 0 || strings.Count(out, "\n") != 2 || strings.Contains(log, "is not shown") {
		t.Errorf("tap returns %d and writes:\n%s%s", code, out, log)
	}
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

// TestShutDown shows servers of which one shuts down, and another one comes.
func TestShutDown(t *testing.T) {
	one, two := begin(t), begin(t)
	busy(t, one.address)
	busy(t, two.address)
	path := filepath.Join(t.TempDir(), "registry.json")
	register := func(a, b *server) {
		writeFile(t, path, fmt.Sprintf(`{"services": {"Arith": [{"id": "a", "address": %q}, {"id": "b", "address": %q}]}}`, a.address, b.address))
	}
	register(one, two)
	t.Setenv("WEFT_REGISTRY", "file://"+path)
	top, tap := start(t, "top", "Arith", "--interval", "100ms"), start(t, "tap", "Arith")
	record := start(t, "record", two.address, "--out", filepath.Join(t.TempDir(), "calls.weftrec"))
	for _, p := range []*process{top, tap} {
		p.says(t, one.address+"\n")
		p.says(t, two.address+"\n")
	}
	record.says(t, "are recorded")
	down := func(s *server) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := s.srv.Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
	}
	down(one)
	for _, p := range []*process{top, tap} {
		p.says(t, one.address+" is not shown: the server has shut down\n")
	}
	before := len(top.text())
	polltest.Until(t, patience, "top goes on", func() error {
		// The last whole table: a busy machine may make no call in the time of a single one.
		tables := strings.Split(top.text()[before:], "METHOD")
		if n := len(tables); n < 4 || strings.Contains(tables[n-2], one.address) || !strings.Contains(tables[n-2], two.address) {
			return fmt.Errorf("it has written %q", tables)
		}
		return nil
	})
	three := begin(t)
	busy(t, three.address)
	register(two, three)
	for _, p := range []*process{top, tap} {
		p.says(t, three.address+"\n")
		if code := p.terminate(t); code != 130 {
			t.Errorf("it returns %d", code)
		}
	}
	// A server that is named by its address ends the command.
	down(two)
	record.says(t, "weft: the server has shut down\n")
	select {
	case <-record.exited:
	case <-time.After(patience):
		t.Fatal("it goes on")
	}
	if code := record.cmd.ProcessState.ExitCode(); code != 4 {
		t.Errorf("it returns %d", code)
	}
}

// TestReturn shows a server on a terminal that is not there, then is, is killed, and comes back.
func TestReturn(t *testing.T) {
	at := localPort(t)
	address := "tcp://" + at
	t.Setenv("WEFT_REGISTRY", "file://"+write(t, "registry.json", fmt.Sprintf(`{"services": {"Arith": [{"address": %q}]}}`, address)))
	top := start(t, "top", "Arith", "--interval", "100ms")
	top.says(t, address+" is not shown: ")
	for range 2 {
		srv := weft.NewServer(&weft.ServerConfig{Logger: slog.New(slog.DiscardHandler)})
		if err := errors.Join(srv.Register(Arith{}), admin.Register(srv, nil)); err != nil {
			t.Fatal(err)
		}
		l, err := srv.Listen(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		before := len(top.text())
		go srv.Serve(l) // it ends with the server
		polltest.Until(t, patience, "the server is shown", func() error {
			if text := top.text()[before:]; !strings.Contains(text, "  1 server, ") {
				return fmt.Errorf("it has written %q", text)
			}
			return nil
		})
		srv.Close()
	}
	if code := top.terminate(t); code != 130 {
		t.Errorf("it returns %d", code)
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

// onTerminal runs a command on a pseudo-terminal to its end, and returns what it has written there. What is in environment goes
// before what it has otherwise.
func onTerminal(t *testing.T, line string, environment ...string) (text string, code int) {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return onPseudo(t, own+" "+line, environment...)
}

// onPseudo is onTerminal for a line of a shell.
func onPseudo(t *testing.T, line string, environment ...string) (text string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	record := filepath.Join(t.TempDir(), "record")
	cmd := exec.CommandContext(ctx, "script", "--quiet", "--flush", "--return", "--command", line, record)
	cmd.Env = append(append(os.Environ(), asProgram+"=1", "TERM=xterm"), environment...)
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	return string(written), cmd.ProcessState.ExitCode()
}

// TestColours has a terminal that takes colours, and says that it wants none, and one that takes none.
func TestColours(t *testing.T) {
	s := begin(t)
	for _, c := range []struct {
		environment string
		colours     bool
	}{{"TERM=xterm", true}, {"NO_COLOR=", true}, {"NO_COLOR=1", false}, {"TERM=dumb", false}, {"TERM=", false}} {
		text, code := onTerminal(t, "doctor "+s.address, "NO_COLOR=", c.environment) // not that of the developer
		if code != 0 || strings.Contains(text, "\x1b[32mok") != c.colours || strings.Contains(text, "\x1b") != c.colours {
			t.Errorf("with %s doctor returns %d and writes %q", c.environment, code, text)
		}
	}
	if text, _ := onTerminal(t, "doctor "+s.address+" --color always", "NO_COLOR=1", "TERM=dumb"); !strings.Contains(text, "\x1b[32mok") {
		t.Errorf("with --color always doctor writes %q", text)
	}
}

// TestRecordTerminal shows how much was recorded on a terminal, in one line.
func TestRecordTerminal(t *testing.T) {
	s := begin(t)
	busy(t, s.address)
	path := filepath.Join(t.TempDir(), "calls.weftrec")
	text, code := onTerminal(t, "record "+s.address+" --count 3 --out "+path)
	if code != 0 || !strings.Contains(text, "\r1 call, ") || !strings.Contains(text, "\r\x1b[K3 calls in ") {
		t.Errorf("record on a terminal returns %d and writes %q", code, text)
	}
}

// TestDumb shows a table and a measurement on a terminal that cannot be drawn over.
func TestDumb(t *testing.T) {
	s := begin(t)
	if err := weft.Handle(s.srv, "Hostile.Say", func(_ context.Context, text *Text) (*Text, error) { return text, nil }, weft.Doc("Say\x1b]0;title\a ends.")); err != nil {
		t.Fatal(err)
	}
	busy(t, s.address)
	for _, term := range []string{"TERM=", "TERM=dumb"} {
		for line, want := range map[string]string{"top " + s.address + " --interval 200ms --count 2": "Arith.Mul", "bench " + s.address + " Arith.Mul --duration 600ms --warm-up 0s --max-errors 1": "longest"} {
			polltest.Until(t, patience, line, func() error {
				text, code := onTerminal(t, line, term)
				if strings.Contains(text, "\x1b") {
					t.Fatalf("with %s weft %s writes %q", term, line, text)
				}
				if code != 0 || !strings.Contains(text, want) {
					return fmt.Errorf("it returns %d and writes %q", code, text)
				}
				return nil
			})
		}
	}
	// What others have named and said steers it all the same, if it is more than it says.
	if text, _ := onTerminal(t, "describe "+s.address+" Hostile.Say", "TERM="); strings.Contains(text, "\x1b]0;") || !strings.Contains(text, "title") {
		t.Errorf("the terminal gets %q", text)
	}
}

// TestNarrow shows a line of progress and a table on a terminal with twenty columns: nothing of them is broken onto a second line.
func TestNarrow(t *testing.T) {
	s := begin(t)
	busy(t, s.address)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	drawn := regexp.MustCompile(`\r([^\r\n\x1b]+)\x1b\[K`)
	polltest.Until(t, patience, "the figures so far on a narrow terminal", func() error {
		text, code := onPseudo(t, "stty cols 20 rows 10; "+own+" bench "+s.address+" Arith.Mul --duration 1s --warm-up 0s")
		lines := drawn.FindAllStringSubmatch(text, -1)
		for _, line := range lines {
			if len(line[1]) >= 20 {
				t.Fatalf("a line of %d characters is drawn: %q", len(line[1]), line[1])
			}
		}
		if code != 0 || len(lines) == 0 {
			return fmt.Errorf("bench returns %d and writes %q", code, text)
		}
		return nil
	})
	polltest.Until(t, patience, "the table on a narrow terminal", func() error {
		text, code := onPseudo(t, "stty cols 20 rows 10; "+own+" top "+s.address+" --interval 200ms --count 1")
		for line := range strings.SplitSeq(text, "\r\n") {
			line = strings.NewReplacer("\x1b[?1049h", "", "\x1b[?25l", "", "\x1b[H", "", "\x1b[K", "").Replace(line)
			if line = strings.TrimRight(line, "\r"); len(line) > 20 && !strings.Contains(line, "\x1b[J") && !strings.Contains(line, "Script ") {
				t.Fatalf("a line of %d characters is drawn: %q", len(line), line)
			}
		}
		if code != 0 || !strings.Contains(text, "Arith.Mul") {
			return fmt.Errorf("top returns %d and writes %q", code, text)
		}
		return nil
	})
}

// TestInterruptInput interrupts commands that wait for the standard input, which a first Ctrl-C must end.
func TestInterruptInput(t *testing.T) {
	s := begin(t)
	t.Setenv("WEFT_REGISTRY", "file://"+write(t, "registry.json", `{"services": {"Arith": [{"address": "tcp://10.0.0.7:1"}]}}`))
	for _, args := range [][]string{{"call", s.address, "Arith.Mul", "-d", "-"}, {"call", s.address, "Shop.Add", "-d", "-"}, {"rules", "apply", "Arith"}, {"schema", "-"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p := startFrom(t, r, args...)
		r.Close()
		// More than a pipe holds: when it is written, the program reads.
		if _, err := w.Write(bytes.Repeat([]byte(" "), 128<<10)); err != nil {
			t.Fatal(err)
		}
		if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.exited:
		case <-time.After(patience):
			t.Fatalf("weft %v goes on after an interrupt", args)
		}
		w.Close()
		if code := p.cmd.ProcessState.ExitCode(); code != 130 || p.text() != "weft: interrupted\n" {
			t.Errorf("weft %v returns %d and writes %q", args, code, p.text())
		}
	}
}

// TestInterruptFrozen interrupts commands that wait for a server that takes connections and answers nothing.
func TestInterruptFrozen(t *testing.T) {
	for _, line := range []string{
		"doctor ADDRESS", "doctor Arith", "health ADDRESS", "health Arith", "list ADDRESS", "list Arith", "describe Arith.Mul", "call Arith.Mul", "call ADDRESS Arith.Mul",
		"top Arith", "tap ADDRESS", "bench Arith.Mul", "schema Arith", "replay " + recorded(t) + " ADDRESS --all",
	} {
		frozen, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := "tcp://" + frozen.Addr().String()
		t.Setenv("WEFT_REGISTRY", "file://"+write(t, "registry.json", fmt.Sprintf(`{"services": {"Arith": [{"address": %q}]}}`, address)))
		p := start(t, append(strings.Fields(strings.ReplaceAll(line, "ADDRESS", address)), "--timeout", "1h")...)
		if err := frozen.(*net.TCPListener).SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		conn, err := frozen.Accept() // now it waits
		if err != nil {
			t.Fatalf("weft %s does not connect: %v; it writes %q", line, err, p.text())
		}
		if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		select {
		case <-p.exited:
		case <-time.After(patience):
			t.Fatalf("weft %s goes on after an interrupt", line)
		}
		conn.Close()
		frozen.Close()
		if code, text := p.cmd.ProcessState.ExitCode(), p.text(); code != 130 || !strings.HasSuffix(text, "weft: interrupted\n") {
			t.Errorf("weft %s returns %d and writes %q", line, code, text)
		}
	}
}

// TestPlugin runs programs as commands: with their arguments, input and exit code, and interrupts one.
func TestPlugin(t *testing.T) {
	folder := t.TempDir()
	for name, script := range map[string]string{"weft-greet": "read name\necho \"$1 $name\"\nexit 7\n", "weft-wait": "echo it waits\nexec sleep 3600\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	if code, out, _ := run(t, "Ada\n", "greet", "Hello"); code != 7 || out != "Hello Ada\n" {
		t.Errorf("it returns %d and writes %q", code, out)
	}
	p := start(t, "wait")
	p.says(t, "it waits")
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.exited:
	case <-time.After(patience):
		t.Fatal("it goes on")
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("it returns %d and writes %q", code, p.text())
	}
}

// TestSlowInput has the request come later than a call may take.
func TestSlowInput(t *testing.T) {
	s := begin(t)
	slow := func(after time.Duration) (code int, out, log string) {
		r, w := io.Pipe()
		time.AfterFunc(after, func() {
			io.WriteString(w, `{"A":6,"B":7}`)
			w.Close()
		})
		var o bytes.Buffer
		l := new(process)
		code = execute(t.Context(), &shell.Shell{In: r, Out: &o, Log: l}, []string{"call", s.address, "Arith.Mul", "-d", "-", "--timeout", (after / 2).String()})
		return code, o.String(), l.text()
	}
	for after := 200 * time.Millisecond; ; after *= 4 { // a busy machine needs more for the call
		code, out, log := slow(after)
		if code == 0 && out == "42\n" {
			return
		}
		if after > patience/4 {
			t.Fatalf("call returns %d and writes %q, %q", code, out, log)
		}
	}
}

// TestInputHint tells on a terminal that rules are read from it.
func TestInputHint(t *testing.T) {
	t.Setenv("WEFT_REGISTRY", "file://"+write(t, "registry.json", `{"services": {"Arith": [{"address": "tcp://10.0.0.7:1"}]}}`))
	if text, _ := onTerminal(t, "rules check Arith"); !strings.Contains(text, "Ctrl-D") {
		t.Errorf("it writes %q", text)
	}
	if code, _, log := run(t, "{}", "rules", "check", "Arith"); code != 0 || log != "" {
		t.Errorf("without a terminal it returns %d and logs %q", code, log)
	}
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
	expect(t, 0, `"changed": false`, "", "", "instances", "enable", "Arith", "a", "-o", "json")
	expect(t, 0, "- match:\n", "", "", "rules", "show", "Arith", "--version", "2", "-o", "yaml")
	expect(t, 0, "weft instances a\n", "", "", "rules", "show", "Arith", "--version", "2", "-o", "name")
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
	expect(t, 0, `"rules_version": 4`, "", "", "registry", "copy", "--to", "file://"+other, "Arith", "--force", "-o", "json")
	expect(t, 0, "Arith\n", "", "", "registry", "copy", "--to", "file://"+other, "Arith", "--force", "-o", "name")
	expect(t, 0, "half as fast", "", "", "rules", "history", "Arith", "--registry", "file://"+other)
	expect(t, 1, "weight 100 -> 5", "", `{"instances": [{"name": "x", "match": {"id": "a"}, "weight": 5}]}`, "rules", "diff", "Arith")
}

// TestWatchNothing watches a service that no server has registered, which is told.
func TestWatchNothing(t *testing.T) {
	t.Setenv("WEFT_REGISTRY", "file://"+write(t, "registry.json", "{}"))
	p := start(t, "registry", "watch", "Nothing")
	p.says(t, "no server of Nothing is registered")
	if code := p.terminate(t); code != 130 {
		t.Errorf("it returns %d", code)
	}
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
