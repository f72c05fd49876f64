package msgpack

import (
	"fmt"
	"strings"
)

// trail is an error and the way to the value that it is about, which is written
// down from its end to its beginning while the callers return.
type trail struct {
	err  error
	path []string
}

// failed is what functions return in place of an index after an error.
const failed = -1

func (t *trail) fail(format string, args ...any) int {
	t.err = fmt.Errorf(format, args...)
	return failed
}

// in notes that the error is in a field, an element or an entry.
func (t *trail) in(format string, args ...any) int {
	t.path = append(t.path, fmt.Sprintf(format, args...))
	return failed
}

// wrap returns the error with the way to it.
func (t *trail) wrap(doing string, v any) error {
	const shown = 8 // of either end of the way
	var way strings.Builder
	for i := len(t.path) - 1; i >= 0; i-- {
		if i == len(t.path)-1-shown && i >= shown {
			way.WriteString("…")
			i = shown - 1
		}
		way.WriteString(t.path[i])
	}
	if way.Len() == 0 {
		return fmt.Errorf("codec/msgpack: %s a %T: %w", doing, v, t.err)
	}
	return fmt.Errorf("codec/msgpack: %s a %T, in %s: %w", doing, v, strings.TrimPrefix(way.String(), "."), t.err)
}
