//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// The real programs run for ten seconds: all promises are kept, and no process is left.
func TestDemo(t *testing.T) {
	bin := build(t)
	t.Run("runs", func(t *testing.T) { runs(t, bin) })
	t.Run("is interrupted", func(t *testing.T) { isInterrupted(t, bin) })
}

// build builds this program and weft into a folder.
func build(t *testing.T) (bin string) {
	t.Helper()
	bin = t.TempDir()
	for program, folder := range map[string]string{"weft": "../../cmd/weft", "demo": "."} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(bin, program), ".")
		cmd.Dir = folder
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go build in %s: %v\n%s", folder, err, out)
		}
	}
	return bin
}

// demonstration is the command, in a group of processes and with a temporary folder of
// its own.
func demonstration(t *testing.T, bin string) (cmd *exec.Cmd, temporary string) {
	t.Helper()
	temporary = t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
	t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, filepath.Join(bin, "demo"), "-quick", "-weft", filepath.Join(bin, "weft"))
	cmd.Env = append(os.Environ(), "TMPDIR="+temporary)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, temporary
}

// gone checks that the command has left neither processes nor files.
func gone(t *testing.T, cmd *exec.Cmd, temporary string) {
	t.Helper()
	if err := syscall.Kill(-cmd.Process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		t.Errorf("processes were left behind: %v", err)
	}
	left, err := os.ReadDir(temporary)
	if err != nil || len(left) > 0 {
		t.Errorf("files were left behind: %v %v", left, err)
	}
}

func runs(t *testing.T, bin string) {
	cmd, temporary := demonstration(t, bin)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	gone(t, cmd, temporary)
	out := stdout.String()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%v\n%s%s", err, out, stderr.String())
	}
	const share = `([▁▂▃▄▅▆▇█] +\d+%|·) *`
	for _, want := range []string{
		`  at speed    [\d,]+ calls/s by .*`, `  a stream    1,000 .*`, `  a callback  .*`, `  a cancel    the caller was free after .*`,
		`  an error    Ledger.Find +NotFound +Executed .*`,
		`  three servers +[\d,]+ +[\d.]+ (ms|s) +0 +0 +(` + share + `){3}· +·`,
		`  A is killed +[\d,]+ +[\d.]+ (ms|s) +0 +\d+ +(` + share + `){3}· +·`,
		`  D is added .*`, `  B is frozen .*`, `  B is thawed .*`, `  C is drained .*`, `  registry is stopped .* 0 +0  .*`, `  registry is back .*`,
		`  D is 10x slower .*`,
		`  B  ejected, .*`,
		`  METHOD +RATE +ERRORS +P50 +P99 .*`, `  Ledger.Read +[\d.]+/s .*`, `  docs/guide/command.md .*`,
		`  an idempotent call never fails +0 of [\d,]+ failed +ok`,
		`  an unmarked call never runs twice +0 of [\d,]+ ran twice +ok`,
	} {
		if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(out) {
			t.Errorf("no line matches %s", want)
		}
	}
	for l := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimRight(l, "\n")); n > width || strings.Contains(l, "\x1b") {
			t.Errorf("a line has %d characters, at most %d are wanted, and no colours: %q", n, width, l)
		}
	}
	if t.Failed() {
		t.Logf("the output:\n%s", out)
	}
}

