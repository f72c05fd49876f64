package zstd_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	lib "github.com/klauspost/compress/zstd"

	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/compresstest"
	"github.com/weftrpc/weft/compress/zstd"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestConformance(t *testing.T) {
	compresstest.Run(t, zstd.New(), compresstest.Config{Checksum: true})
}

func TestLevels(t *testing.T) {
	src := bytes.Repeat(compresstest.Sample(), 100)
	for level := zstd.BestSpeed; level <= zstd.BestCompression; level += 3 {
		c, err := zstd.NewLevel(level)
		if err != nil {
			t.Fatal(err)
		}
		small, err := c.Compress(nil, src)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := zstd.New().Decompress(nil, small, len(src)); err != nil || !bytes.Equal(got, src) {
			t.Errorf("level %d: %v", level, err)
		}
	}
	for _, level := range []int{-1, 0, 23} {
		if _, err := zstd.NewLevel(level); err == nil || !strings.Contains(err.Error(), "want 1 to 22") {
			t.Errorf("NewLevel(%d): %v", level, err)
		}
	}
}

const magic = "\x28\xb5\x2f\xfd"

// header returns that of a frame with the size of its content in eight bytes.
func header(content uint64) []byte {
	return binary.LittleEndian.AppendUint64([]byte(magic+"\xe0"), content)
}

// repeats returns n blocks that each restore 128 KiB of one byte out of four.
func repeats(n int) []byte {
	b := bytes.Repeat([]byte{0x02, 0x00, 0x10, 'x'}, n)
	b[len(b)-4] |= 1 // the last one
	return b
}

func TestBombs(t *testing.T) {
	c := zstd.New()
	compresstest.Bomb(t, c, append(header(1<<30), repeats(1<<13)...), 1<<20) // 32 KiB to 1 GiB, and says so
	compresstest.Bomb(t, c, append(header(1<<30), repeats(2500)...), 1<<20)  // 10 KiB that say so
	compresstest.Bomb(t, c, append(header(1<<63), repeats(1)...), 1<<20)
	compresstest.Bomb(t, c, []byte(magic+"\x00\x38"+string(repeats(2500))), 1<<20) // 10 KiB that do not say
}

func TestDecompressRefuses(t *testing.T) {
	window := func(b byte) string { return magic + "\x00" + string(b) }
	for src, want := range map[string]string{
		"":                                              "cut short",
		"\x28\xb5\x2f\xfc\x00\x00":                      "frame begins with fc2fb528",
		magic:                                           "cut short",
		magic + "\x08\x00":                              "reserved flag",
		magic + "\x00":                                  "cut short",
		magic + "\xe0\x00":                              "cut short",
		magic + "\x21\x07\x00\x01\x00\x00":              "needs a dictionary",
		window(0x71) + "\x01\x00\x00":                   "window of 18874368 bytes",
		window(0xff) + "\x01\x00\x00":                   "window of",
		window(0x00) + "\x01\x20":                       "cut short",
		window(0x00) + "\x07\x00\x00":                   "reserved type",
		window(0x00) + "\x09\x20\x00":                   "block of 1025 bytes, the frame allows 1024",
		window(0x00) + "\x11\x00\x00a":                  "cut short",
		window(0x00) + "\x01\x00\x00x":                  "1 bytes behind the frame",
		magic + "\x20\x05\x09\x00\x00a":                 "claims to restore 5 bytes, its blocks can restore 1 to 1",
		string(header(1<<20)) + "\x15\x00\x00\x00\x00":  "claims to restore 1048576 bytes, its blocks can restore 0 to 131072",
		magic + "\x24\x01\x09\x00\x00a\x00\x00":         "cut short",
		magic + "\x24\x01\x09\x00\x00a\x00\x00\x00\x00": "CRC",
		magic + "\x20\x05\x15\x00\x00\x00\x00":          "compress/zstd: ",
		window(0x58) + "\x15\x00\x00\xff\xff":           "compress/zstd: ",
	} {
		_, err := zstd.New().Decompress(nil, []byte(src), 4<<20)
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, compress.ErrTooLarge) {
			t.Errorf("Decompress(%x): %v, want %q", src, err, want)
		}
	}
	if _, err := zstd.New().Decompress(nil, []byte(window(0x68)+"\x01\x00\x00"), 0); err != nil {
		t.Errorf("an empty frame with a window of 8 MiB: %v", err)
	}
}

