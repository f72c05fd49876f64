package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// width is how many characters a line has at most.
const width = 80

// heading begins a section.
func heading(title string) { fmt.Printf("\n%s\n", style("1", title)) }

// line prints a line of a section.
func line(format string, args ...any) { fmt.Printf("  "+format+"\n", args...) }

// quote prints a text behind a name, in as many lines as it needs.
func quote(name, text string) {
	indent := 0
	if name != "" {
		indent = utf8.RuneCountInString(name) + 2
	}
	for _, l := range wrap(text, width-2-indent) {
		line("%-*s%s", indent, name, l)
		name = ""
	}
}

// wrap breaks a text into lines of at most so many characters, between words. A longer
// word is cut.
func wrap(text string, width int) []string {
	var lines []string
	for paragraph := range strings.Lines(text) {
		l := ""
		for _, word := range strings.Fields(paragraph) {
			if utf8.RuneCountInString(word) > width {
				word = string([]rune(word)[:width-1]) + "…"
			}
			switch {
			case l == "":
				l = word
			case utf8.RuneCountInString(l)+1+utf8.RuneCountInString(word) <= width:
				l += " " + word
			default:
				lines = append(lines, l)
				l = word
			}
		}
		if l != "" {
			lines = append(lines, l)
		}
	}
	return lines
}

// cut shortens a text to so many characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most-1]) + "…"
	}
	return text
}

// names are those of all servers, in the order of their columns.
const names = "ABCDE"

// columns prints the head of the table of the phases.
func columns() {
	var b strings.Builder
	fmt.Fprintf(&b, "%-19s %7s %7s %4s %4s", "", "calls/s", "p99", "Read", "Book")
	for _, name := range names {
		fmt.Fprintf(&b, "  %-4c", name)
	}
	line("%-35s   failed  share of the answers", "")
	line("%s", strings.TrimRight(b.String(), " "))
}

// row prints the line of a phase.
func row(phase string, t *tally) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-19s %7s %7s %4d %4d", phase, count(t.rate()), brief(t.quantile(0.99)), t.errors["Ledger.Read"], t.errors["Ledger.Book"])
	for _, name := range names {
		share := t.share(string(name))
		if share == 0 {
			fmt.Fprintf(&b, "  %-4s", "·")
			continue
		}
		fmt.Fprintf(&b, "  %s%3.0f%%", bar(share), 100*share)
	}
	line("%s", strings.TrimRight(b.String(), " "))
}

// bar draws a share as a cell that is filled to that height.
func bar(share float64) string {
	const levels = "▁▂▃▄▅▆▇█"
	full := int(share*8 + 0.5)
	return string([]rune(levels)[min(max(full, 1), 8)-1])
}

// progress shows the counts of a phase on a terminal, in the place of its line, until
// stop is called.
func progress(phase string, peek func() (calls, failed int, since time.Duration)) (stop func()) {
	if !terminal() {
		return func() {}
	}
	ended := make(chan struct{})
	var wg sync.WaitGroup
	// It ends with stop.
	wg.Go(func() {
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				calls, failed, since := peek()
				fmt.Printf("\r  %-20s %7s calls, %d failed, %.0f s … ", phase, count(calls), failed, since.Seconds())
			case <-ended:
				fmt.Print("\r\x1b[K")
				return
			}
		}
	})
	return func() {
		close(ended)
		wg.Wait()
	}
}

// good and bad colour the marks of the verdict.
func good(text string) string { return style("32", text) }
func bad(text string) string  { return style("31", text) }

// style is for terminals only.
func style(code, text string) string {
	if !terminal() || os.Getenv("NO_COLOR") != "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// terminal tells whether the output is a terminal.
func terminal() bool {
	info, err := os.Stdout.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// count writes a number with a comma between thousands.
func count[N int | float64](number N) string {
	digits := strconv.FormatInt(int64(number), 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// brief writes a time with three digits or so.
func brief(d time.Duration) string {
	value, unit := float64(d)/1e3, "µs"
	if d >= time.Second {
		value, unit = d.Seconds(), "s"
	} else if d >= time.Millisecond {
		value, unit = float64(d)/1e6, "ms"
	}
	decimals := 2
	if value >= 100 {
		decimals = 0
	} else if value >= 10 {
		decimals = 1
	}
	return strconv.FormatFloat(value, 'f', decimals, 64) + " " + unit
}
