package msgpack_test

import (
	"fmt"

	"github.com/weftrpc/weft/codec/msgpack"
)

type Args struct {
	A int `msgpack:"a"`
	B int `msgpack:"b"`
}

func Example() {
	c := msgpack.New()
	body, err := c.Append(nil, &Args{A: 7, B: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", body) // a map of two entries

	var args Args
	fmt.Println(c.Decode(body, &args), args.A*args.B)
	// Output:
	// "\x82\xa1a\a\xa1b\b"
	// <nil> 56
}
