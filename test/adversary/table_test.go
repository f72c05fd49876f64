//go:build unix

package adversary

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// The marks in a document between which the figures are written.
const (
	firstMark = "<!-- adversary:begin -->"
	lastMark  = "<!-- adversary:end -->"
)

// publish writes the figures into a document.
func publish(name string, figures []figure) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	head, rest, found := strings.Cut(string(text), firstMark)
	_, tail, closed := strings.Cut(rest, lastMark)
	if !found || !closed {
		return fmt.Errorf("%s has no marks %s and %s", name, firstMark, lastMark)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nMeasured on %s, %v for each attack, on a machine with %d processors that had other work.\n\n", time.Now().Format(time.DateOnly), *duration, runtime.NumCPU())
	b.WriteString("| attack | neighbours' goodput | their p99 | new clients without an answer in 2 s | memory of the server |\n|---|---|---|---|---|\n")
	for _, f := range figures {
		fmt.Fprintf(&b, "| %s | %s | %v | %d of %d | %+.0f MiB |\n",
			f.attack, f.part(), f.p99.Round(10*time.Microsecond), f.turnedAway, f.came, f.memorySeen)
	}
	b.WriteString("\n")
	return os.WriteFile(name, []byte(head+firstMark+b.String()+lastMark+tail), 0o644)
}
