package codectest_test

import (
	"fmt"

	"github.com/weftrpc/weft/codec/codectest"
)

func ExampleMutations() {
	n := 0
	for body := range codectest.Mutations([]byte{0x41, 0x42}) {
		n++
		if n <= 4 {
			fmt.Printf("%x\n", body)
		}
	}
	fmt.Println(n, "bodies")
	// Output:
	//
	// 41
	// 4042
	// 4342
	// 24 bodies
}
