// Package trail says where in a message an error is. The way to it is shortened where it is long, as that within a value that contains itself is.
package trail

import (
	"fmt"
	"strings"
)

// shown is how many names of either end of a long way an error has.
const shown = 4

// In returns err, which must not be nil, as an error of the part of a message that is called name. An error that In has returned belongs to
// the caller, which must not use it again.
//
//go:noinline
func In(name string, err error) error {
	w, ok := err.(*within) // not errors.As: one that is wrapped has its way behind other text
	if !ok {
		w = &within{err: err}
	}
	w.names = append(w.names, name)
	return w
}

// within is an error with the way to it.
type within struct {
	names []string // the innermost first
	err   error
}

func (w *within) Unwrap() error { return w.err }

func (w *within) Error() string {
	var b strings.Builder
	for i := len(w.names) - 1; i >= 0; i-- {
		if left := len(w.names) - 2*shown; left > 1 && i == len(w.names)-1-shown {
			fmt.Fprintf(&b, "(%d more): ", left)
			i = shown - 1
		}
		b.WriteString(w.names[i])
		b.WriteString(": ")
	}
	b.WriteString(w.err.Error())
	return b.String()
}
