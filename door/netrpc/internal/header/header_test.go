package header_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/weftrpc/weft/codec/gob"
	"github.com/weftrpc/weft/door/netrpc/internal/header"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestKnown reads headers of every length as the codec does.
func TestKnown(t *testing.T) {
	c := gob.New()
	encode := func(v any) []byte {
		b, err := c.Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var k header.Known
	if _, _, ok := k.Parse(encode(&header.Request{ServiceMethod: "A.B", Seq: 1})); ok {
		t.Error("a header was read before its types were known")
	}
	k.Learn(encode(&header.Response{ServiceMethod: "A.B", Seq: 1}))
	if _, _, ok := k.Parse(encode(&header.Response{ServiceMethod: "A.B", Seq: 1})); ok {
		t.Error("a response was read as a request")
	}
	k.Learn(encode(&header.Request{}))
	for _, name := range []string{"", "A.B", strings.Repeat("x", 127), strings.Repeat("x", 128), strings.Repeat("x", 3000)} {
		for _, seq := range []uint64{0, 1, 127, 128, 255, 256, 1 << 40, math.MaxUint64} {
			b := encode(&header.Request{ServiceMethod: name, Seq: seq})
			if method, n, ok := k.Parse(b); !ok || string(method) != name || n != seq {
				t.Errorf("%.20q, %d was read as %.20q, %d, %v", name, seq, method, n, ok)
			}
			for i := range b {
				if _, _, ok := k.Parse(b[:i]); ok {
					t.Errorf("%d of %d bytes were read", i, len(b))
				}
			}
			if _, _, ok := k.Parse(append(b, 0)); ok {
				t.Error("a byte too many was read")
			}
		}
	}
}

// TestPrefix writes headers as the codec does.
func TestPrefix(t *testing.T) {
	c := gob.New()
	first, err := c.Append(nil, &header.Response{})
	if err != nil {
		t.Fatal(err)
	}
	p := header.PrefixOf(first)
	for _, name := range []string{"", "A.B", strings.Repeat("x", 300)} {
		for _, seq := range []uint64{0, 1, 127, 128, 255, 256, 1 << 40, math.MaxUint64} {
			for _, text := range []string{"", "NotFound: no order 7", strings.Repeat("x", 70000)} {
				r := header.Response{ServiceMethod: name, Seq: seq, Error: text}
				want, err := c.Append([]byte("before"), &r)
				if got := p.Append([]byte("before"), &r); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%.20q, %d, %.20q: %.80x, want %.80x, %v", name, seq, text, got, want, err)
				}
			}
		}
	}
}

// FuzzKnown reads any bytes behind the descriptions: what is read, the codec reads in the same way.
func FuzzKnown(f *testing.F) {
	c := gob.New()
	body, err := c.Append(nil, &header.Request{ServiceMethod: "A.B", Seq: 300})
	if err != nil {
		f.Fatal(err)
	}
	var k header.Known
	k.Learn(body)
	f.Add(body)
	f.Fuzz(func(t *testing.T, b []byte) {
		var h header.Request
		method, seq, ok := k.Parse(b)
		if err := c.Decode(b, &h); ok && (err != nil || h.ServiceMethod != string(method) || h.Seq != seq) {
			t.Errorf("%x was read as %q, %d, by the codec as %+v, %v", b, method, seq, h, err)
		}
		var other header.Known
		other.Learn(b)
		other.Parse(b)
	})
}
