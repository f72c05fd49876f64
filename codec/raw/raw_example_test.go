package raw_test

import (
	"fmt"

	"github.com/weftrpc/weft/codec/raw"
)

func Example() {
	c := raw.New()
	page := []byte("<h1>weft</h1>")
	body, err := c.Append(nil, &page)
	if err != nil {
		fmt.Println(err)
		return
	}
	var got []byte // its capacity is reused from call to call
	if err := c.Decode(body, &got); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", got)
	// Output: <h1>weft</h1>
}
