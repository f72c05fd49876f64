package leak

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// leakOnPurpose makes a child process of this test leave a goroutine behind.
const leakOnPurpose = "WEFT_LEAK_ON_PURPOSE"

func TestMain(m *testing.M) {
	if os.Getenv(leakOnPurpose) != "" {
		go stayForever(nil) // this goroutine never ends: the child process is to be caught
		os.Exit(run(m, time.Second))
	}
	Main(m)
}

func stayForever(c chan struct{}) { <-c }

// child runs this test binary once more.
func child(t *testing.T, leaking bool, args ...string) (output string, code int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Dir = t.TempDir()
	if leaking {
		cmd.Env = append(os.Environ(), leakOnPurpose+"=1")
	}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func TestMainFindsALeak(t *testing.T) {
	t.Parallel()
	out, code := child(t, true, "-test.run=^TestParse$")
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	for _, want := range []string{"PASS", "leak: 1 goroutine(s)", "leak.stayForever", "leak_test.go:"} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
}

func TestMainLetsACleanRunPass(t *testing.T) {
	t.Parallel()
	out, code := child(t, false, "-test.run=^TestParse$")
	if code != 0 || strings.Contains(out, "leak:") {
		t.Errorf("exit code %d, want 0 and no report:\n%s", code, out)
	}
}

func TestMainUnderFuzz(t *testing.T) {
	for _, leaking := range []bool{false, true} {
		t.Run(fmt.Sprintf("leaking=%t", leaking), func(t *testing.T) {
			t.Parallel()
			out, code := child(t, leaking, "-test.run=^$", "-test.fuzz=^FuzzParse$", "-test.fuzztime=50x",
				"-test.fuzzcachedir="+t.TempDir())
			if !strings.Contains(out, "PASS") || (code == 1) != leaking || strings.Contains(out, "leak.stayForever") != leaking {
				t.Errorf("exit code %d:\n%s", code, out)
			}
		})
	}
}

func TestFuzzWorker(t *testing.T) {
	for args, want := range map[string]bool{
		"x.test -test.fuzzworker":       true,
		"x.test --test.fuzzworker=true": true,
		"x.test -test.fuzz=FuzzParse":   false,
		"x.test -test.run=fuzzworker":   false,
		"x.test":                        false,
	} {
		if got := fuzzWorker(strings.Fields(args)); got != want {
			t.Errorf("fuzzWorker(%q) = %t, want %t", args, got, want)
		}
	}
}

// recorder takes the place of the test that Check watches.
type recorder struct {
	testing.TB
	cleanups []func()
	failed   bool
	message  string
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Error(args ...any) {
	r.failed = true
	r.message, _ = args[0].(string)
}

func (r *recorder) end() {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name  string
		lives time.Duration // how long the goroutine runs on after the watched test
		want  bool          // whether it is a leak
	}{
		{"ends at once", 0, false},
		{"ends within the grace", 100 * time.Millisecond, false},
		{"stays", time.Hour, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &recorder{TB: t}
			wait := grace
			if tt.want {
				wait = time.Second
			}
			check(r, wait)
			stop, ended := make(chan struct{}), make(chan struct{})
			go func() { // this goroutine ends with its time, or when the test closes stop
				defer close(ended)
				select {
				case <-time.After(tt.lives):
				case <-stop:
				}
			}()
			r.end()
			close(stop)
			<-ended
			if r.failed != tt.want {
				t.Errorf("failed = %t, want %t: %s", r.failed, tt.want, r.message)
			}
			if tt.want && !strings.Contains(r.message, "leak.TestCheck.func1") {
				t.Errorf("the report does not name the goroutine: %s", r.message)
			}
		})
	}
}

func TestCheckLeavesOlderGoroutinesAlone(t *testing.T) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { // this goroutine ends when the test closes stop
		defer close(ended)
		stayForever(stop)
	}()
	r := &recorder{TB: t}
	Check(r)
	r.end()
	close(stop)
	<-ended
	if r.failed {
		t.Errorf("a goroutine from before Check was reported: %s", r.message)
	}
}
