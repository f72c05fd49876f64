package hpack

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// plain is a vocabulary that keeps every value.
type plain struct{}

func (plain) Name([]byte) Kind            { return Other }
func (plain) Look(f *Field, value []byte) { f.Value = string(value) }

// names are those of the kinds that have one of their own.
func nameOf(f *Field) string {
	switch f.Kind {
	case Method:
		return ":method"
	case Scheme:
		return ":scheme"
	case Path:
		return ":path"
	case Authority:
		return ":authority"
	case Status:
		return ":status"
	}
	return f.Name
}

func decode(t *testing.T, d *Decoder, block string) []string {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(block, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := d.Decode(b, func(f *Field) { got = append(got, nameOf(f)+": "+f.Value) }); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestExamples decodes the requests and responses of RFC 7541, C.4 and C.6.
func TestExamples(t *testing.T) {
	tables := NewTables(plain{})
	d := NewDecoder(tables, plain{})
	for _, e := range []struct {
		block string
		want  []string
	}{
		{"8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", []string{":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"}},
		{"8286 84be 5886 a8eb 1064 9cbf", []string{":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com", "cache-control: no-cache"}},
		{"8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
			[]string{":method: GET", ":scheme: https", ":path: /index.html", ":authority: www.example.com", "custom-key: custom-value"}},
	} {
		if got := decode(t, d, e.block); !slices.Equal(got, e.want) {
			t.Errorf("%q, want %q", got, e.want)
		}
	}
	d = NewDecoder(tables, plain{})
	d.max = 256 // as the example has it
	for i, want := range []string{"302", "307", "200"} {
		block := []string{
			"4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
			"4883 640e ffc1 c0bf",
			"88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
		}[i]
		if got := decode(t, d, block); got[0] != ":status: "+want || d.size > 256 {
			t.Errorf("%q with %d bytes in the table, want status %s", got, d.size, want)
		}
	}
}

// TestWrong decodes blocks that are none.
func TestWrong(t *testing.T) {
	tables := NewTables(plain{})
	for name, block := range map[string]string{
		"entry 0":                 "80",
		"an entry there is not":   "be",
		"a name there is not":     "7f 40 00",
		"an integer without end":  "ff ff ff ff ff ff ff",
		"a text that is cut":      "00 05 61",
		"no value":                "00 01 61",
		"code for no byte":        "00 01 61 84 ff ff ff ff",
		"padding of eight bits":   "00 01 61 82 1f ff",
		"padding of zeros":        "00 01 61 81 18",
		"a size that is too long": "3f e2 1f",
		"a size behind a field":   "82 20",
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(block, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if err := NewDecoder(tables, plain{}).Decode(b, func(*Field) {}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestEncoder decodes what the encoder makes of many fields, also when the table is full or the
// peer wants none.
func TestEncoder(t *testing.T) {
	for _, table := range []uint32{TableSize, 100, 0} {
		var e Encoder
		e.Limit(table)
		d := NewDecoder(NewTables(plain{}), plain{})
		all := make([]Known, 200)
		named := Known{Name: "grpc-timeout"}
		for round := range 3 {
			for i := range all {
				all[i].Name, all[i].Value = fmt.Sprint("name-", i), strings.Repeat("v", i)
				b := e.Begin(nil)
				b = e.Known(b, &all[i])
				b = e.Named(b, &named, []byte(fmt.Sprint(i, "m")))
				b = e.Literal(b, "literal", fmt.Sprint(round))
				b = e.Static(b, Static200)
				got := decode(t, d, hex.EncodeToString(b))
				want := []string{all[i].Name + ": " + all[i].Value, fmt.Sprint("grpc-timeout: ", i, "m"), fmt.Sprint("literal: ", round), ":status: 200"}
				if !slices.Equal(got, want) {
					t.Fatalf("%q, want %q", got, want)
				}
			}
		}
		if e.size > TableSize || e.n != d.n || table < TableSize && d.n != 0 {
			t.Errorf("table of %d: %d bytes, %d entries, the decoder has %d", table, e.size, e.n, d.n)
		}
	}
}

// FuzzDecoder decodes whatever comes: it ends, and the table keeps its bound.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte("\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"))
	f.Add([]byte("\x40\x01a\x01b\xbe\x20"))
	tables := NewTables(plain{})
	f.Fuzz(func(t *testing.T, block []byte) {
		d := NewDecoder(tables, plain{})
		for range 2 {
			if d.Decode(block, func(*Field) {}) != nil {
				return
			}
		}
		var size uint32
		for i := range d.n {
			size += d.at(i).Size
		}
		if d.size != size || size > d.max {
			t.Errorf("the table says %d bytes of at most %d and has %d", d.size, d.max, size)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	tables := NewTables(plain{})
	d := NewDecoder(tables, plain{})
	var e Encoder
	fields := []Known{{Name: ":authority", Value: "127.0.0.1:8972"}, {Name: "content-type", Value: "application/grpc"}, {Name: "te", Value: "trailers"}, {Name: "user-agent", Value: "weft"}}
	encode := func(out []byte) []byte {
		out = e.Static(e.Static(out, StaticPOST), StaticHTTP)
		for i := range fields {
			out = e.Known(out, &fields[i])
		}
		return out
	}
	if err := d.Decode(encode(nil), func(*Field) {}); err != nil {
		b.Fatal(err)
	}
	block := encode(nil)
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Decode(block, func(*Field) {}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestEpoch appends fields again as they were encoded, while that is right: until an entry has come into the table, or the peer wants a smaller one.
func TestEpoch(t *testing.T) {
	var e Encoder
	path, agent := Known{Name: "path", Value: "/a"}, Known{Name: "agent", Value: "a b"}
	fields := func() []byte { return e.Known(e.Known(nil, &path), &agent) }
	fields() // they enter the table
	first := e.Epoch()
	if again := fields(); e.Epoch() != first || !slices.Equal(again, fields()) {
		t.Errorf("the epoch is %d and was %d, the fields are %x", e.Epoch(), first, again)
	}
	old := fields()
	e.Known(nil, &Known{Name: "third", Value: "c"})
	if e.Epoch() == first || slices.Equal(old, fields()) {
		t.Errorf("an entry has come into the table, and the epoch is %d", e.Epoch())
	}
	second := e.Epoch()
	e.Limit(0)
	if e.Epoch() == second || e.Epoch() == first {
		t.Errorf("the peer wants no table, and the epoch is %d", e.Epoch())
	}
}
