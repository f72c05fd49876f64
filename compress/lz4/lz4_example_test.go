package lz4_test

import (
	"bytes"
	"fmt"

	"github.com/weftrpc/weft/compress/lz4"
)

func Example() {
	c := lz4.New()
	text := bytes.Repeat([]byte("weft and warp "), 100)
	small, err := c.Compress(nil, text)
	if err != nil {
		fmt.Println(err)
		return
	}
	const limit = 4 << 20 // no more than this, whatever small claims
	back, err := c.Decompress(nil, small, limit)
	fmt.Println(len(text), len(small) < 100, bytes.Equal(back, text), err)
	// Output: 1400 true true <nil>
}
