package msgpack

import (
	"testing"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/codectest"
)

// FuzzScan compares scan with a parser of the same grammar that is as plain as
// can be, because it may recurse.
func FuzzScan(f *testing.F) {
	for _, s := range []string{"\xc0", "\x92\x01\x02", "\x81\xa1a\x90", "\xdc\x00\x01\xc0", "\xde\x00\x01\x01\x02", "\xdf\x00\x00\x00\x00",
		"\xd9\x01a", "\xda\x00\x01a", "\xdb\x00\x00\x00\x01a", "\xc4\x01a", "\xc5\x00\x01a", "\xc6\x00\x00\x00\x01a", "\xc7\x01\x05a", "\xc8\x00\x01\x05a",
		"\xc9\x00\x00\x00\x01\x05a", "\xd4\x05a", "\xd8\x050123456789abcdef", "\xca0123", "\xcb01234567", "\xcf01234567", "\xd001"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		n, ok := plain(body, 0)
		if want := ok && n == len(body); want != (scanTo(body, codec.MaxDepth) == nil) {
			t.Fatalf("scanTo(%x) = %v, but valid is %v", body, scanTo(body, codec.MaxDepth), want)
		}
	})
}

// plain returns the length of the value at the start of b.
func plain(b []byte, depth int) (n int, ok bool) {
	if len(b) == 0 {
		return 0, false
	}
	head, data, children := 1, 0, 0
	number := func(width int) int {
		head += width
		n := 0
		for i := range width {
			if 1+i < len(b) {
				n = n<<8 | int(b[1+i])
			}
		}
		return n
	}
	container := false
	switch c := b[0]; {
	case c <= 0x7f, c >= 0xe0, c == 0xc0, c == 0xc2, c == 0xc3:
	case c <= 0x8f:
		children, container = 2*int(c-0x80), true
	case c <= 0x9f:
		children, container = int(c-0x90), true
	case c <= 0xbf:
		data = int(c - 0xa0)
	default:
		fixed := map[byte]int{0xca: 4, 0xcb: 8, 0xcc: 1, 0xcd: 2, 0xce: 4, 0xcf: 8, 0xd0: 1, 0xd1: 2, 0xd2: 4, 0xd3: 8,
			0xd4: 2, 0xd5: 3, 0xd6: 5, 0xd7: 9, 0xd8: 17}
		sized := map[byte]int{0xc4: 1, 0xc5: 2, 0xc6: 4, 0xc7: 1, 0xc8: 2, 0xc9: 4, 0xd9: 1, 0xda: 2, 0xdb: 4}
		counted := map[byte]int{0xdc: 2, 0xdd: 4, 0xde: 2, 0xdf: 4}
		switch {
		case fixed[c] > 0:
			data = fixed[c]
		case sized[c] > 0:
			data = number(sized[c])
			if c >= 0xc7 && c <= 0xc9 {
				head++
			}
		case counted[c] > 0:
			children, container = number(counted[c]), true
			if c >= 0xde {
				children *= 2
			}
		default:
			return 0, false
		}
	}
	if container {
		depth++
	}
	if depth > 64 || head > len(b) || data > len(b)-head {
		return 0, false
	}
	n = head + data
	for range children {
		m, ok := plain(b[n:], depth)
		if !ok {
			return 0, false
		}
		n += m
	}
	return n, true
}

func TestScanAllocatesNothing(t *testing.T) {
	body, err := New().Append(nil, codectest.Sample())
	if err != nil {
		t.Fatal(err)
	}
	if allocs := testing.AllocsPerRun(100, func() { err = scanTo(body, codec.MaxDepth) }); allocs != 0 || err != nil {
		t.Errorf("scan: %v allocations, %v", allocs, err)
	}
}

func BenchmarkScan(b *testing.B) {
	body, err := New().Append(nil, codectest.Sample())
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if err := scanTo(body, codec.MaxDepth); err != nil {
			b.Fatal(err)
		}
	}
}
