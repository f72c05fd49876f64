package raw_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/codectest"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestConformance(t *testing.T) {
	short, long := []byte("weft"), bytes.Repeat([]byte("0123456789abcdef"), 37)
	codectest.Run(t, raw.New(), codectest.Config{
		Values:    []any{&short, &long, new([]byte)},
		Refused:   []any{"text", 7, new(string), struct{}{}, (*[]byte)(nil), make(chan int)},
		OpenEnded: true,
		Equal: func(want, got any) bool {
			return bytes.Equal(*want.(*[]byte), *got.(*[]byte))
		},
	})
}

func TestAppendTakesASlice(t *testing.T) {
	got, err := raw.New().Append([]byte("a"), []byte("bc"))
	if err != nil || string(got) != "abc" {
		t.Fatalf("Append = %q, %v; want abc", got, err)
	}
}

func TestDecodeReusesCapacity(t *testing.T) {
	v := make([]byte, 0, 64)
	home := &v[:1][0]
	if err := raw.New().Decode([]byte("hello"), &v); err != nil {
		t.Fatal(err)
	}
	if string(v) != "hello" || &v[0] != home {
		t.Fatalf("Decode gave %q in new memory %v", v, &v[0] != home)
	}
}

func TestSizeThatChanged(t *testing.T) {
	v := []byte("hello")
	_, err := raw.New().(codec.Sizer).AppendSized(nil, &v, 4)
	if err == nil || !strings.Contains(err.Error(), "5 bytes where 4") {
		t.Fatalf("AppendSized with a wrong size: %v", err)
	}
}

func TestNoAllocations(t *testing.T) {
	c := raw.New()
	s := c.(codec.Sizer)
	v, dst, out := make([]byte, 581), make([]byte, 0, 1024), make([]byte, 0, 1024)
	allocs := testing.AllocsPerRun(100, func() {
		n, _ := s.Size(&v)
		body, _ := s.AppendSized(dst, &v, n)
		body, _ = c.Append(body[:0], &v)
		_ = c.Decode(body, &out)
	})
	if allocs != 0 {
		t.Errorf("%v allocations per encoding and decoding, want 0", allocs)
	}
}

func BenchmarkAppend(b *testing.B) {
	c, v, dst := raw.New(), make([]byte, 581), make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Append(dst, &v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	c, body, out := raw.New(), make([]byte, 581), []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Decode(body, &out); err != nil {
			b.Fatal(err)
		}
	}
}
