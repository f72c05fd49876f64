package gob_test

import (
	"fmt"

	"github.com/weftrpc/weft/codec/gob"
)

type Args struct{ A, B int }

func Example() {
	c := gob.New()
	body, err := c.Append(nil, &Args{A: 7, B: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	var args Args
	fmt.Println(c.Decode(body, &args), args.A*args.B)
	// Output: <nil> 56
}
