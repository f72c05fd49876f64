package cbor_test

import (
	"fmt"

	"github.com/weftrpc/weft/codec/cbor"
)

type Args struct {
	A int `cbor:"a"`
	B int `cbor:"b"`
}

func Example() {
	c := cbor.New()
	body, err := c.Append(nil, &Args{A: 7, B: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%x\n", body) // a map of two entries

	var args Args
	fmt.Println(c.Decode(body, &args), args.A*args.B)
	// Output:
	// a2616107616208
	// <nil> 56
}
