package shop_test

import (
	"fmt"

	"buf.build/go/protovalidate"

	"github.com/weftrpc/weft/plugin/protovalidate/shop"
)

// The rules of shop.proto hold for the Go type.
func ExampleOrder() {
	order := &shop.Order{Email: "ada@example.org", Items: []*shop.Item{{Sku: "AB1234"}}}
	fmt.Println(protovalidate.Validate(order))
	order.Items[0].Count = 1
	fmt.Println(protovalidate.Validate(order))
	// Output:
	// validation error: items[0].count: must be greater than or equal to 1 and less than or equal to 1000
	// <nil>
}