// isInterrupted sends Ctrl-C under load, to this process alone, which has to end the
// others.
func isInterrupted(t *testing.T, bin string) {
	cmd, temporary := demonstration(t, bin)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "  A is killed") {
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	io.Copy(io.Discard, stdout)
	err = cmd.Wait()
	gone(t, cmd, temporary)
	if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != 1 {
		t.Errorf("it ended with %v, want exit code 1", err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v to end", took)
	}
}

func TestCompare(t *testing.T) {
	tests := []struct {
		name  string
		books []booking
		times map[int64]int
		want  account
	}{
		{"all well", []booking{{1, ran}, {2, ran}}, map[int64]int{1: 1, 2: 1}, account{calls: 2}},
		{"one did not run, and its caller knows", []booking{{1, didNotRun}}, nil, account{calls: 1}},
		{"one ran twice", []booking{{1, ran}}, map[int64]int{1: 2}, account{calls: 1, twice: 1}},
		{"one was answered and did not run", []booking{{1, ran}, {2, ran}}, map[int64]int{2: 1}, account{calls: 2, lost: 1}},
		{"one ran, and its error said otherwise", []booking{{1, didNotRun}}, map[int64]int{1: 1}, account{calls: 1, denied: 1}},
		{"two may have run, and one did", []booking{{1, unknown}, {2, unknown}}, map[int64]int{1: 1}, account{calls: 2, unknown: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := compare(tt.books, tt.times); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestJournals(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("A", "1\n2\n")
	write("B", "2\n4294967296\n")
	write("C", "")
	times, err := readJournals(folder)
	if err != nil || len(times) != 3 || times[1] != 1 || times[2] != 2 || times[1<<32] != 1 {
		t.Errorf("got %v and %v", times, err)
	}
	write("D", "seven\n")
	if _, err := readJournals(folder); err == nil || !strings.Contains(err.Error(), "journal D") {
		t.Errorf("a journal that is none gave %v", err)
	}
}

func TestVerdictTellsWhatWasNotKept(t *testing.T) {
	var v verdict
	if v.print(time.Second) == nil {
		t.Error("a verdict without a finding is good")
	}
	v.note(true, "water is wet", "%d drops", 7)
	if err := v.print(time.Second); err != nil {
		t.Error(err)
	}
	v.note(false, "water is dry", "%d drops", 7)
	if err := v.print(time.Second); err == nil || err.Error() != "1 of 2 promises were not kept" {
		t.Errorf("got %v", err)
	}
}

func TestTally(t *testing.T) {
	tally := newTally()
	for i := range 100 {
		tally.add("Ledger.Read", []string{"A", "B", "B", "B"}[i%4], time.Duration(100-i)*time.Millisecond, nil)
	}
	tally.add("Ledger.Book", "", time.Second, errors.New("failed"))
	tally.lasted = time.Second
	if tally.share("A") != 0.25 || tally.share("B") != 0.75 || tally.share("C") != 0 {
		t.Errorf("the shares are %v, %v and %v", tally.share("A"), tally.share("B"), tally.share("C"))
	}
	if p50, p99 := tally.quantile(0.5), tally.quantile(0.99); p50 != 51*time.Millisecond || p99 != 100*time.Millisecond {
		t.Errorf("p50 is %v and p99 %v", p50, p99)
	}
	if tally.all() != 101 || tally.failed() != 1 || tally.told[unknown] != 1 || tally.rate() != 101 {
		t.Errorf("got %d calls, %d failed, %v a second", tally.all(), tally.failed(), tally.rate())
	}
	if empty := newTally(); empty.share("A") != 0 || empty.quantile(0.99) != 0 {
		t.Error("an empty tally has shares or times")
	}
}

func TestBar(t *testing.T) {
	for _, tt := range []struct {
		share float64
		want  string
	}{{0.001, "▁"}, {0.125, "▁"}, {0.25, "▂"}, {1.0 / 3, "▃"}, {0.5, "▄"}, {0.99, "█"}, {1, "█"}} {
		if got := bar(tt.share); got != tt.want {
			t.Errorf("bar(%v) is %q, want %q", tt.share, got, tt.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		name  string
		text  string
		width int
		want  []string
	}{
		{"short", "one two", 10, []string{"one two"}},
		{"long", "one two three", 8, []string{"one two", "three"}},
		{"a word that is too long", "one twelve-and-more two", 8, []string{"one", "twelve-…", "two"}},
		{"lines", "one\ntwo", 10, []string{"one", "two"}},
		{"nothing", "", 10, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := wrap(tt.text, tt.width); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
