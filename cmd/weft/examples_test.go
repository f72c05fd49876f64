package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/internal/polltest"
)

// TestExamples runs all examples of the help, with the addresses of servers and registries that are there. What would not
// end is interrupted when it has written something, and measurements and recordings are shorter.
func TestExamples(t *testing.T) {
	w := newWorld(t)
	continued := regexp.MustCompile(`\\\n *`)
	ran := 0
	for _, cmd := range every(root(&shell.Shell{})) {
		if cmd.Example == "" && cmd.Runnable() && cmd.Name() != "help" && cmd.Name() != "weft" && cmd.Parent().Name() != "completion" && !cmd.HasSubCommands() {
			t.Errorf("the help of %q has no example", cmd.CommandPath())
		}
		for line := range strings.Lines(continued.ReplaceAllString(cmd.Example, "")) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "   ")
			if line == "" || strings.HasPrefix(line, "vi ") {
				continue
			}
			ran++
			w.example(t, cmd, line)
		}
	}
	if ran < 80 {
		t.Errorf("only %d examples were run", ran)
	}
}

// example runs an example of a command.
func (w *world) example(t *testing.T, cmd *cobra.Command, line string) {
	t.Helper()
	command := line
	if _, after, piped := strings.Cut(line, " | "); piped {
		command = after
	}
	args, err := words(command)
	if err != nil || len(args) < 2 || args[0] != "weft" {
		t.Errorf("the example %q of %s is no command of weft, error %v", line, cmd.CommandPath(), err)
		return
	}
	args = args[1:]
	switch {
	case args[0] == "up":
		w.upExample(t, args)
		return
	case args[0] == "generate":
		generateExample(t, args)
		return
	}
	w.prepare(t, line)
	for n := range args {
		args[n] = w.here(line, args[n])
		if n > 0 && args[n-1] == "--duration" {
			args[n] = "600ms"
		}
		if n > 0 && args[n-1] == "--count" && args[n] != "1" {
			args[n] = "2"
		}
	}
	try := func() error {
		code, out, log := w.runExample(t, line, args)
		if code != 0 {
			return fmt.Errorf("the example %q of the help returns %d: %s%s", line, code, out, log)
		}
		if name := redirected(line, ">"); name != "" {
			writeFile(t, name, out)
		}
		return nil
	}
	switch args[0] {
	case "bench": // on a busy machine no call may end in the time that is measured
		args = append(args, "--warm-up", "0s")
		polltest.Until(t, patience, "a measurement", try)
	case "doctor": // on a busy machine a server may answer too late, which is a warning
		polltest.Until(t, patience, "nothing is wrong", try)
	default:
		if err := try(); err != nil {
			t.Error(err)
		}
	}
}

