package generated_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weftrpc/weft/codec/generated"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestRoom makes messages as long as there is room for them.
func TestRoom(t *testing.T) {
	type message struct{ Room [100]int64 }
	r := &generated.Reader{Room: 2000}
	var a, b, c *message
	if !generated.Make(r, &a) || a == nil || r.Room != 1200 {
		t.Fatalf("%v, room for %d bytes", a, r.Room)
	}
	if b = a; !generated.Make(r, &b) || b != a || r.Room != 400 { // memory that is used again counts as well
		t.Fatalf("%v, room for %d bytes", b, r.Room)
	}
	if generated.Make(r, &c) || c != nil || r.Room >= 0 {
		t.Fatalf("%v, room for %d bytes", c, r.Room)
	}
	r.Room = 2000
	list := generated.Grow(r, []message{{}}, 2)
	if len(list) != 1 || cap(list) < 3 || r.Room != 400 {
		t.Fatalf("room for %d messages, and for %d bytes", cap(list), r.Room)
	}
	if list = generated.Grow(r, list[:0:0], 1); cap(list) != 0 || r.Room >= 0 {
		t.Fatalf("room for %d messages, and for %d bytes", cap(list), r.Room)
	}
}

// TestEmpty gives a large map up.
func TestEmpty(t *testing.T) {
	type table map[int]bool
	small, large := table{1: true}, make(table)
	for i := range 5000 {
		large[i] = true
	}
	if got := generated.Empty(small); got == nil || len(small) != 0 {
		t.Errorf("a small map becomes %v, and has %d entries", got, len(small))
	}
	if generated.Empty(large) != nil || generated.Empty(table(nil)) != nil {
		t.Error("a large map, or none, is kept")
	}
}

// TestNumbers compares with protowire, behind tags of each length.
func TestNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		v := r.Uint64() >> r.IntN(64)
		number := protowire.Number(1 << r.IntN(29))
		tag := protowire.AppendTag(nil, number, protowire.VarintType)
		word := uint64(0)
		for i, c := range tag {
			word |= uint64(c) << (8 * i)
		}
		want := protowire.AppendVarint(append([]byte("x"), tag...), v)
		if got := generated.AppendVarint([]byte("x"), word, len(tag), v); !bytes.Equal(got, want) {
			t.Fatalf("field %d, %d: %x, want %x", number, v, got, want)
		}
		if b := generated.Room([]byte("x"), 23); len(tag) <= 4 && len(b) >= 24 {
			next := generated.PutVarint(b, 1, word, len(tag), v)
			if !bytes.Equal(b[:next], want) {
				t.Fatalf("field %d, %d: %x is put, want %x", number, v, b[:next], want)
			}
		} else if len(b) < 24 {
			t.Fatalf("there is room for %d bytes, want 24", len(b))
		}
		body := want[1+len(tag):]
		if got, next := generated.Varint(body, 0); got != v || next != len(body) {
			t.Fatalf("%x: %d, %d", body, got, next)
		}
		if _, next := generated.Varint(body[:len(body)-1], 0); next != -1 {
			t.Fatalf("%x: there is a varint", body[:len(body)-1])
		}
		if got, n := generated.Short28(uint32(generated.Word(body, 0))); n > 0 && (uint64(got) != v || n != len(body)) || n == 0 && v < 1<<28 {
			t.Fatalf("%x: %d, %d", body, got, n)
		}
		if got, next := generated.Zigzag[int64](body, 0); got != protowire.DecodeZigZag(v) || next != len(body) || generated.Zag(got) != v {
			t.Fatalf("%x: %d, %d", body, got, next)
		}
		if got, next := generated.Int[int16](body, 0); (next > 0) != (int64(v) == int64(int16(v))) || next > 0 && int64(got) != int64(v) {
			t.Fatalf("%x: %d, %d", body, got, next)
		}
		if got, next := generated.Int[uint8](body, 0); (next > 0) != (v < 256) || next > 0 && uint64(got) != v {
			t.Fatalf("%x: %d, %d", body, got, next)
		}
		if got, next := generated.FixedInt[int32](binary.LittleEndian.AppendUint64([]byte("x"), v), 1); (next == 9) != (int64(v) == int64(int32(v))) || next == 9 && int64(got) != int64(v) {
			t.Fatalf("%d: %d, %d", int64(v), got, next)
		}
		if got, next := generated.FixedInt[uint32](binary.LittleEndian.AppendUint64(nil, v), 0); (next == 8) != (v < 1<<32) || next == 8 && uint64(got) != v {
			t.Fatalf("%d: %d, %d", v, got, next)
		}
	}
	if _, next := generated.FixedInt[int](make([]byte, 7), 0); next != -1 {
		t.Error("there is an int of seven bytes")
	}
	for _, body := range []string{"", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		if _, next := generated.Varint([]byte(body), 0); next != -1 {
			t.Errorf("%x is a varint", body)
		}
	}
}

