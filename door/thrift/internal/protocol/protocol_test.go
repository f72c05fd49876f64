package protocol

import (
	"bytes"
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/growthtest"
)

// write makes a struct with a field of every type.
func write(compact bool) []byte {
	var w Writer
	w.Reset(nil, compact)
	w.Begin()
	w.Field(Bool, 1)
	w.Bool(true)
	w.Field(Bool, 2)
	w.Bool(false)
	w.Field(I8, 3)
	w.I8(-128)
	w.Field(I16, 20)
	w.I16(-1)
	w.Field(I32, 4)
	w.I32(math.MinInt32)
	w.Field(I64, 1000)
	w.I64(math.MaxInt64)
	w.Field(Double, 1001)
	w.Double(-0.25)
	w.Field(String, 1002)
	w.Text("text")
	w.Field(List, 1003)
	w.List(Bool, 3)
	w.Bool(true)
	w.Bool(false)
	w.Bool(true)
	w.Field(Set, 1004)
	w.List(I32, 16)
	for i := range int32(16) {
		w.I32(i)
	}
	w.Field(Map, 1005)
	w.Map(String, List, 1)
	w.Text("k")
	w.List(Struct, 2)
	for range 2 {
		w.Begin()
		w.Field(I16, 1)
		w.I16(7)
		w.Stop()
		w.End()
	}
	w.Field(Map, 1006)
	w.Map(Bool, Bool, 1)
	w.Bool(true)
	w.Bool(false)
	w.Field(UUID, 1007)
	w.UUID([16]byte{1, 2, 3, 15: 16})
	w.Field(I8, -5)
	w.I8(1)
	w.Stop()
	w.End()
	return w.Buf
}

// TestStockService of package thrift has the stock library read and write the same types.
const (
	wantBinary = "020001010200020003000380060014ffff08000480000000" + "0a03e87fffffffffffffff" + "0403e9bfd0000000000000" + "0b03ea0000000474657874" +
		"0f03eb0200000003010001" + "0e03ec0800000010" + "00000000000000010000000200000003000000040000000500000006000000070000000800000009" +
		"0000000a0000000b0000000c0000000d0000000e0000000f" + "0d03ed0b0f00000001000000016b0c00000002060001000700" + "060001000700" +
		"0d03ee0202000000010100" + "1003ef01020300000000000000000000000010" + "03fffb0100"
	wantCompact = "1112138004280105" + "08ffffffff0f" + "06d00ffeffffffffffffffff01" + "17000000000000d0bf" + "180474657874" + "1931010201" +
		"1af510" + "00020406080a0c0e10121416181a1c1e" + "1b0189016b2c140e00140e00" + "1b01110102" + "1d01020300000000000000000000000010" + "03090100"
)

func TestVectors(t *testing.T) {
	for compact, want := range map[bool]string{false: wantBinary, true: wantCompact} {
		got := hex.EncodeToString(write(compact))
		if got != want {
			t.Errorf("compact %v\n got %s\nwant %s", compact, got, want)
		}
	}
}

// TestCopy copies a struct into the other protocol and back.
func TestCopy(t *testing.T) {
	for _, compact := range []bool{false, true} {
		var r Reader
		r.Reset(write(compact), compact)
		var w Writer
		w.Reset(nil, !compact)
		Copy(&w, &r, Struct)
		if r.Err() != nil || r.Left() != 0 || !bytes.Equal(w.Buf, write(!compact)) {
			t.Errorf("from compact %v: %v\n got %x\nwant %x", compact, r.Err(), w.Buf, write(!compact))
		}
	}
}

// TestCut reads a struct that ends too early, at every byte.
func TestCut(t *testing.T) {
	for _, compact := range []bool{false, true} {
		b := write(compact)
		for n := range b {
			var r Reader
			r.Reset(b[:n], compact)
			if r.Skip(Struct); r.Err() == nil {
				t.Errorf("compact %v: no error after %d of %d bytes", compact, n, len(b))
			}
			var s Scanner
			s.Reset(compact, 1<<20)
			if _, done, err := s.Scan(b[:n]); done || err != nil {
				t.Errorf("compact %v: scanned %d of %d bytes: %v, %v", compact, n, len(b), done, err)
			}
		}
	}
}

