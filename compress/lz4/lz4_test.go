package lz4_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	lib "github.com/pierrec/lz4/v4"

	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/compresstest"
	"github.com/weftrpc/weft/compress/lz4"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestConformance(t *testing.T) {
	compresstest.Run(t, lz4.New(), compresstest.Config{Checksum: true})
}

// written returns src as the library writes it.
func written(t testing.TB, src []byte, options ...lib.Option) []byte {
	t.Helper()
	var b bytes.Buffer
	w := lib.NewWriter(&b)
	if err := w.Apply(append(options, lib.ConcurrencyOption(1))...); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(src); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestLibraryAgrees(t *testing.T) {
	c := lz4.New()
	text := bytes.Repeat(compresstest.Sample(), 3000)
	for _, n := range []int{0, 1, 581, 64 << 10, 64<<10 + 1, 300_000, len(text)} {
		src := text[:n]
		small, err := c.Compress(nil, src)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(lib.NewReader(bytes.NewReader(small))); err != nil || !bytes.Equal(got, src) {
			t.Errorf("the library reads %d of %d bytes, %v", len(got), n, err)
		}
		for i, options := range [][]lib.Option{
			{lib.BlockSizeOption(lib.Block64Kb)},
			{lib.BlockSizeOption(lib.Block4Mb), lib.BlockChecksumOption(true), lib.ChecksumOption(false)},
			{lib.BlockSizeOption(lib.Block256Kb), lib.SizeOption(uint64(n)), lib.CompressionLevelOption(lib.Level9)},
		} {
			t.Run(fmt.Sprint(n, i), func(t *testing.T) {
				small := written(t, src, options...)
				for _, limit := range []int{n, n + 1, 100 << 20} {
					if got, err := c.Decompress([]byte("head"), small, limit); err != nil || string(got) != "head"+string(src) {
						t.Errorf("limit %d: %d bytes, %v", limit, len(got), err)
					}
				}
				if n > 0 {
					if _, err := c.Decompress(nil, small, n-1); !errors.Is(err, compress.ErrTooLarge) {
						t.Errorf("limit %d: %v, want ErrTooLarge", n-1, err)
					}
				}
			})
		}
	}
}

// dependent is a frame of two blocks, of which the second refers to the first,
// without checksum or size.
func dependent() []byte {
	b := []byte("\x04\x22\x4d\x18\x40\x40\xc0")
	b = append(b, "\x09\x00\x00\x00\x80abcdefgh"...)
	b = append(b, "\x09\x00\x00\x00\x04\x08\x00\x50vwxyz"...)
	return append(b, 0, 0, 0, 0)
}

func TestDependentBlocks(t *testing.T) {
	got, err := lz4.New().Decompress([]byte("not part of it"), dependent(), 100)
	if err != nil || string(got) != "not part of itabcdefghabcdefghvwxyz" {
		t.Errorf("%q, %v", got, err)
	}
	alone := bytes.Replace(dependent(), []byte("\x09\x00\x00\x00\x80abcdefgh"), nil, 1)
	if got, err := lz4.New().Decompress([]byte("not part of it"), alone, 100); err == nil {
		t.Errorf("a block that refers to what is not there restored %q", got)
	}
}

// bomb returns a frame with one block of 4 MiB of one byte, which is as much as
// the format can restore from so little, and the size that is given as content.
func bomb(content uint64) []byte {
	b := []byte("\x68\x70")
	b = binary.LittleEndian.AppendUint64(b, content)
	b = append([]byte("\x04\x22\x4d\x18"), append(b, headerSum(b))...)
	block := []byte("\x1fx\x01\x00")
	block = append(append(block, bytes.Repeat([]byte{255}, 16447)...), 100, 0x50)
	block = append(block, "xxxxx"...)
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(block))), block...)
	return append(b, 0, 0, 0, 0)
}

