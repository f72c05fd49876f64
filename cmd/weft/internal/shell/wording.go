package shell

import (
	"fmt"
	"strings"
	"time"
)

// Plural is such as "1 service", "2 services" or "2 replies".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, ok := strings.CutSuffix(what, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Seconds is a number of seconds as a duration for people.
func Seconds(s float64) time.Duration {
	d := time.Duration(s * float64(time.Second))
	if d >= time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Microsecond)
}
