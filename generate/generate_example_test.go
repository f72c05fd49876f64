package generate_test

import (
	"context"
	"fmt"

	"github.com/weftrpc/weft/generate"
)

func Example() {
	files, err := generate.Generate(context.Background(), generate.Config{Dir: "internal/depot", Inputs: []string{"depot.proto"}, Codec: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(files[0].Name, generate.Check(files)) // as "weft generate -check" does
	// Output: internal/depot/depot_weft.go <nil>
}
