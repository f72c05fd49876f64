package interop

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	xhpack "golang.org/x/net/http2/hpack"

	"github.com/weftrpc/weft/door/internal/hpack"
)

// keep is a vocabulary that keeps every value.
type keep struct{}

func (keep) Name([]byte) hpack.Kind            { return hpack.Other }
func (keep) Look(f *hpack.Field, value []byte) { f.Value = string(value) }

// both decodes a block by x/net and by weft. What weft says of a field it does not know by value,
// such as one that HTTP/2 forbids, is compared by its size.
func both(t *testing.T, x *xhpack.Decoder, fields *[]xhpack.HeaderField, d *hpack.Decoder, block []byte) (ok bool) {
	t.Helper()
	*fields = (*fields)[:0]
	_, xerr := x.Write(block)
	if xerr == nil {
		xerr = x.Close()
	}
	i := 0
	err := d.Decode(block, func(f *hpack.Field) {
		if i >= len(*fields) {
			if xerr == nil {
				t.Fatalf("weft decodes more fields than x/net: %+v", f)
			}
			return
		}
		want := (*fields)[i]
		i++
		if f.Size != want.Size() {
			t.Fatalf("field %d: %+v has %d bytes, want %q: %q", i, f, f.Size, want.Name, want.Value)
		}
		if f.Kind == hpack.Other && (f.Name != want.Name || f.Value != want.Value) {
			t.Fatalf("field %d: %q: %q, want %q: %q", i, f.Name, f.Value, want.Name, want.Value)
		}
	})
	if err == nil && xerr != nil && strings.Contains(xerr.Error(), "beginning of a header block") ||
		xerr == nil && err != nil && strings.Contains(err.Error(), "size of the table") {
		// x/net allows one update of the size where the RFC allows two, and one anywhere while the
		// table is empty.
		return false
	}
	if (err == nil) != (xerr == nil) {
		t.Fatalf("%x: weft says %v, x/net %v", block, err, xerr)
	}
	if err == nil && i != len(*fields) {
		t.Fatalf("weft decodes %d fields, x/net %d", i, len(*fields))
	}
	return err == nil
}

// TestHeaderCompression decodes what the encoder of x/net makes of random fields.
func TestHeaderCompression(t *testing.T) {
	tables := hpack.NewTables(keep{})
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var fields []xhpack.HeaderField
		x := xhpack.NewDecoder(4096, func(f xhpack.HeaderField) { fields = append(fields, f) })
		d := hpack.NewDecoder(tables, keep{})
		var out bytes.Buffer
		e := xhpack.NewEncoder(&out)
		for range 200 {
			out.Reset()
			if random.IntN(20) == 0 {
				e.SetMaxDynamicTableSize(uint32(random.IntN(4097)))
			}
			for range 1 + random.IntN(8) {
				value := make([]byte, random.IntN(80))
				for i := range value {
					value[i] = byte(random.IntN(95) + 32)
				}
				name := []string{":path", "te", "grpc-timeout", "content-type", "user-agent", "x-other", fmt.Sprint("x-", random.IntN(200))}[random.IntN(7)]
				if err := e.WriteField(xhpack.HeaderField{Name: name, Value: string(value), Sensitive: random.IntN(9) == 0}); err != nil {
					t.Fatal(err)
				}
			}
			if !both(t, x, &fields, d, out.Bytes()) {
				t.Fatal("a good block was refused")
			}
		}
	}
}

// TestHeaderEncoding has x/net decode what weft's encoder makes.
func TestHeaderEncoding(t *testing.T) {
	var e hpack.Encoder
	var got []string
	x := xhpack.NewDecoder(4096, func(f xhpack.HeaderField) { got = append(got, f.Name+": "+f.Value) })
	known := make([]hpack.Known, 150)
	for i := range known {
		known[i] = hpack.Known{Name: fmt.Sprint("name-", i), Value: fmt.Sprint("value-", i*i)}
	}
	for range 3 {
		for i := range known {
			got = nil
			if _, err := x.Write(e.Literal(e.Known(e.Begin(nil), &known[i]), "a", "b")); err != nil {
				t.Fatal(err)
			}
			if want := []string{known[i].Name + ": " + known[i].Value, "a: b"}; !slices.Equal(got, want) {
				t.Fatalf("%q, want %q", got, want)
			}
		}
	}
}

// FuzzHeaderCompression compares the two decoders on any bytes, twice on one connection.
func FuzzHeaderCompression(f *testing.F) {
	f.Add([]byte("\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"))
	f.Add([]byte("\x3f\xe1\x1f\x40\x01a\x01b\xbe"))
	tables := hpack.NewTables(keep{})
	f.Fuzz(func(t *testing.T, block []byte) {
		var fields []xhpack.HeaderField
		x := xhpack.NewDecoder(4096, func(f xhpack.HeaderField) { fields = append(fields, f) })
		d := hpack.NewDecoder(tables, keep{})
		for range 2 {
			if !both(t, x, &fields, d, block) {
				return
			}
		}
	})
}
