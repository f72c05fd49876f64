package generated_test

import (
	"fmt"

	"github.com/weftrpc/weft/codec/generated"
)

func Example() {
	b := generated.AppendVarint(nil, 0x08, 1, 300) // field 1
	v, next := generated.Int[int32](b, 1)
	fmt.Printf("% x: %d, up to %d\n", b, v, next)
	_, next = generated.Int[int8](b, 1)
	fmt.Println(next)
	// Output:
	// 08 ac 02: 300, up to 3
	// -1
}
