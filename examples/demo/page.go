package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// heading begins a section.
func heading(number int, title string) {
	fmt.Printf("\n%s\n", style("1", fmt.Sprintf("%d  %s", number, title)))
}

// line prints a line of a section.
func line(format string, args ...any) { fmt.Printf("   "+format+"\n", args...) }

// good marks what turned out well.
func good(text string) string { return style("32", text) }

// style is for terminals only.
func style(code, text string) string {
	info, err := os.Stdout.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || os.Getenv("NO_COLOR") != "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// count writes a number with a comma between thousands.
func count[N int | int64 | float64](number N) string {
	digits := strconv.FormatInt(int64(number), 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// short writes a time with three digits or so.
func short(d time.Duration) string {
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
