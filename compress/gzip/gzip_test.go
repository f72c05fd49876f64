package gzip_test

import (
	"bytes"
	stdgzip "compress/gzip"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/weftrpc/weft/compress/compresstest"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestConformance(t *testing.T) {
	compresstest.Run(t, gzip.New(), compresstest.Config{Checksum: true})
}

func TestLevels(t *testing.T) {
	src := bytes.Repeat(compresstest.Sample(), 100)
	for level := gzip.BestSpeed; level <= gzip.BestCompression; level++ {
		c, err := gzip.NewLevel(level)
		if err != nil {
			t.Fatal(err)
		}
		small, err := c.Compress(nil, src)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := gzip.New().Decompress(nil, small, len(src)); err != nil || !bytes.Equal(got, src) {
			t.Errorf("level %d: %v", level, err)
		}
	}
	for _, level := range []int{-3, 0, 10} {
		if _, err := gzip.NewLevel(level); err == nil || !strings.Contains(err.Error(), "want 1 to 9") {
			t.Errorf("NewLevel(%d): %v", level, err)
		}
	}
}

// std returns src as the standard library compresses it.
func std(t testing.TB, src []byte, h stdgzip.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := stdgzip.NewWriter(&b)
	w.Header = h
	if _, err := w.Write(src); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestStandardLibraryAgrees(t *testing.T) {
	src := compresstest.Sample()
	for _, h := range []stdgzip.Header{{}, {Name: "name", Comment: "comment", Extra: make([]byte, 60_000)}} {
		if got, err := gzip.New().Decompress(nil, std(t, src, h), len(src)); err != nil || !bytes.Equal(got, src) {
			t.Errorf("Decompress of what the standard library wrote: %v", err)
		}
	}
	two := slices.Concat(std(t, src[:100], stdgzip.Header{}), std(t, src[100:], stdgzip.Header{}))
	if got, err := gzip.New().Decompress(nil, two, len(src)); err != nil || !bytes.Equal(got, src) {
		t.Errorf("Decompress of two members: %v", err)
	}

	small, err := gzip.New().Compress(nil, src)
	if err != nil {
		t.Fatal(err)
	}
	r, err := stdgzip.NewReader(bytes.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, src) {
		t.Errorf("the standard library reads %d bytes, %v", len(got), err)
	}
}

// TestBomb has 10 KiB that restore to 10 MiB.
func TestBomb(t *testing.T) {
	bomb := std(t, make([]byte, 10<<20), stdgzip.Header{})
	if len(bomb) > 11<<10 {
		t.Fatalf("the bomb has %d bytes", len(bomb))
	}
	compresstest.Bomb(t, gzip.New(), bomb, 64<<10)
}

func FuzzDecompress(f *testing.F) {
	f.Add(std(f, compresstest.Sample(), stdgzip.Header{}))
	f.Add(std(f, nil, stdgzip.Header{Name: "x", Extra: []byte("abc")}))
	f.Add([]byte("\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\xff\xff\xff"))
	c := gzip.New()
	f.Fuzz(func(t *testing.T, src []byte) {
		got, err := c.Decompress(nil, src, 1<<16)
		if len(got) > 1<<16 {
			t.Fatalf("%d bytes", len(got))
		}
		if len(src) > 3 && src[3]>>5 != 0 {
			// RFC 1952 wants reserved flags refused; the standard library ignores them.
			if err == nil {
				t.Fatal("a member with reserved flags was accepted")
			}
			return
		}
		r, stdErr := stdgzip.NewReader(bytes.NewReader(src))
		var want []byte
		if stdErr == nil {
			want, stdErr = io.ReadAll(io.LimitReader(r, 1<<16+1))
		}
		if len(want) <= 1<<16 && ((err == nil) != (stdErr == nil) || err == nil && !bytes.Equal(got, want)) {
			t.Fatalf("%d bytes, %v; the standard library has %d, %v", len(got), err, len(want), stdErr)
		}
	})
}

func BenchmarkCompress(b *testing.B) {
	c, src, dst := gzip.New(), compresstest.Sample(), make([]byte, 0, 1024)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Compress(dst, src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecompress(b *testing.B) {
	c, src, dst := gzip.New(), compresstest.Sample(), make([]byte, 0, 1024)
	small, err := c.Compress(nil, src)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Decompress(dst, small, len(src)); err != nil {
			b.Fatal(err)
		}
	}
}
