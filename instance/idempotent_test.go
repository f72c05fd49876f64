package instance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestIdempotent(t *testing.T) {
	i := full()
	i.Idempotent = nil
	if i.IsIdempotent("Mul") || i.IsIdempotent("") {
		t.Error("a method is idempotent that is not listed")
	}
	if left := i.AddIdempotent("Mul", "Add", "Mul"); left != 0 || !slices.Equal(i.Idempotent, []string{"Add", "Mul"}) {
		t.Errorf("after Mul and Add there are %q, %d left", i.Idempotent, left)
	}
	c := i.Clone()
	c.AddIdempotent("Sub")
	if i.IsIdempotent("Sub") || !c.IsIdempotent("Sub") || i.Equal(&c) {
		t.Errorf("the instance has %q, and its changed clone %q", i.Idempotent, c.Idempotent)
	}
	i.AddIdempotent(All)
	if !i.IsIdempotent("Anything") {
		t.Error("of all methods one is not idempotent")
	}

	// What has no room is left out, and the instance stays right.
	for name, method := range map[string]func(n int) string{
		"many": func(n int) string { return fmt.Sprintf("Method%03d", n) },
		"long": func(n int) string { return fmt.Sprintf("%s%03d", strings.Repeat("x", 200), n) },
	} {
		i := full()
		i.Idempotent = nil
		var all []string
		for n := range 100 {
			all = append(all, method(n))
		}
		left := i.AddIdempotent(all...)
		if err := i.Check(); err != nil || left == 0 || left+len(i.Idempotent) != 100 || !i.IsIdempotent(all[0]) {
			t.Errorf("%s methods: %d are left out and %d listed, %v", name, left, len(i.Idempotent), err)
		}
		if again := i.AddIdempotent(all...); again != left {
			t.Errorf("%s methods: added again, %d are left out, before %d", name, again, left)
		}
	}
}
