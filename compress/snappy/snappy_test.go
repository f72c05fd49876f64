package snappy_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	lib "github.com/klauspost/compress/snappy"

	"github.com/weftrpc/weft/compress/compresstest"
	"github.com/weftrpc/weft/compress/snappy"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestConformance(t *testing.T) {
	compresstest.Run(t, snappy.New(), compresstest.Config{}) // the format has no checksum
}

// bomb returns a block that claims to restore to claimed bytes, and restores to
// 1 byte and 64 for each of n copies, which is as much as the format can restore
// from so little.
func bomb(claimed uint64, n int) []byte {
	b := append(binary.AppendUvarint(nil, claimed), 0<<2, 'x')
	for range n {
		b = append(b, 63<<2|2, 1, 0) // 64 bytes from one before
	}
	return b
}

func TestBombs(t *testing.T) {
	const copies = 3400 // 10 KiB
	compresstest.Bomb(t, snappy.New(), bomb(1<<30, copies), 1<<20)
	compresstest.Bomb(t, snappy.New(), bomb(1<<32-1, 4), 1<<20)
	compresstest.Bomb(t, snappy.New(), bomb(1+64*copies, copies), 64<<10) // the truth

	got, err := snappy.New().Decompress(nil, bomb(1+64*copies, copies), 4<<20)
	if err != nil || len(got) != 1+64*copies || bytes.Count(got, []byte("x")) != len(got) {
		t.Errorf("the densest block there is: %d bytes, %v", len(got), err)
	}
}

func TestDecompressRefuses(t *testing.T) {
	for src, want := range map[string]string{
		"":                         "block without a length",
		"\x80":                     "block without a length",
		"\xff\xff\xff\xff\x7f":     "block without a length",
		"\x80\x80\x80\x80\x80\x01": "block without a length",
		string(bomb(1<<20, 3)):     "block of 14 bytes claims to restore 1048576",
		"\x05\x00a\x09\x00":        "corrupt", // a copy from no distance, of an extension of the format
		"\x05\x00a\x09\x02":        "corrupt", // a copy from before the start
		"\x01\x00a\x00b":           "corrupt", // more than the length
	} {
		_, err := snappy.New().Decompress(nil, []byte(src), 4<<20)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Decompress(%q): %v, want %q", src, err, want)
		}
	}
}

func FuzzDecompress(f *testing.F) {
	c := snappy.New()
	small, err := c.Compress(nil, compresstest.Sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(small)
	f.Add(bomb(1+64*5, 5))
	f.Add(bomb(1<<30, 4))
	f.Fuzz(func(t *testing.T, src []byte) {
		const limit = 1 << 16
		got, err := c.Decompress(nil, src, limit)
		if len(got) > limit {
			t.Fatalf("%d bytes", len(got))
		}
		if n, lenErr := lib.DecodedLen(src); lenErr != nil || n > limit {
			if err == nil {
				t.Fatalf("a block that claims %d bytes, %v, was restored", n, lenErr)
			}
			return
		}
		want, libErr := lib.DecodeStrict(nil, src)
		if (err == nil) != (libErr == nil) || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, %v; the library has %d, %v", len(got), err, len(want), libErr)
		}
	})
}

func BenchmarkCompress(b *testing.B) {
	c, src, dst := snappy.New(), compresstest.Sample(), make([]byte, 0, 1024)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Compress(dst, src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecompress(b *testing.B) {
	c, src, dst := snappy.New(), compresstest.Sample(), make([]byte, 0, 1024)
	small, err := c.Compress(nil, src)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(src)))
	b.ReportMetric(float64(len(small)), "compressed")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Decompress(dst, small, len(src)); err != nil {
			b.Fatal(err)
		}
	}
}
