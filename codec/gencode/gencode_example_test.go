package gencode_test

import (
	"encoding/binary"
	"fmt"

	"github.com/weftrpc/weft/codec/gencode"
)

// Args has the methods that gencode generates for two numbers.
type Args struct{ A, B uint32 }

func (a *Args) Size() uint64 { return 8 }

func (a *Args) Marshal(buf []byte) ([]byte, error) {
	buf = binary.LittleEndian.AppendUint32(buf[:0], a.A)
	return binary.LittleEndian.AppendUint32(buf, a.B), nil
}

func (a *Args) Unmarshal(buf []byte) (uint64, error) {
	a.A, a.B = binary.LittleEndian.Uint32(buf), binary.LittleEndian.Uint32(buf[4:])
	return 8, nil
}

func Example() {
	c := gencode.New()
	body, err := c.Append(nil, &Args{A: 7, B: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	var args Args
	fmt.Println(c.Decode(body, &args), args.A*args.B)
	fmt.Println(c.Decode(body[:5], &args))
	// Output:
	// <nil> 56
	// codec/gencode: decoding into a *gencode_test.Args: runtime error: index out of range [3] with length 1
}
