package stub_test

import (
	"fmt"
	"iter"

	"github.com/weftrpc/weft/stub"
)

// printer takes messages as the sending end of a stream does.
type printer struct{}

func (printer) Send(m *string) error { fmt.Println(*m); return nil }

func Example() {
	var words iter.Seq2[*string, error] = func(yield func(*string, error) bool) {
		for _, w := range []string{"warp", "weft"} {
			if !yield(&w, nil) {
				return
			}
		}
	}
	fmt.Println(stub.SendAll(printer{}, words))
	// Output:
	// warp
	// weft
	// <nil>
}
