package streams

import "testing"

// A message follows another one closely that is sent within a moment of it, unless it may be the answer to
// what has come meanwhile.
func TestFlow(t *testing.T) {
	var f flow
	at := int64(1)
	for i, step := range []struct {
		after   int64
		answer  bool
		follows bool
	}{{0, false, false}, {moment - 1, false, true}, {moment, false, false}, {0, false, true}, {1, true, false}, {1, false, true}} {
		at += step.after
		f.answer = f.answer || step.answer
		if got := f.next(at); got != step.follows {
			t.Errorf("step %d: follows %v, want %v", i, got, step.follows)
		}
	}
}
