package compresstest_test

import (
	"fmt"

	"github.com/weftrpc/weft/compress/compresstest"
)

func ExampleSample() {
	sample := compresstest.Sample()
	fmt.Println(len(sample))
	fmt.Printf("%s\n", sample[:26])
	// Output:
	// 581
	// {"field0":"许多往事在
}
