// Package leak fails a test run that leaves goroutines behind.
//
// Every test package of weft has these lines:
//
//	func TestMain(m *testing.M) { leak.Main(m) }
//
// A goroutine that outlives its owner holds memory, a connection or a lock. In a
// test it does no harm, so only a check like this one finds it.
package leak

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// grace is how long a goroutine may need to end after the last test. Only a package
// with one that still runs waits for it.
const grace = 10 * time.Second

// Main runs the tests of m and ends the process, with the code of the tests,
// or with 1 when the tests passed but goroutines that they started still run
// after ten seconds. Their stacks are then written to standard error.
//
// Goroutines of the runtime, of package testing, of the fuzzing engine and of
// os/signal do not count. It works under -race, -cover and -fuzz; a worker
// process of the fuzzing engine is not checked, since the engine may end it
// within a call.
func Main(m *testing.M) {
	os.Exit(run(m, grace))
}

// run runs the tests of m and returns the exit code.
func run(m *testing.M, wait time.Duration) int {
	code := m.Run()
	if code == 0 && !fuzzWorker(os.Args) {
		code = verdict(os.Stderr, wait)
	}
	return code
}

// verdict returns the exit code for the goroutines that run now, and writes
// those that should not run to w.
func verdict(w io.Writer, wait time.Duration) int {
	left := settle(nil, wait)
	if len(left) == 0 {
		return 0
	}
	fmt.Fprint(w, report(left))
	return 1
}

// Check fails t when goroutines that did not run at the call of Check still run
// ten seconds after t and its subtests have ended. Its verdict comes after
// every cleanup that t registers later, so call it first.
//
// A goroutine cannot be traced to the test that started it, so t must not run in
// parallel with others. A testing/synctest bubble does not need it: the bubble
// waits for its goroutines.
func Check(t testing.TB) {
	t.Helper()
	check(t, grace)
}

func check(t testing.TB, wait time.Duration) {
	t.Helper()
	known := make(map[string]bool)
	for _, g := range running() {
		known[g.id] = true
	}
	t.Cleanup(func() {
		if left := settle(known, wait); len(left) > 0 {
			t.Error(report(left))
		}
	})
}

// settle waits until no goroutine runs that should not, at most for wait, and
// returns those that are left. Goroutines whose id is known are left out.
func settle(known map[string]bool, wait time.Duration) []goroutine {
	deadline := time.Now().Add(wait)
	for pause := time.Millisecond; ; pause = min(2*pause, wait/8) {
		var left []goroutine
		for _, g := range running() {
			if !known[g.id] && !g.expected() {
				left = append(left, g)
			}
		}
		if len(left) == 0 || !time.Now().Before(deadline) {
			return left
		}
		time.Sleep(pause)
	}
}

func report(left []goroutine) string {
	var b strings.Builder
	fmt.Fprintf(&b, "leak: %d goroutine(s) still run after the tests; close what started each of them, "+
		"and wait for its end, before the test returns\n", len(left))
	for _, g := range left {
		fmt.Fprintf(&b, "\n%s\n", g.stack)
	}
	return b.String()
}

// fuzzWorker tells whether this process is a worker of the fuzzing engine, which
// starts its workers with this flag. Package testing does not tell.
func fuzzWorker(args []string) bool {
	for _, arg := range args[1:] {
		switch strings.TrimLeft(arg, "-") {
		case "test.fuzzworker", "test.fuzzworker=true":
			return true
		}
	}
	return false
}
