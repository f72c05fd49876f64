package json_test

import (
	"fmt"

	"github.com/weftrpc/weft/codec/json"
)

type Args struct {
	A int `json:"a"`
	B int `json:"b"`
}

func Example() {
	c := json.New()
	body, err := c.Append(nil, &Args{A: 7, B: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", body)

	var args Args
	fmt.Println(c.Decode(body, &args), args.A*args.B)
	// Output:
	// {"a":7,"b":8}
	// <nil> 56
}