// TestScan finds the end of a struct that comes in pieces.
func TestScan(t *testing.T) {
	for _, compact := range []bool{false, true} {
		b := append(write(compact), "more"...)
		for piece := 1; piece < len(b); piece++ {
			var s Scanner
			s.Reset(compact, 1<<20)
			found := false
			for n := piece; !found && n < len(b)+piece; n += piece {
				end, done, err := s.Scan(b[:min(n, len(b))])
				if err != nil || done && end != len(b)-4 {
					t.Fatalf("compact %v, pieces of %d: %d, %v", compact, piece, end, err)
				}
				found = done
			}
			if !found {
				t.Fatalf("compact %v, pieces of %d: no end was found", compact, piece)
			}
		}
	}
}

// TestFind finds the end of a message that comes in pieces, of which the first may be all of it.
func TestFind(t *testing.T) {
	for form, compact := range map[Form]bool{Binary: false, Compact: true} {
		whole := append(AppendHead(nil, form, "method", Call, 1), write(compact)...)
		if n := wholeStruct(write(compact), form); n != len(write(compact)) {
			t.Errorf("form %d: a whole struct of %d bytes: %d", form, len(write(compact)), n)
		}
		b := append(bytes.Clone(whole), "more"...)
		for piece := 1; piece <= len(b); piece++ {
			var f Finder
			for n := piece; ; n += piece {
				size, err := f.Find(b[:min(n, len(b))], form, 1<<20)
				if want := len(whole); err != nil || size != 0 && size != want || size == 0 && n >= want {
					t.Fatalf("form %d, pieces of %d: %d, %v", form, piece, size, err)
				}
				if size != 0 {
					break
				}
			}
		}
		var f Finder
		if size, err := f.Find(b, form, len(write(compact))-1); err == nil {
			t.Errorf("form %d: a struct of more bytes than are allowed: %d", form, size)
		}
	}
}

// TestHostile reads what promises more than there is.
func TestHostile(t *testing.T) {
	deep := func(n int) []byte {
		return append(bytes.Repeat([]byte{byte(Struct), 0, 1}, n), make([]byte, n+1)...)
	}
	nested := append([]byte{byte(List), 0, 1}, bytes.Repeat([]byte{byte(List), 0, 0, 0, 1}, 100)...)
	for what, c := range map[string]struct {
		compact bool
		b       []byte
		ok      bool
	}{
		"63 structs":           {false, deep(63), true},
		"64 structs":           {false, deep(64), false},
		"many lists":           {false, nested, false},
		"a list of 2^31-1":     {false, []byte{15, 0, 1, 2, 0x7f, 0xff, 0xff, 0xff, 0}, false},
		"a list of -1":         {false, []byte{15, 0, 1, 2, 0xff, 0xff, 0xff, 0xff, 0}, false},
		"a list of no type":    {false, []byte{15, 0, 1, 99, 0, 0, 0, 1, 0, 0}, false},
		"an empty map":         {true, []byte{0x1b, 0, 0}, true},
		"an empty list of 99":  {false, []byte{15, 0, 1, 99, 0, 0, 0, 0, 0}, true},
		"a string of -1":       {false, []byte{11, 0, 1, 0xff, 0xff, 0xff, 0xff, 0}, false},
		"a map of 2^31-1":      {false, []byte{13, 0, 1, 2, 2, 0x7f, 0xff, 0xff, 0xff, 0}, false},
		"a type of 99":         {false, []byte{99, 0, 1, 0}, false},
		"a compact list":       {true, []byte{0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 0}, false},
		"a compact map":        {true, []byte{0x1b, 0xff, 0xff, 0xff, 0xff, 7, 0x11, 0}, false},
		"a compact string":     {true, []byte{0x18, 0xff, 0xff, 0xff, 0xff, 0x0f, 0}, false},
		"a long varint":        {true, append([]byte{0x16}, bytes.Repeat([]byte{0xff}, 11)...), false},
		"an i32 of 33 bits":    {true, []byte{0x15, 0xff, 0xff, 0xff, 0xff, 0x1f, 0}, false},
		"a compact type of 14": {true, []byte{0x1e, 0}, false},
		"bools as 1, 2 and 0":  {true, []byte{0x19, 0x32, 1, 2, 0, 0}, true},
	} {
		var r Reader
		r.Reset(c.b, c.compact)
		if r.Skip(Struct); (r.Err() == nil && r.Left() == 0) != c.ok {
			t.Errorf("%s: %v, %d bytes are left", what, r.Err(), r.Left())
		}
		var s Scanner
		s.Reset(c.compact, len(c.b))
		if _, done, err := s.Scan(c.b); (done && err == nil) != c.ok && what != "an i32 of 33 bits" { // whose size is clear
			t.Errorf("%s: scanned %v, %v", what, done, err)
		}
	}
	var r Reader
	r.Reset(make([]byte, 8), false)
	if r.Grow(1 << 21); r.Err() == nil {
		t.Error("a value of 2 MiB in a message of 8 bytes")
	}
}

