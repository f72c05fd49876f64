package codectest

import (
	"runtime/debug"
	"testing"
)

// ring, nest, tree and chest are types whose values can contain themselves.
type (
	ring  struct{ Next *ring }
	nest  []nest
	tree  map[string]tree
	chest struct{ In any }
)

// cyclic returns values that contain themselves.
func cyclic() []any {
	r := new(ring)
	r.Next = r
	n := make(nest, 1)
	n[0] = n
	t := make(tree)
	t["x"] = t
	c := new(chest)
	c.In = c
	list, table := make([]any, 1), make(map[string]any)
	list[0], table["x"] = list, table
	var a any
	a = &a
	return []any{r, &n, &t, c, &list, &table, &a, &[]*ring{r}, &map[string]any{"x": &a}}
}

// cycles tests that a value which contains itself is an error. A codec that
// follows it would end the process, which has no stack without end.
func (s *suite) cycles(t *testing.T) {
	const enough = 64 << 20 // the sooner it ends
	defer debug.SetMaxStack(debug.SetMaxStack(enough))
	for _, v := range cyclic() {
		t.Logf("a %T that contains itself", v)
		err := safely(func() error { _, err := s.c.Append(nil, v); return err })
		if err == nil || isPanic(err) {
			t.Errorf("Append of a %T that contains itself: %v, want an error", v, err)
		}
	}
}
