package stats

import (
	"strconv"
	"testing"
)

// TestCallers calls more methods than have statistics of their own, each twice.
func TestCallers(t *testing.T) {
	var c Callers
	const beyond = 3
	for range 2 {
		for i := range 1 + MaxNamed + beyond {
			c.Of(strconv.Itoa(i)).Ended(0, 0, 1000)
		}
	}
	if c.Known("0") != c.Of("0") || c.Known("1") != c.Of("1") {
		t.Error("a method that was called is not known")
	}
	if c.Known(strconv.Itoa(MaxNamed+1)) != nil || c.Known("never called") != nil {
		t.Error("a method without statistics of its own has some")
	}
	names := make(map[string]bool)
	for name, s := range c.All {
		want := uint64(2)
		if name == "" {
			want = 2 * beyond
		}
		if names[name] || s.Calls() != want {
			t.Fatalf("method %q: %d calls, seen before: %v", name, s.Calls(), names[name])
		}
		names[name] = true
	}
	if len(names) != 1+MaxNamed+1 {
		t.Errorf("%d methods are listed", len(names))
	}
	for range c.All {
		break // and nothing more is asked for
	}
}