// TestFields reads fields behind tags of each length, whole ones and all that are not.
func TestFields(t *testing.T) {
	type text string
	for _, number := range []protowire.Number{1, 16, 2048, 1 << 17} {
		number := func(value []byte, wire protowire.Type) (s string, word uint32, width int) {
			tag := protowire.AppendTag(nil, number, wire)
			return "x" + string(tag) + string(value), binary.LittleEndian.Uint32(append(bytes.Clone(tag), 0, 0, 0)), len(tag)
		}
		for _, v := range []uint64{0, 1, 127, 128, 1 << 14, 1 << 21, 1 << 28, 1<<31 - 1, 1 << 31, math.MaxUint64} {
			s, word, width := number(protowire.AppendVarint(nil, v), protowire.VarintType)
			for n := 2; n <= len(s); n++ {
				got, wide, truth := int32(5), int64(5), true
				fits := n == len(s) && uint64(int32(v)) == v
				if next := generated.IntField(s[:n], 1, word, width, &got); fits && (next != n || got != int32(v)) || !fits && (next != 1 || got != 0) {
					t.Errorf("%d bytes of %x: %d, %d", n, s, got, next)
				}
				if next := generated.IntField(s[:n], 1, word, width, &wide); (next == n) != (n == len(s)) || next == n && wide != int64(v) || next != n && (next != 1 || wide != 0) {
					t.Errorf("%d bytes of %x: %d, %d", n, s, wide, next)
				}
				if next := generated.BoolField(s[:n], 1, word, width, &truth); (next == n) != (n == len(s)) || truth != (next == n && v != 0) {
					t.Errorf("%d bytes of %x: %v, %d", n, s, truth, next)
				}
			}
			if next := generated.IntField(s, 1, word^0x10, width, new(int64)); next != 1 {
				t.Errorf("%x: another tag ends at %d", s, next)
			}
		}
		for _, n := range []int{0, 1, 127, 128, 20_000} {
			want := text(bytes.Repeat([]byte("a"), n))
			s, word, width := number(protowire.AppendString(nil, string(want)), protowire.BytesType)
			if got := generated.AppendString([]byte("x"), uint64(word), width, want); string(got) != s {
				t.Errorf("%d bytes of a text are %.20x, want %.20x", n, got, s)
			}
			r, got := &generated.Reader{Body: []byte(s), Alias: s}, text("z")
			if next := generated.TextField(r, s, 1, word, width, &got); next != len(s) || got != want {
				t.Errorf("%d bytes: %.20q, %d", n, got, next)
			}
			r.Body = append(r.Body, "rest"...)
			parts := [3]string{r.Own(len(s), "rest"), r.Own(len(s), ""), r.Own(len(s)+3, "t")}
			clear(r.Body) // of which nothing is kept
			if parts != [3]string{"rest", "", "t"} || got != want {
				t.Errorf("%d bytes: %.20q, and behind them %q", n, got, parts)
			}
			r.Body = []byte(s)
			if next := generated.TextField(r, s[:len(s)-1], 1, word, width, &got); next != 1 || got != "" {
				t.Errorf("%d bytes of which one is missing: %.20q, %d", n, got, next)
			}
		}
	}
}

// TestWords has words at each place of short and longer bodies, which end with zeros.
func TestWords(t *testing.T) {
	whole := []byte("0123456789abcdefghijk")
	for n := range len(whole) + 1 {
		padded := append(bytes.Clone(whole[:n]), make([]byte, 8)...)
		for i := range n + 1 {
			if got, want := generated.Word(whole[:n], i), binary.LittleEndian.Uint64(padded[i:]); got != want {
				t.Errorf("the word at %d of %d bytes is %x, want %x", i, n, got, want)
			}
		}
	}
}

func TestLengths(t *testing.T) {
	for _, n := range []int{0, 1, 127, 128, 16383, 16384, 1 << 21} {
		b := generated.SetLength(append([]byte("ab\x00"), make([]byte, n)...), 3)
		want := protowire.AppendBytes([]byte("ab"), make([]byte, n))
		if !bytes.Equal(b, want) {
			t.Errorf("%d bytes: %.9x, want %.9x", n, b, want)
		}
		if from, to := generated.Span(b, 2); to-from != n || to != len(b) {
			t.Errorf("%d bytes are from %d to %d", n, from, to)
		}
		if _, to := generated.Span(b[:len(b)-1], 2); to != -1 {
			t.Errorf("%d bytes of which one is missing end at %d", n, to)
		}
	}
	if _, to := generated.Span(protowire.AppendVarint(nil, math.MaxUint64), 0); to != -1 {
		t.Error("a length beyond all bodies is taken")
	}
	if n := generated.Count([]byte("\x0a\x01x\x0a\x00\x12\x00"), 0, "\x0a"); n != 2 {
		t.Errorf("%d values, want 2", n)
	}
}

func TestTimes(t *testing.T) {
	for _, at := range []time.Time{time.Unix(0, 0), time.Unix(1e9, 5), time.Unix(-5, 0), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)} {
		b, ok := generated.AppendTime([]byte{0}, at)
		b = generated.SetLength(b, 1)
		if got, next := generated.Time(b, 0); !ok || next != len(b) || !got.Equal(at) {
			t.Errorf("%v becomes %v, %v", at, got, ok)
		}
	}
	if _, ok := generated.AppendTime(nil, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)); ok {
		t.Error("the year 10000 has a form")
	}
	d := 90*time.Second + 7
	b := generated.SetLength(generated.AppendSeconds([]byte{0}, int64(d/1e9), int64(d%1e9)), 1)
	if got, next := generated.Duration(b, 0); got != d || next != len(b) {
		t.Errorf("%v, %d", got, next)
	}
}
