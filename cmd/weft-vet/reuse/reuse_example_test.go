package reuse_test

import (
	"fmt"

	"github.com/weftrpc/weft/cmd/weft-vet/reuse"
)

func Example() {
	fmt.Println(reuse.New().Name) // for a driver of your own, as of golang.org/x/tools/go/analysis/multichecker
	// Output: weftreuse
}
