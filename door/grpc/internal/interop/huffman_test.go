package interop

import (
	"testing"

	xhpack "golang.org/x/net/http2/hpack"

	"github.com/weftrpc/weft/door/internal/hpack"
)

// TestEveryByte decodes each byte that a value may have from its Huffman code, behind values of
// different lengths.
func TestEveryByte(t *testing.T) {
	tables := hpack.NewTables(keep{})
	for b := range 256 {
		if b < ' ' && b != '\t' || b == 0x7f {
			continue // HTTP/2 forbids them, or is about to
		}
		for _, before := range []string{"", "0", "00", "000", "a", "aa", "aaa", "aaaa"} {
			value := before + string([]byte{byte(b)}) + "x"
			code := xhpack.AppendHuffmanString(nil, value)
			block := append([]byte{0x40, 1, 'k', 0x80 | byte(len(code))}, code...)
			got := ""
			err := hpack.NewDecoder(tables, keep{}).Decode(block, func(f *hpack.Field) { got = f.Value })
			if err != nil || got != value {
				t.Errorf("%q came back as %q, %v", value, got, err)
			}
		}
	}
}
