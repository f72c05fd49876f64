package thrift

import (
	"fmt"
	"testing"
	"unsafe"
)

// TestNamesInMemoryUsedAgain: of each method called by a name in memory that is used again one plan is kept, under a copy of its name.
func TestNamesInMemoryUsedAgain(t *testing.T) {
	w := new(wire)
	memory := []byte("Test.00")
	name := unsafe.String(&memory[0], len(memory))
	for i := range 300 {
		want := fmt.Sprintf("Test.%02d", i%10)
		copy(memory, want)
		if w.method(name); w.method(want).Name != want {
			t.Fatalf("%s is kept as %s", want, w.method(want).Name)
		}
	}
	kept := 0
	for range w.methods.Range {
		kept++
	}
	if kept != 10 {
		t.Errorf("of 10 methods %d are kept", kept)
	}
}
