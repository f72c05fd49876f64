//go:build !purego

package msgpack_test

import (
	"testing"

	"github.com/weftrpc/weft/codec/msgpack"
)

// What a plain struct costs in memory: nothing to encode where there is room,
// and to decode the struct itself and one piece for its texts.
func TestAllocations(t *testing.T) {
	type message struct {
		A, B  string
		N     int64
		Blob  []byte
		Inner struct{ C string }
	}
	c, v := msgpack.New(), &message{A: "first", B: "second", N: 1 << 40, Blob: []byte("blob")}
	v.Inner.C = "third"
	body, err := c.Append(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	exact := make([]byte, 0, len(body))
	if n := testing.AllocsPerRun(100, func() { _, err = c.Append(exact, v) }); n > 0.5 || err != nil {
		t.Errorf("Append: %v allocations, %v", n, err)
	}
	if n := testing.AllocsPerRun(100, func() { err = c.Decode(body, new(message)) }); n > 2 || err != nil {
		t.Errorf("Decode: %v allocations, %v", n, err)
	}
	got, err := c.Append(nil, v)
	if err != nil || cap(got) > 2*len(got) {
		t.Errorf("a body of %d bytes takes %d, %v", len(got), cap(got), err)
	}
}
