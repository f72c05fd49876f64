package main

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/weftrpc/weft/internal/cputime"
	"github.com/weftrpc/weft/internal/section"
)

// publish writes the figures into a document.
func publish(name string, samples []sample, rate float64) error {
	if len(samples) == 0 {
		return errors.New("there is no sample to be written")
	}
	return section.Replace(name, "soak", table(samples, rate))
}

// table shows five of the samples: the first one, and the ends of four quarters.
func table(samples []sample, rate float64) string {
	shown := samples[:1:1]
	for q := 1; q <= 4; q++ {
		if i := len(samples)*q/4 - 1; i > 0 {
			shown = append(shown, samples[i])
		}
	}
	var b strings.Builder
	last := samples[len(samples)-1]
	pace := "as fast as the callers could"
	if rate > 0 {
		pace = fmt.Sprintf("%g calls a second", rate)
	}
	fmt.Fprintf(&b, "Measured on %s, %s, on a machine with %d processors that had other work.\n\n", time.Now().Format(time.DateOnly), pace, runtime.NumCPU())
	row := func(name string, of func(sample) string) {
		b.WriteString(strings.TrimSuffix("| "+name, " ") + " |")
		for _, s := range shown {
			b.WriteString(" " + of(s) + " |")
		}
		b.WriteString("\n")
	}
	first := true
	row("", func(s sample) string {
		text := fmt.Sprintf("%.3g min", s.at.Minutes())
		if first {
			text = "after " + text
		}
		first = false
		return text
	})
	b.WriteString("|---|" + strings.Repeat("---|", len(shown)) + "\n")
	megabytes := func(n uint64) string { return fmt.Sprintf("%.1f MiB", mib(n)) }
	row("calls", func(s sample) string { return grouped(s.calls) })
	row("objects in use", func(s sample) string { return megabytes(s.live) })
	row("memory of the process", func(s sample) string { return megabytes(s.resident) })
	row("file descriptors", func(s sample) string { return fmt.Sprint(s.files) })
	row("goroutines", func(s sample) string { return fmt.Sprint(s.goroutines) })
	fmt.Fprintf(&b, "\n%s calls, %s resets, %s restarts, no wrong answer, %v of processor time. After the end one goroutine was left, the program's own.\n",
		grouped(last.calls), grouped(last.resets), grouped(last.restarts), cputime.Used().Round(time.Second))
	return b.String()
}

// grouped writes a number with commas.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