// TestStreamedFrames has frames that do not say how large their content is, as
// they come from encoders that see only the stream.
func TestStreamedFrames(t *testing.T) {
	c := zstd.New()
	text := bytes.Repeat(compresstest.Sample(), 3000)
	for _, n := range []int{0, 1, 581, 5000, 100_000, len(text)} {
		for _, checksum := range []bool{false, true} {
			t.Run(fmt.Sprint(n, checksum), func(t *testing.T) {
				var b bytes.Buffer
				w, err := lib.NewWriter(&b, lib.WithEncoderConcurrency(1), lib.WithEncoderCRC(checksum), lib.WithZeroFrames(true))
				if err != nil {
					t.Fatal(err)
				}
				for chunk := range slices.Chunk(text[:n], 1000) {
					if _, err := w.Write(chunk); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				for _, limit := range []int{n, n + 1, 100 << 20} {
					if got, err := c.Decompress([]byte("head"), b.Bytes(), limit); err != nil || string(got) != "head"+string(text[:n]) {
						t.Errorf("limit %d: %d bytes, %v", limit, len(got), err)
					}
				}
				for _, limit := range []int{n - 1, n / 2, 0} {
					if _, err := c.Decompress(nil, b.Bytes(), limit); limit >= 0 && limit < n && !errors.Is(err, compress.ErrTooLarge) {
						t.Errorf("limit %d: %v, want ErrTooLarge", limit, err)
					}
				}
				for i := range min(b.Len(), 3000) {
					if _, err := c.Decompress(nil, b.Bytes()[:i], len(text)); err == nil || errors.Is(err, compress.ErrTooLarge) {
						t.Fatalf("cut at %d: %v", i, err)
					}
				}
			})
		}
	}
}

// TestBrokenIsNotTooLarge has a frame of unknown size that breaks off where the
// limit is, which a decoder short of room could take for too much.
func TestBrokenIsNotTooLarge(t *testing.T) {
	src := []byte(magic + "\x00\x38" + string(repeats(8)))
	src[len(src)-4] ^= 1 // not the last one
	src = append(src, "\x15\x00\x00\xff\xff"...)
	for _, limit := range []int{1 << 20, 1<<20 + 1, 2 << 20} {
		if _, err := zstd.New().Decompress(nil, src, limit); err == nil || errors.Is(err, compress.ErrTooLarge) {
			t.Errorf("limit %d: %v, want an error about the block", limit, err)
		}
	}
	if _, err := zstd.New().Decompress(nil, src, 1<<20-1); !errors.Is(err, compress.ErrTooLarge) {
		t.Errorf("limit below what was restored: %v", err)
	}
}

func FuzzDecompress(f *testing.F) {
	c := zstd.New()
	for _, src := range [][]byte{nil, compresstest.Sample(), make([]byte, 300_000)} {
		small, err := c.Compress(nil, src)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(small)
	}
	f.Add([]byte(magic + "\x00\x38" + string(repeats(3))))
	f.Add(append(header(1<<18), repeats(2)...))
	// Without a bound on the window, which the library has for streams alone.
	dec, err := lib.NewReader(nil, lib.WithDecoderConcurrency(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(dec.Close)
	f.Fuzz(func(t *testing.T, src []byte) {
		const limit = 1 << 18
		got, err := c.Decompress(nil, src, limit)
		if len(got) > limit {
			t.Fatalf("%d bytes", len(got))
		}
		if err != nil {
			return // the library also reads several frames, skippable ones and larger windows
		}
		if want, libErr := dec.DecodeAll(src, nil); libErr != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes; the library has %d, %v", len(got), len(want), libErr)
		}
	})
}

func BenchmarkCompress(b *testing.B) {
	c, src, dst := zstd.New(), compresstest.Sample(), make([]byte, 0, 1024)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Compress(dst, src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecompress(b *testing.B) {
	c, src, dst := zstd.New(), compresstest.Sample(), make([]byte, 0, 1024)
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
