package msgpack_test

import (
	"testing"

	"github.com/weftrpc/weft/codec/msgpack"
)

// TestManyArrays carries a list of structs with arrays, which are mostly empty: they take much memory for their bytes, as they are.
func TestManyArrays(t *testing.T) {
	type element struct{ Names [100]string }
	c := msgpack.New()
	in := make([]element, 30_000)
	in[7].Names[3] = "name"
	b, err := c.Append(nil, &in)
	if err != nil {
		t.Fatal(err)
	}
	var out []element
	if err := c.Decode(b, &out); err != nil {
		t.Fatalf("%d bytes: %v", len(b), err)
	}
	if len(out) != len(in) || out[7] != in[7] {
		t.Error("another value came")
	}
}