func TestHeads(t *testing.T) {
	for f := Binary; f <= Compact; f++ {
		b := AppendHead(nil, f, "method", Oneway, -2)
		for n := range b {
			if _, size, err := ReadHead(b[:n], f); size != 0 || err != nil {
				t.Errorf("form %d: %d of %d bytes: %d, %v", f, n, len(b), size, err)
			}
		}
		h, n, err := ReadHead(append(b, 0), f)
		if err != nil || n != len(b) || string(h.Name) != "method" || h.Kind != Oneway || h.Seq != -2 {
			t.Errorf("form %d: %+v, %d, %v", f, h, n, err)
		}
		if _, _, err := ReadHead(AppendHead(nil, f, strings.Repeat("x", MaxName+1), Call, 1), f); err == nil {
			t.Errorf("form %d: a name of %d bytes was taken", f, MaxName+1)
		}
		if _, _, err := ReadHead(AppendHead(nil, f, "x", 5, 1), f); err == nil {
			t.Errorf("form %d: a message of the kind 5 was taken", f)
		}
	}
}

func TestSniff(t *testing.T) {
	frame := func(b []byte) []byte { return append([]byte{0, 0, 0, byte(len(b))}, b...) }
	for form := Binary; form <= Compact; form++ {
		m := append(AppendHead(nil, form, "method", Call, 1), 0)
		for _, c := range []struct {
			b    []byte
			want Dialect
		}{{m, Dialect{Unframed, form}}, {frame(m), Dialect{Framed, form}}} {
			d, v := Sniff(c.b, 1<<20)
			if v != Yes || d != c.want {
				t.Errorf("%x: %+v, %v, want %+v", c.b, d, v, c.want)
			}
			decided := false
			for n := range len(c.b) {
				_, v := Sniff(c.b[:n], 1<<20)
				if v == No || decided && v != Yes {
					t.Errorf("%d bytes of %x: %v", n, c.b, v)
				}
				decided = v == Yes
			}
		}
	}
	if d, v := Sniff([]byte("\x00\x00\x00\x20\x0f\xff"), 1<<20); v != Yes || d.Framing != Headers {
		t.Errorf("THeader: %+v, %v", d, v)
	}
	for _, b := range []string{"GET / HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n", "{\"jsonrpc\"", "\x16\x03\x01\x01\x80\x01\x00\x01", "\x80\x02", "\x82\x22", "\x00\x00\x00\x00\x80\x01",
		"\x00\x00\x00\x10\x10\x00", "\x00\x00\x00\x05\x00\x00\x00\x01x\x01", "\x00\x00\x00\x03a\x00c\x01", "\x00\x00\x00\x03abc\x02", "\x7f\xff\xff\xff\x80\x01", "\x00\x20\x00\x00\x80\x01"} {
		if d, v := Sniff([]byte(b), 1<<20); v != No {
			t.Errorf("%q: %+v, %v", b, d, v)
		}
	}
}

