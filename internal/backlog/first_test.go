package backlog

import "testing"

// Errors say nothing of the length of replies, and so many of them end the waiting: a method may never reply.
func TestFirstAnswersThatAreErrors(t *testing.T) {
	var f First
	for range FewFirst - 1 {
		if !f.Begin() {
			t.Fatal("a first call is not counted")
		}
		f.End(true)
	}
	f.Begin()
	f.End(false)
	if f.known.Load() {
		t.Error("a call that did not run counts as an answer")
	}
	f.Begin()
	f.End(true)
	if !f.known.Load() || f.Begin() {
		t.Errorf("calls are still counted after %d answers", FewFirst)
	}
}