// headerSum finds the checksum of a header by trying.
func headerSum(b []byte) byte {
	for sum := range 256 {
		frame := append(append([]byte("\x04\x22\x4d\x18"), b...), byte(sum))
		if _, err := lz4.New().Decompress(nil, frame, 0); err == nil || !strings.Contains(err.Error(), "checksum of the header") {
			return byte(sum)
		}
	}
	return 0
}

func TestBombs(t *testing.T) {
	c := lz4.New()
	compresstest.Bomb(t, c, bomb(1<<30), 1<<20)
	compresstest.Bomb(t, c, bomb(1<<63), 1<<20)
	compresstest.Bomb(t, c, written(t, make([]byte, 16<<20)), 64<<10)
	if _, err := c.Decompress(nil, bomb(4<<20-1), 4<<20); err == nil || !strings.Contains(err.Error(), "its header says 4194303") {
		t.Errorf("a frame that restores more than it says: %v", err)
	}
}

func TestDecompressRefuses(t *testing.T) {
	const head = "\x04\x22\x4d\x18\x60\x40\x82" // independent blocks of at most 64 KiB
	for src, want := range map[string]string{
		"":                                 "cut short",
		"\x02\x21\x4c\x18\x01\x00\x00\x00": "frame begins with 184c2102",
		"\x04\x22\x4d\x18\x20\x40\x82":     "version 0",
		"\x04\x22\x4d\x18\x62\x40\x82":     "reserved bits",
		"\x04\x22\x4d\x18\x60\x30\x82":     "reserved bits",
		"\x04\x22\x4d\x18\x60\xc0\x82":     "reserved bits",
		"\x04\x22\x4d\x18\x61\x40\x82":     "needs a dictionary",
		"\x04\x22\x4d\x18\x68\x40\x82":     "cut short",
		"\x04\x22\x4d\x18\x60\x40\x83":     "checksum of the header",
		head:                               "cut short",
		head + "\x00\x00\x00":              "cut short",
		head + "\x00\x00\x00\x00x":         "1 bytes behind the frame",
		head + "\x01\x00\x01\x00":          "block of 65537 bytes, the frame allows 65536",
		head + "\x02\x00\x00\x80a":         "cut short",
		head + "\x01\x00\x00\x00\xf0":      "corrupt block", // no literals there
		head + "\x04\x00\x00\x00\x10a\x00\x00\x00\x00\x00\x00":          "corrupt block", // a copy from no distance, at the end
		head + "\x0b\x00\x00\x00\x1ba\x00\x00\x50abcde\x00\x00\x00\x00": "corrupt",
	} {
		_, err := lz4.New().Decompress(nil, []byte(src), 4<<20)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Decompress(%x): %v, want %q", src, err, want)
		}
	}
	if _, err := lz4.New().Decompress(nil, []byte(head+"\x00\x00\x00\x00"), 0); err != nil {
		t.Errorf("an empty frame: %v", err)
	}
}

func FuzzDecompress(f *testing.F) {
	c := lz4.New()
	for _, src := range [][]byte{nil, compresstest.Sample(), make([]byte, 300_000)} {
		small, err := c.Compress(nil, src)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(small)
		f.Add(written(f, src, lib.BlockChecksumOption(true), lib.ChecksumOption(false)))
	}
	f.Add(dependent())
	f.Fuzz(func(t *testing.T, src []byte) {
		const limit = 1 << 18
		got, err := c.Decompress(nil, src, limit)
		if len(got) > limit {
			t.Fatalf("%d bytes", len(got))
		}
		if err != nil {
			return // the library also reads legacy and skippable frames
		}
		if want, libErr := io.ReadAll(lib.NewReader(bytes.NewReader(src))); libErr != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes; the library has %d, %v", len(got), len(want), libErr)
		}
	})
}

func BenchmarkCompress(b *testing.B) {
	c, src, dst := lz4.New(), compresstest.Sample(), make([]byte, 0, 1024)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Compress(dst, src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecompress(b *testing.B) {
	c, src, dst := lz4.New(), compresstest.Sample(), make([]byte, 0, 1024)
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
