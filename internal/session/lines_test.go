package session

import (
	"reflect"
	"strconv"
	"testing"
)

// line is the size of a line of the processor's cache.
const line = 64

// TestLines holds what is touched for each of thousands of open calls to few lines: what the reader uses of a call is in its first, what
// else a plain call needs in its second, and a call begins where a line does. Two slots have the size of one.
func TestLines(t *testing.T) {
	if strconv.IntSize < 64 {
		return // pointers are half as long, and all is in fewer lines
	}
	call := reflect.TypeFor[Call]()
	if n := call.Size(); n != 128 && n != 256 && n != 512 {
		t.Errorf("a call has %d bytes, want 128, 256 or 512: the allocator aligns these to lines, and puts a word before what is larger", n)
	}
	for i, names := range [][]string{
		{"done", "Reply", "Codec", "Status", "Ended", "ReplyBytes", "sized", "held", "Plain", "Oneway"},
		{"id", "Bytes", "Method", "Args", "Deadline", "Timeout", "Sent"},
	} {
		for _, name := range names {
			f, ok := call.FieldByName(name)
			at := uintptr(0)
			for n := range f.Index {
				at += call.FieldByIndex(f.Index[:n+1]).Offset
			}
			if !ok || at/line != uintptr(i) || (at+f.Type.Size()-1)/line != uintptr(i) {
				t.Errorf("%s is not in line %d of a call: at %d (there: %v)", name, i, at, ok)
			}
		}
	}
	if n := reflect.TypeFor[slot]().Size(); n > line/2 {
		t.Errorf("a slot has %d bytes, want %d at most", n, line/2)
	}
}
