package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/wire"
)

// block makes a metadata block of keys and values in turn.
func block(kv ...string) []byte {
	var inside []byte
	for i := 0; i < len(kv); i += 2 {
		inside = wire.AppendPair(inside, kv[i], kv[i+1])
	}
	return append(binary.LittleEndian.AppendUint16(nil, uint16(len(inside))), inside...)
}

func TestMetaRoundTrip(t *testing.T) {
	for _, kv := range [][]string{
		nil,
		{"k", "v"},
		{"k", ""},
		{"a", "1", "A", "2", "a", "3"},
		{strings.Repeat("k", wire.MaxMetaKey), strings.Repeat("v", 60000)},
		{"\x00\xff", "\x00\xff"},
	} {
		inside, rest, err := wire.SplitMeta(append(block(kv...), "body"...), wire.MaxMetaBlock)
		if err != nil || string(rest) != "body" {
			t.Errorf("%.40q: %v, rest %q", kv, err, rest)
			continue
		}
		var got []string
		for s := string(inside); s != ""; {
			var k, v string
			k, v, s = wire.NextPair(s)
			got = append(got, k, v)
		}
		if strings.Join(got, "|") != strings.Join(kv, "|") {
			t.Errorf("%.40q came back as %.40q", kv, got)
		}
	}
}

func TestFirstPair(t *testing.T) {
	if k, v, rest := wire.FirstPair(""); k != "" || v != "" || rest != "" {
		t.Errorf("an empty block has the pair %q, %q, and the rest %q", k, v, rest)
	}
	two := string(block("a", "1", "b", "2")[2:])
	if k, v, rest := wire.FirstPair(two); k != "a" || v != "1" || rest != string(block("b", "2")[2:]) {
		t.Errorf("the first pair is %q, %q, the rest %q", k, v, rest)
	}
}

func TestMetaTruncated(t *testing.T) {
	b := block("key", "value", "k", "")
	for n := range b {
		if _, _, err := wire.SplitMeta(b[:n:n], wire.MaxMetaBlock); err == nil {
			t.Errorf("cut to %d of %d bytes it was accepted", n, len(b))
		}
		if n < 2 {
			continue
		}
		// The same with a length that fits: now the pairs are cut.
		cut := append(binary.LittleEndian.AppendUint16(nil, uint16(n-2)), b[2:n]...)
		_, _, err := wire.SplitMeta(cut, wire.MaxMetaBlock)
		if border := n == 2 || n == len(block("key", "value")); (err == nil) != border {
			t.Errorf("pairs cut to %d bytes: %v", n-2, err)
		}
	}
}

func TestMetaLimits(t *testing.T) {
	most := make([]string, 2*wire.MaxMetaPairs)
	for i := range most {
		most[i] = "k"
	}
	for _, c := range []struct {
		what  string
		b     []byte
		limit int
		want  error // nil, ErrTooLarge, or any other
	}{
		{"at the limit", block("k", "vvvv"), 8, nil},
		{"above the limit", block("k", "vvvvv"), 8, wire.ErrTooLarge},
		{"above the limit, and not there", []byte{9, 0}, 8, wire.ErrTooLarge},
		{"most pairs", block(most...), wire.MaxMetaBlock, nil},
		{"a pair too many", block(append(most, "k", "k")...), wire.MaxMetaBlock, wire.ErrTooLarge},
		{"no limit left, no pairs", block(), 0, nil},
		{"empty key", []byte{3, 0, 0, 0, 0}, 8, errors.ErrUnsupported},
	} {
		_, _, err := wire.SplitMeta(c.b, c.limit)
		if (err == nil) != (c.want == nil) || errors.Is(err, wire.ErrTooLarge) != (c.want == wire.ErrTooLarge) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

func TestMetaAllocates(t *testing.T) {
	b := append(block("authorization", "bearer t0ken", "k", "v"), "body"...)
	if n := testing.AllocsPerRun(100, func() {
		if _, _, err := wire.SplitMeta(b, 1<<10); err != nil {
			panic(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzSplitMeta(f *testing.F) {
	f.Add(append(block("k", "v", "K", ""), "body"...), 100)
	f.Add([]byte{0xff, 0xff}, 1<<16)
	f.Add([]byte{3, 0, 255, 0, 0}, 100)
	f.Add([]byte{4, 0, 1, 'k', 255, 255, 0}, 100)
	f.Fuzz(func(t *testing.T, b []byte, limit int) {
		inside, rest, err := wire.SplitMeta(b, limit)
		if err != nil {
			return
		}
		if len(inside) > limit || len(inside)+len(rest)+2 != len(b) {
			t.Fatalf("%d and %d bytes of %d, limit %d", len(inside), len(rest), len(b), limit)
		}
		var back []byte
		pairs := 0
		for s := string(inside); s != ""; pairs++ {
			var k, v string
			k, v, s = wire.NextPair(s)
			back = wire.AppendPair(back, k, v)
		}
		if !bytes.Equal(back, inside) || pairs > wire.MaxMetaPairs {
			t.Fatalf("%d pairs: % x became % x", pairs, inside, back)
		}
	})
}

func BenchmarkSplitMeta(b *testing.B) {
	p := append(block("authorization", "bearer t0ken", "traceparent", strings.Repeat("0", 55)), "body"...)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := wire.SplitMeta(p, 16<<10); err != nil {
			b.Fatal(err)
		}
	}
}
