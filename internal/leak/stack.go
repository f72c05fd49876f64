package leak

import (
	"runtime"
	"slices"
	"strings"
)

// goroutine is one entry of a stack dump.
type goroutine struct {
	id      string   // the number in "goroutine 7 [select]:"
	calls   []string // the functions on the stack, innermost first
	creator string   // the function that holds the go statement; empty for the first goroutine
	stack   string   // the entry as the runtime wrote it
}

// maxDump bounds the stack dump; beyond it the goroutines that do not fit are
// not seen; 64 MiB hold some 50,000.
const maxDump = 64 << 20

// running returns all goroutines except the one that calls it.
func running() []goroutine {
	buf := make([]byte, 64<<10)
	n := runtime.Stack(buf, true)
	for n == len(buf) && len(buf) < maxDump {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	all := parse(string(buf[:n]))
	if len(all) > 0 {
		all = all[1:] // the runtime writes the caller first
	}
	return all
}

// parse reads a dump of runtime.Stack. What is no goroutine in it is skipped:
// a dump that was cut at its end must not hide the goroutines before.
func parse(dump string) []goroutine {
	var all []goroutine
	for entry := range strings.SplitSeq(dump, "\n\n") {
		entry = strings.Trim(entry, "\n")
		head, body, _ := strings.Cut(entry, "\n")
		rest, ok := strings.CutPrefix(head, "goroutine ")
		if !ok {
			continue
		}
		id, _, ok := strings.Cut(rest, " ")
		if !ok {
			continue
		}
		g := goroutine{id: id, stack: entry}
		g.calls, g.creator = functions(body)
		all = append(all, g)
	}
	return all
}

// functions returns the names of the functions in the body of an entry, and
// the name behind "created by". Lines that begin with a tab are positions.
func functions(body string) (calls []string, creator string) {
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '\t' {
			continue
		}
		if by, ok := strings.CutPrefix(line, "created by "); ok {
			creator, _, _ = strings.Cut(by, " in goroutine ")
			continue
		}
		if i := strings.LastIndexByte(line, '('); i > 0 {
			line = line[:i]
		}
		calls = append(calls, line)
	}
	return calls, creator
}

// expected tells whether the goroutine is not one of the code under test: the first
// one, which waits for package testing, and those that the runtime, package testing,
// the fuzzing engine and os/signal started.
func (g goroutine) expected() bool {
	for _, owner := range []string{"runtime.", "testing.", "internal/fuzz."} {
		if strings.HasPrefix(g.creator, owner) {
			return true
		}
	}
	return g.creator == "" || slices.Contains(g.calls, "os/signal.loop")
}
