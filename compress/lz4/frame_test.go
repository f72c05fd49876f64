package lz4

import (
	"bytes"
	"testing"

	"github.com/pierrec/lz4/v4"

	"github.com/weftrpc/weft/compress/compresstest"
)

func TestXXH32(t *testing.T) {
	for in, want := range map[string]uint32{
		"":    0x02CC5D05,
		"a":   0x550D7456,
		"abc": 0x32D153FF,
		"Nobody inspects the spammish repetition": 0xE2293B2F,
	} {
		if got := xxh32([]byte(in)); got != want {
			t.Errorf("xxh32(%q) = %08x, want %08x", in, got, want)
		}
	}
}

// FuzzRestoredSize compares what a block says of its size with what it restores.
func FuzzRestoredSize(f *testing.F) {
	for _, src := range [][]byte{compresstest.Sample(), make([]byte, 1000), bytes.Repeat([]byte("abc"), 300)} {
		room := make([]byte, lz4.CompressBlockBound(len(src)))
		n, err := lz4.CompressBlock(src, room, nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(room[:n])
	}
	f.Add([]byte("\x00"))
	f.Add([]byte("\xf0\xff"))
	f.Add([]byte("\x1fa\x01\x00\xff\xff\xff\x00\x00"))
	f.Fuzz(func(t *testing.T, block []byte) {
		size, err := restoredSize(block)
		if size > 255*len(block)+19 {
			t.Fatalf("%d bytes restore %d", len(block), size)
		}
		room := make([]byte, 256*len(block)+64)
		n, libErr := lz4.UncompressBlock(block, room)
		// The library also takes blocks that end with a copy, which the format
		// does not allow.
		if err == nil && libErr == nil && n != size {
			t.Fatalf("the block says %d, it restores %d", size, n)
		}
	})
}
