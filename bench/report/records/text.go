package records

import (
	"strconv"
	"strings"
)

// None is written where there is no figure.
const None = "–"

// Text is a figure with its unit, and with its least and greatest value if there
// was more than one round.
func (f Figure) Text(unit string) string {
	if !f.Known() {
		return None
	}
	s := Thousands(f.Median) + f.Spread()
	if unit != "" {
		s += " " + unit
	}
	return s
}

// Spread is the least and the greatest value in parentheses, behind a space;
// nothing if there was but one round.
func (f Figure) Spread() string {
	if f.Rounds < 2 {
		return ""
	}
	return " (" + Thousands(f.Least) + "–" + Thousands(f.Most) + ")"
}

// Short is the median alone.
func (f Figure) Short() string {
	if !f.Known() {
		return None
	}
	return Thousands(f.Median)
}

// Number keeps three digits, and all of a larger integer part.
func Number(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// Thousands is Number with a comma between groups of three digits.
func Thousands(v float64) string {
	whole, rest, small := strings.Cut(Number(v), ".")
	if small {
		rest = "." + rest
	}
	return grouped(whole) + rest
}

// Count is an integer with a comma between groups of three digits.
func Count[N int | int64](n N) string { return grouped(strconv.FormatInt(int64(n), 10)) }

// Counted is a number and what it counts.
func Counted[N int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Count(n) + " " + what + "s"
}

func grouped(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Times writes a ratio.
func Times(v float64) string { return Number(v) + " ×" }

// Capital is a text that begins with a capital letter.
func Capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