// FuzzReader reads any bytes: what skips a struct and what finds its end agree, and a copy of a
// struct reads the same.
func FuzzReader(f *testing.F) {
	for _, compact := range []bool{false, true} {
		f.Add(write(compact), compact, 3)
	}
	f.Fuzz(func(t *testing.T, b []byte, compact bool, piece int) {
		var r Reader
		r.Reset(b, compact)
		r.Skip(Struct)
		used := len(b) - r.Left()
		ok := r.Err() == nil
		var s Scanner
		s.Reset(compact, len(b))
		piece = max(piece&0xff, 1)
		for n := piece; n < len(b)+piece; n += piece {
			end, done, err := s.Scan(b[:min(n, len(b))])
			if err != nil {
				if ok {
					t.Fatalf("skipped, and not scanned: %v", err)
				}
				break
			}
			if done {
				if ok && end != used {
					t.Fatalf("the struct has %d bytes when it is skipped, %d when it is scanned", used, end)
				}
				break
			}
			if ok && n >= used {
				t.Fatalf("no end was found in %d bytes, of which the struct has %d", n, used)
			}
		}
		if !ok {
			return
		}
		form := Binary
		if compact {
			form = Compact
		}
		if n := wholeStruct(b, form); n != 0 && n != used {
			t.Fatalf("the struct has %d bytes when it is skipped, %d as a whole one", used, n)
		}
		var w, back Writer
		r.Reset(b[:used], compact)
		w.Reset(nil, !compact)
		if Copy(&w, &r, Struct); r.Err() != nil {
			t.Fatalf("skipped, and not copied: %v", r.Err())
		}
		r.Reset(w.Buf, !compact)
		back.Reset(nil, compact)
		if Copy(&back, &r, Struct); r.Err() != nil || r.Left() != 0 {
			t.Fatalf("the copy cannot be read: %v, %d bytes are left", r.Err(), r.Left())
		}
	})
}

// TestGrowth reads, scans and copies structs with much of what takes time.
func TestGrowth(t *testing.T) {
	for name, piece := range map[string]string{
		"fields": "\x02\x00\x01\x01", "texts": "\x0b\x00\x01\x00\x00\x00\x01x", "structs": "\x0c\x00\x01", "closed structs": "\x0c\x00\x01\x00",
		"lists": "\x0f\x00\x01\x0c\x00\x00\x00\x01\x00", "maps": "\x0d\x00\x01\x0b\x0b\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00",
		"compact fields": "\x11", "compact texts": "\x18\x01x", "compact structs": "\x1c", "compact lists": "\x19\x1c\x00", "compact maps": "\x1b\x01\x88\x00\x00",
		"long numbers": "\x16\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	} {
		t.Run(name, func(t *testing.T) {
			for _, compact := range []bool{false, true} {
				body := growthtest.Repeat(nil, []byte(piece), []byte("\x00"))
				growthtest.Check(t, "Skip", 8<<10, body, func(b []byte) {
					var r Reader
					r.Reset(b, compact)
					r.Skip(Struct)
				})
				growthtest.Check(t, "Copy", 8<<10, body, func(b []byte) {
					var r Reader
					var w Writer
					r.Reset(b, compact)
					w.Reset(nil, !compact)
					Copy(&w, &r, Struct)
				})
				growthtest.Check(t, "whole", 8<<10, body, func(b []byte) {
					wholeStruct(b, map[bool]Form{true: Compact}[compact])
				})
				growthtest.Check(t, "Scan of pieces", 8<<10, body, func(b []byte) {
					var s Scanner
					s.Reset(compact, len(b))
					for n := 8; n < len(b); n += 8 {
						if _, done, err := s.Scan(b[:n]); done || err != nil {
							return
						}
					}
				})
			}
		})
	}
	for name, piece := range map[string]string{"open": `{"1":{"rec":`, "fields": `"1":{"i32":1},`, "texts": `\u0041`, "list": `1,`, "digits": "7", "spaces": " "} {
		t.Run("JSON "+name, func(t *testing.T) {
			for _, around := range [][2]string{{"", ""}, {"{", "}"}, {`{"1":{"str":"`, `"}}`}, {`{"1":{"lst":["i32",100000,`, `1]}}`}, {`{"1":{"i64":`, `}}`}} {
				body := growthtest.Repeat([]byte(around[0]), []byte(piece), []byte(around[1]))
				growthtest.Check(t, "FromJSON", 8<<10, body, func(b []byte) { _, _ = FromJSON(b, 1<<20) })
			}
		})
	}
}
