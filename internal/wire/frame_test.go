package wire_test

import (
	"bytes"
	"testing"

	"github.com/weftrpc/weft/internal/wire"
)

func TestHeaderLayout(t *testing.T) {
	h := wire.Header{Length: 0x04030201, Type: 5, Flags: 6, Code: 0x0807, ID: 0x0c0b0a09, Arg: 0x100f0e0d}
	b := make([]byte, wire.HeaderSize)
	wire.PutHeader(b, h)
	for i := range b {
		if b[i] != byte(i+1) {
			t.Fatalf("header is % x, want the bytes 1 to 16", b)
		}
	}
	if got := wire.ParseHeader(b); got != h {
		t.Errorf("parsed %+v, want %+v", got, h)
	}
}

func TestAppendFrame(t *testing.T) {
	h := wire.Header{Length: 99, Type: wire.TypePing, Flags: wire.FlagAck}
	b := wire.AppendFrame([]byte("before"), h, []byte("12345678"))
	if !bytes.HasPrefix(b, []byte("before")) || !bytes.HasSuffix(b, []byte("12345678")) {
		t.Fatalf("frame is %q", b)
	}
	if got := wire.ParseHeader(b[6:]); got.Length != 8 || got.Type != wire.TypePing || got.Flags != wire.FlagAck {
		t.Errorf("header is %+v: the length is that of the payload", got)
	}
	if len(b) != 6+wire.HeaderSize+8 {
		t.Errorf("%d bytes", len(b))
	}
}

func TestHeaderCheck(t *testing.T) {
	for typ := range 256 {
		for _, length := range []uint32{0, wire.MaxPayload, wire.MaxPayload + 1, 1 << 31, 1<<32 - 1} {
			h := wire.Header{Type: wire.Type(typ), Length: length}
			known := typ >= 1 && typ <= 11
			want := length <= wire.MaxPayload && (known || typ >= 0x80)
			if err := h.Check(); (err == nil) != want {
				t.Errorf("type %d, length %d: %v", typ, length, err)
			}
			if h.Type.Known() != known || h.Type.Ignorable() != (typ >= 0x80) {
				t.Errorf("type %d: known %v, ignorable %v", typ, h.Type.Known(), h.Type.Ignorable())
			}
		}
	}
}

func TestID(t *testing.T) {
	for _, slot := range []uint32{0, 1, 0x1234, wire.MaxSlots - 1} {
		for _, generation := range []uint16{0, 1, 0xffff} {
			id := wire.ID(slot, generation)
			if wire.Slot(id) != slot || id>>16 != uint32(generation) {
				t.Errorf("id of %d and %d is %#x", slot, generation, id)
			}
		}
	}
}

// TestPreface holds the promise that one port can serve weft and its elders.
func TestPreface(t *testing.T) {
	if len(wire.Preface) != 8 {
		t.Fatalf("preface of %d bytes", len(wire.Preface))
	}
	first := wire.Preface[0]
	taken := map[string]bool{
		"a letter, digit or bracket of a text": first < 0x80,
		"a length in gob":                      first < 0x80 || first >= 0xf8,
		"rpcx":                                 first == 0x08,
		"TLS":                                  first == 0x16,
		"Thrift":                               first == 0x80 || first == 0x82,
		"Dubbo":                                first == 0xda,
		"Motan":                                first == 0xf1,
		"UTF-8":                                first < 0xf5,
	}
	for name, clash := range taken {
		if clash {
			t.Errorf("the first byte %#x may begin %s", first, name)
		}
	}
}

func TestHeaderAllocates(t *testing.T) {
	b := wire.AppendFrame(nil, wire.Header{Type: wire.TypeReply}, make([]byte, 100))
	dst := make([]byte, 0, 1<<10)
	var bad int
	allocs := testing.AllocsPerRun(100, func() {
		h := wire.ParseHeader(b)
		if h.Check() != nil {
			bad++
		}
		dst = wire.AppendFrame(dst[:0], h, b[wire.HeaderSize:])
		dst = wire.AppendChecksum(dst, 0)
		if !wire.ChecksumOK(dst[:len(b)], dst[len(b):]) {
			bad++
		}
	})
	if allocs != 0 || bad != 0 {
		t.Errorf("%v allocations, %d errors", allocs, bad)
	}
}

func FuzzHeader(f *testing.F) {
	f.Add(wire.AppendFrame(nil, wire.Header{Type: wire.TypePing}, []byte("12345678")))
	f.Add(wire.AppendFrame(nil, wire.Header{Type: 0xfe, Flags: 0xff, Code: 1, ID: 2, Arg: 3}, nil))
	f.Add([]byte("\xff\xff\xff\xff\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x00\x00\x00\x80\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < wire.HeaderSize {
			return
		}
		h := wire.ParseHeader(b)
		back := make([]byte, wire.HeaderSize)
		wire.PutHeader(back, h)
		if !bytes.Equal(back, b[:wire.HeaderSize]) {
			t.Fatalf("% x became % x", b[:wire.HeaderSize], back)
		}
		if h.Check() == nil && h.Length > wire.MaxPayload {
			t.Fatalf("accepted %+v", h)
		}
	})
}

func BenchmarkParseHeader(b *testing.B) {
	frame := wire.AppendFrame(nil, wire.Header{Type: wire.TypeReply, ID: 7}, make([]byte, 581))
	b.ReportAllocs()
	for b.Loop() {
		h := wire.ParseHeader(frame)
		if h.Check() != nil {
			b.Fatal(h)
		}
	}
}

func BenchmarkAppendFrame(b *testing.B) {
	payload := make([]byte, 581)
	var dst []byte
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	for b.Loop() {
		dst = wire.AppendFrame(dst[:0], wire.Header{Type: wire.TypeReply, ID: 7}, payload)
	}
}
