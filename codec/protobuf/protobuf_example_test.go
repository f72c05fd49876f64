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
