package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// The marks in a document between which the figures are written.
const (
	firstMark = "<!-- overload:begin -->"
	lastMark  = "<!-- overload:end -->"
)

// publish writes what was asked for and measured into a document.
func publish(name string, lines []Line, each time.Duration) error {
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
	fmt.Fprintf(&b, "\nMeasured on %s, %v for each load, on a machine with %d processors.\n\n", time.Now().Format(time.DateOnly), each, runtime.NumCPU())
	b.WriteString("| | asked for | measured | |\n|---|---|---|---|\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", l.What, l.Asked, l.Measured, l.Verdict)
	}
	b.WriteString("\n")
	return os.WriteFile(name, []byte(head+firstMark+b.String()+lastMark+tail), 0o644)
}
