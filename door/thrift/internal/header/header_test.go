package header

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/weftrpc/weft/compress"
)

// free has room for all.
func free(int) error { return nil }

func TestRoundTrip(t *testing.T) {
	body := []byte(strings.Repeat("message ", 100))
	for _, h := range []Header{
		{}, {Flags: 3, Seq: -5, Compact: true}, {Zlib: true, Pairs: []string{"key", "value", "", "\x00"}}, {Pairs: []string{"k", strings.Repeat("v", 1000)}},
	} {
		b, err := h.Append([]byte("before"), func(b []byte) ([]byte, error) { return append(b, body...), nil })
		if err != nil {
			t.Fatal(err)
		}
		frame := b[len("before")+4:]
		if n := int(b[6])<<24 | int(b[7])<<16 | int(b[8])<<8 | int(b[9]); n != len(frame) {
			t.Errorf("a length of %d, want %d", n, len(frame))
		}
		got, message, err := Parse(frame, 1<<20, free)
		if err != nil || !bytes.Equal(message, body) || got.Flags != h.Flags || got.Seq != h.Seq || got.Compact != h.Compact || got.Zlib != h.Zlib || !slices.Equal(got.Pairs, h.Pairs) {
			t.Errorf("%+v came back as %+v: %v", h, got, err)
		}
		for n := range frame {
			if got, message, err := Parse(frame[:n], 1<<20, free); err == nil && (h.Zlib || !bytes.HasPrefix(body, message) || !slices.Equal(got.Pairs, h.Pairs)) {
				t.Errorf("%d of %d bytes: %+v", n, len(frame), got)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	plain := func(b []byte) ([]byte, error) { return append(b, make([]byte, 1<<20)...), nil }
	large := Header{Zlib: true}
	b, err := large.Append(nil, plain)
	if err != nil || len(b) > 1<<14 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	if _, _, err := Parse(b[4:], 1<<19, free); err == nil || !errors.Is(err, compress.ErrTooLarge) {
		t.Errorf("1 MiB from %d bytes: %v", len(b), err)
	}
	huge := Header{Pairs: []string{"k", strings.Repeat("v", 1<<19)}}
	if b, err := huge.Append([]byte("x"), plain); err == nil || len(b) != 1 {
		t.Errorf("a header of 512 KiB: %d bytes, %v", len(b), err)
	}
	frame := func(info string) []byte {
		return append([]byte{0x0f, 0xff, 0, 0, 0, 0, 0, 1, byte(len(info) >> 10), byte(len(info) / 4)}, info...)
	}
	for what, c := range map[string]struct {
		info string
		want error
	}{
		"protocol 1":            {"\x01\x00\x00\x00", ErrProtocol},
		"transform 2":           {"\x00\x01\x02\x00", ErrTransform},
		"two transforms":        {"\x00\x02\x01\x01", ErrTransform},
		"a long number":         {"\xff\xff\xff\xff", errShort},
		"2^31 pairs":            {"\x00\x00\x01\xff\xff\xff\xff\x07", errShort},
		"1025 pairs":            {"\x00\x00\x01\x81\x08" + strings.Repeat("\x00", 2*1025+1), errPairs},
		"a string beyond":       {"\x00\x00\x01\x01\x7fabc", errShort},
		"information of kind 9": {"\x00\x00\x09\xff", nil},
	} {
		h, _, err := Parse(frame(c.info), 1<<20, free)
		if !errors.Is(err, c.want) || h.Seq != 1 {
			t.Errorf("%s: %+v, %v, want %v", what, h, err, c.want)
		}
	}
}

// TestBeginning reads beginnings of frames, of every length.
func TestBeginning(t *testing.T) {
	body := strings.Repeat("message ", begins)
	for _, h := range []Header{{Seq: 7}, {Seq: 8, Zlib: true, Pairs: []string{"key", "value"}}} {
		b, err := h.Append(nil, func(b []byte) ([]byte, error) { return append(b, body...), nil })
		if err != nil {
			t.Fatal(err)
		}
		frame := append(b[4:], make([]byte, begins)...) // what stands behind a compressed message is not looked at
		read := 0
		for n := range min(len(frame), 2*begins) {
			got, message, whole, err := ParseBeginning(frame[:n], 1<<20)
			if err != nil || read > 0 && !whole {
				t.Fatalf("%d bytes: %v, %v", n, whole, err)
			}
			if !whole {
				continue
			}
			if read++; got.Seq != h.Seq || !slices.Equal(got.Pairs, h.Pairs) || len(message) < 4<<10 || !strings.HasPrefix(body, string(message[:4<<10])) {
				t.Fatalf("%d bytes: %+v, %d bytes of the message", n, got, len(message))
			}
			if read == 1 && n < begins {
				t.Errorf("%d bytes were enough", n)
			}
		}
		if read == 0 {
			t.Error("no length is enough")
		}
		if _, _, whole, err := ParseBeginning(frame, begins); !whole || !errors.Is(err, errLong) {
			t.Errorf("with room for less than a header: %v, %v", whole, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	h := Header{Zlib: true, Pairs: []string{"key", "value"}}
	b, err := h.Append(nil, func(b []byte) ([]byte, error) { return append(b, "message"...), nil })
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[4:])
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _, _, _ = ParseBeginning(b, 1<<16)
		h, message, err := Parse(b, 1<<16, free)
		if err != nil {
			return
		}
		again, err := h.Append(nil, func(b []byte) ([]byte, error) { return append(b, message...), nil })
		if err != nil {
			t.Fatal(err)
		}
		g, back, err := Parse(again[4:], 1<<16, free)
		if err != nil || !bytes.Equal(back, message) || !slices.Equal(g.Pairs, h.Pairs) {
			t.Fatalf("%+v came back as %+v: %v", h, g, err)
		}
	})
}

// TestDecompressInto uses the memory of dst, and takes no other.
func TestDecompressInto(t *testing.T) {
	plain := bytes.Repeat([]byte("message "), 1<<17)
	packed, err := Zlib{}.Compress(nil, plain)
	if err != nil {
		t.Fatal(err)
	}
	dst := append(make([]byte, 0, 6+len(plain)), "before"...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out, err := Zlib{}.Decompress(dst, packed, len(plain))
	runtime.ReadMemStats(&after)
	if err != nil || string(out[:6]) != "before" || !bytes.Equal(out[6:], plain) {
		t.Errorf("%.20q, %d bytes: %v", out, len(out), err)
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<19 {
		t.Errorf("%d bytes were allocated", taken)
	}
	if _, err := (Zlib{}).Decompress(nil, packed, len(plain)-1); !errors.Is(err, compress.ErrTooLarge) {
		t.Error(err)
	}
}
