package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/weftrpc/weft/internal/section"
)

// publish writes what was asked for and measured into a document.
func publish(name string, lines []Line, each time.Duration) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s, %v for each load, on a machine with %d processors.\n\n", time.Now().Format(time.DateOnly), each, runtime.NumCPU())
	b.WriteString("| | asked for | measured | |\n|---|---|---|---|\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", l.What, l.Asked, l.Measured, l.Verdict)
	}
	b.WriteString("\n")
	return section.Replace(name, "overload", b.String())
}
