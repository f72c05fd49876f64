package main

import (
	"errors"
	"fmt"
	"time"
)

// finding is a promise and what was measured of it.
type finding struct {
	promise string
	seen    string
	ok      bool
}

// verdict is the findings, in the order of the demonstration.
type verdict []finding

// note adds a finding.
func (v *verdict) note(ok bool, promise, seen string, args ...any) {
	*v = append(*v, finding{promise, fmt.Sprintf(seen, args...), ok})
}

// print prints the table, and returns an error when a promise was not kept.
func (v verdict) print(took time.Duration) error {
	if len(v) == 0 {
		return errors.New("nothing was measured")
	}
	heading("Verdict")
	line("%-42s %s", "promise", "measured")
	broken := 0
	for _, f := range v {
		mark := good("ok")
		if !f.ok {
			mark = bad("FAILED")
			broken++
		}
		line("%-42s %-28s %s", f.promise, f.seen, mark)
	}
	fmt.Println()
	line("%d of %d promises were kept, in %.0f s.", len(v)-broken, len(v), took.Seconds())
	if broken > 0 {
		return fmt.Errorf("%d of %d promises were not kept", broken, len(v))
	}
	return nil
}
