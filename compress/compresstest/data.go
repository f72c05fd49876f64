package compresstest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// Sample returns a new body of 581 bytes, the size that published RPC
// comparisons use, in which texts, names and numbers come again as they do in
// the records of services.
func Sample() []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < 581; i++ {
		fmt.Fprintf(&b, `{"field%d":"许多往事在眼前一幕一幕","count":%d},`, i, 100000+i*i)
	}
	return b.Bytes()[:581]
}

// data returns what is compressed in the tests, by name.
func data() map[string][]byte {
	random := rand.NewChaCha8([32]byte{1})
	noise := func(n int) []byte {
		b := make([]byte, n)
		_, _ = random.Read(b) // never fails
		return b
	}
	all := map[string][]byte{
		"nothing":         {},
		"one byte":        {0},
		"sample":          Sample(),
		"long text":       bytes.Repeat(Sample(), 500),
		"noise and text":  append(noise(70_000), bytes.Repeat(Sample(), 10)...),
		"text in between": append(append(bytes.Repeat([]byte("abcdefgh"), 20_000), noise(140_000)...), make([]byte, 300_000)...),
	}
	for _, n := range []int{2, 15, 16, 17, 64, 255, 256, 1023, 4096, 65_535, 65_536, 65_537, 200_000} {
		all[fmt.Sprintf("%d zeros", n)] = make([]byte, n)
		all[fmt.Sprintf("%d of noise", n)] = noise(n)
	}
	return all
}