// runExample runs it; one that does not end is interrupted when it has written something, which is no failure.
func (w *world) runExample(t *testing.T, line string, args []string) (code int, out, log string) {
	t.Helper()
	in := ""
	if name := redirected(line, "<"); name != "" {
		in = read(t, name)
	} else if strings.HasPrefix(line, "tail -f ") {
		in = read(t, strings.Fields(line)[2])
	}
	limited := strings.Contains(line, "--count") || strings.Contains(line, "--duration")
	endless := args[0] == "top" || args[0] == "tap" || args[0] == "record" || args[0] == "registry" && args[1] == "watch"
	if !endless || limited && !strings.Contains(line, "--slower") {
		return run(t, in, args...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	both := &interrupting{cancel: cancel}
	code = execute(ctx, &shell.Shell{In: strings.NewReader(in), Out: both, Log: both}, args)
	if ctx.Err() == context.Canceled && code == shell.ExitInterrupted {
		code = 0
	}
	return code, both.text(), ""
}

// interrupting is the output of a command that is interrupted when it has written something.
type interrupting struct {
	process
	cancel context.CancelFunc
}

func (i *interrupting) Write(b []byte) (int, error) {
	defer i.cancel()
	return i.process.Write(b)
}

// here is an argument of an example with the addresses that are there.
func (w *world) here(line, arg string) string {
	at := w.at
	if strings.Contains(line, "--tls") {
		at = w.secure.at
	}
	return strings.NewReplacer(
		"etcds://10.0.0.1:2379", "etcds://"+w.secureEtcd, "etcd://10.0.0.1:2379,10.0.0.2:2379", "etcd://"+w.etcd, "etcd://10.0.0.1:2379", "etcd://"+w.etcd,
		"consul://127.0.0.1:8500", "etcd://"+w.etcd, "consul://10.0.0.9:8500", "file://"+w.folder+"/other.json",
		"127.0.0.1:50051", w.hello.at, "127.0.0.1:8080", w.connect.at, "127.0.0.1:1234", at, "127.0.0.1:9090", at, "127.0.0.1:8972", at, "10.0.0.7:8972", at,
		"/var/lib/orders/calls", w.folder+"/calls", "~/", w.folder+"/",
	).Replace(arg)
}

// prepare writes the files that an example reads, and removes one that it must not find.
func (w *world) prepare(t *testing.T, line string) {
	t.Helper()
	switch {
	case strings.Contains(line, "--out calls.weftrec"):
		if err := os.Remove("calls.weftrec"); err != nil {
			t.Fatal(err)
		}
	case strings.Contains(line, "calls.weftrec"):
		w.recording(t, "calls.weftrec")
	case strings.Contains(line, "schema.json") && !strings.Contains(line, "--out"):
		source := w.address
		if strings.Contains(line, "./orders") {
			source = "./orders"
		}
		expect(t, 0, "", "", "", "schema", source, "-o", "json", "--out", "schema.json")
	case strings.Contains(line, "rules diff"):
		_, rules, _ := run(t, "", "rules", "show", "Greeter")
		writeFile(t, "rules.json", rules)
	}
}

// upExample runs a registry as an example does, with ports that are free.
func (w *world) upExample(t *testing.T, args []string) {
	t.Helper()
	one, two, three, four := localPort(t), localPort(t), localPort(t), localPort(t)
	_, port, _ := strings.Cut(one, ":")
	data := t.TempDir()
	says := "The registry is up"
	for n := range args {
		if args[n] == ":2379" {
			args[n] = ":" + port
		}
		args[n] = strings.NewReplacer("/var/lib/weft", data, "10.0.0.1:2379", one, "10.0.0.1:2380", two, "10.0.0.2:2380", three, "10.0.0.3:2380", four).Replace(args[n])
		if args[n] == "--cluster" {
			says = "most of the members"
		}
	}
	if len(args) == 1 {
		args = append(args, "--listen", one)
	}
	t.Chdir(t.TempDir()) // "weft up" keeps its data in the current folder
	p := start(t, args...)
	p.says(t, says)
	if code := p.terminate(t); code != 0 {
		t.Errorf("weft %v returns %d", args, code)
	}
	t.Chdir(w.folder)
}

// generateExample runs it in a package of its own.
func generateExample(t *testing.T, args []string) {
	t.Helper()
	before, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	pkg(t)
	switch line := strings.Join(args, " "); {
	case strings.Contains(line, "-check"):
		if code, _, log := run(t, "", "generate", "-codec", "./..."); code != 0 {
			t.Errorf("weft generate -codec returns %d: %s", code, log)
		}
	case strings.Contains(line, ".proto"):
		text := read(t, filepath.Join(before, "shop.proto"))
		if err := os.Mkdir("proto", 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, "proto/shop.proto", text)
		writeFile(t, "shop.proto", text)
	default:
		t.Chdir("orders")
	}
	if code, out, log := run(t, "", args...); code != 0 {
		t.Errorf("weft %v returns %d: %s%s", args, code, out, log)
	}
	t.Chdir(before)
}

// redirected is the file behind a sign of redirection in a line, "" for none.
func redirected(line, sign string) string {
	_, after, found := strings.Cut(line, " "+sign)
	if !found {
		return ""
	}
	return strings.Fields(after)[0]
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
