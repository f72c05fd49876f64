package protobuf_test

import (
	"fmt"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftrpc/weft/codec/protobuf"
)

func Example() {
	c := protobuf.New()
	body, err := c.Append(nil, wrapperspb.String("weft"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", body)

	var got wrapperspb.StringValue
	fmt.Println(c.Decode(body, &got), got.Value)
	// Output:
	// "\n\x04weft"
	// <nil> weft
}

func ExampleIs() {
	fmt.Println(protobuf.Is(wrapperspb.Int64(1)), protobuf.Is(new(int64)))
	// Output: true false
}

// A plain struct with numbers is a message: no .proto file, no generated code.
func Example_numbered() {
	type Point struct {
		X int32 `weft:"1"`
		Y int32 `weft:"2"`
	}
	c := protobuf.New()
	body, err := c.Append(nil, &Point{X: 7, Y: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	var p Point
	fmt.Printf("%q ", body)
	fmt.Println(c.Decode(body, &p), p)
	// Output: "\b\a\x10\b" <nil> {7 8}
}
