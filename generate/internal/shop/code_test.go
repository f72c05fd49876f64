package shop

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/codectest"
	"github.com/weftrpc/weft/codec/protobuf"
)

// uncoded is an Order without the generated methods, which goes by its plan.
type uncoded Order

// random makes an order such as comes out of decoding.
func random(r *rand.Rand) *Order {
	some := func() bool { return r.IntN(3) > 0 }
	number := func() int64 { return int64(r.Uint64()) >> r.IntN(64) }
	word := func() string { return strings.Repeat("é", r.IntN(90)*r.IntN(2)) }
	item := func() Item {
		return Item{Name: word(), Price: float64(number()), Count: uint32(number()), Int: int(number()), Uint: uint(number()), Zig: int(number())}
	}
	nested := func() *Item {
		i := item()
		if some() {
			sub := item()
			i.Sub = &sub
		}
		return &i
	}
	o := &Order{
		ID: number(), Paid: some(), Color: Color(number()), Small: int16(number()), I32: int32(number()), U8: uint8(number()), U16: uint16(number()), U64: uint64(number()),
		Zig32: int32(number()), Zig64: number(), Fix32: uint32(number()), Fix64: number(), Float: float32(number()), Double: float64(number()) / 3,
		Text: word(), Label: Label(word()), Item: *nested(), Took: time.Duration(number()), Far: word(), Last: uint64(number()),
	}
	if some() {
		o.Maybe, o.Number, o.Title, o.Flag = nested(), new(int32), new(string), new(bool)
		*o.Number, *o.Title, *o.Flag = int32(number()), word(), some()
		o.At = time.Unix(int64(r.Uint32())*20, int64(r.IntN(1e9))).UTC()
		o.Raw = []byte("raw")
	}
	if r.IntN(4) == 0 {
		o.Notes = map[string]string{word(): word()}
	}
	if some() {
		for range 1 + r.IntN(5) {
			o.Ints, o.Zigs, o.Doubles, o.Bools, o.Fixed = append(o.Ints, int32(number())), append(o.Zigs, number()), append(o.Doubles, float64(number())), append(o.Bools, some()), append(o.Fixed, uint32(number()))
			o.Texts, o.Blobs, o.Items, o.Pointers = append(o.Texts, word()), append(o.Blobs, []byte("blob")), append(o.Items, *nested()), append(o.Pointers, nested())
			o.Times, o.Colors = append(o.Times, time.Unix(number()>>32, 5).UTC()), append(o.Colors, Color(number()))
		}
	}
	return o
}

// tidy makes empty lists and maps nil, and NaNs 0.
func tidy(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			tidy(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				tidy(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Map:
		if v.Len() == 0 {
			v.SetZero()
		} else if v.Kind() == reflect.Slice {
			for i := range v.Len() {
				tidy(v.Index(i))
			}
		}
	case reflect.Float32, reflect.Float64:
		if v.Float() != v.Float() {
			v.SetFloat(0)
		}
	}
}

// reason is the text of an error without the name of the type.
func reason(err error) string {
	return strings.NewReplacer("shop.uncoded", "", "shop.Order", "").Replace(fmt.Sprint(err))
}

// compare decodes body with generated code, with it over an older value, and by the plan.
func compare(t *testing.T, c codec.Codec, body []byte, used *Order) {
	t.Helper()
	want, got := new(uncoded), new(Order)
	wantErr, err := c.Decode(body, want), c.Decode(body, got)
	usedErr := c.(codec.Reuser).DecodeReuse(body, used)
	if reason(err) != reason(wantErr) || reason(usedErr) != reason(wantErr) {
		t.Fatalf("%x: %v, over an older value %v, by the plan %v", body, err, usedErr, wantErr)
	}
	if err != nil {
		return
	}
	for _, v := range []*Order{got, used} {
		tidy(reflect.ValueOf(v))
	}
	tidy(reflect.ValueOf(want))
	if !reflect.DeepEqual(got, (*Order)(want)) || !reflect.DeepEqual(used, got) {
		t.Fatalf("%x is\n%+v\n%+v\n%+v", body, got, used, want)
	}
}

// TestCode holds generated code to the plan: the same bodies, the same values, the same
// errors, also for bodies that were changed.
func TestCode(t *testing.T) {
	r, c, used := rand.New(rand.NewPCG(1, 2)), protobuf.New(), new(Order)
	for range 400 {
		o := random(r)
		body, err := c.Append([]byte("head"), o)
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.Append([]byte("head"), (*uncoded)(o))
		if err != nil || !bytes.Equal(body, want) {
			t.Fatalf("%v\n got %x\nwant %x", err, body, want)
		}
		body = body[4:]
		used.secret, used.Skip, used.Item.note = func() {}, "old", "old"
		compare(t, c, body, used)
		for range 20 {
			b := bytes.Clone(body)
			for range 1 + r.IntN(3) {
				switch at := r.IntN(len(b)); r.IntN(6) {
				case 0:
					b = append(b, b[at:]...) // fields that come twice
				case 1:
					b = append(b[at:len(b):len(b)], b[:at]...) // in another order
				case 2:
					b = b[:at+1]
				default:
					b[at] = byte(r.Uint32())
				}
			}
			compare(t, c, b[:len(b):len(b)], used)
		}
	}
}

// TestCodeEnds has bodies that end anywhere, with and without what the next message left behind them in memory.
func TestCodeEnds(t *testing.T) {
	r, c, used := rand.New(rand.NewPCG(5, 6)), protobuf.New(), new(Order)
	for range 2 {
		o := random(r)
		o.Maybe, o.Item = nil, Item{Count: 1 << 20, Int: 1 << 14, Uint: 1 << 27}
		body, err := c.Append(nil, o)
		if err != nil {
			t.Fatal(err)
		}
		for n := range body {
			compare(t, c, body[:n:n], used)
			compare(t, c, body[:n], used)
		}
	}
}

// TestCodeFits encodes into a buffer with little more room than the message takes.
func TestCodeFits(t *testing.T) {
	c, item := protobuf.New(), &Item{Name: strings.Repeat("é", 60), Price: 1.5, Count: 1 << 20, Int: 1 << 20, Uint: 1 << 20, Zig: 1 << 20}
	body, err := c.Append(nil, item)
	if err != nil {
		t.Fatal(err)
	}
	room := make([]byte, 0, len(body)+64)
	if n := testing.AllocsPerRun(100, func() { _, _ = c.Append(room, item) }); n > 0 && !allocates {
		t.Errorf("%v allocations", n)
	}
}

// uncodedCrate is a Crate without the generated methods.
type uncodedCrate Crate

// TestCodeRoom has bodies whose messages take about as much memory as they may, some 33 MB: a Crate has 8056 bytes. With
// generated code those are refused that the plan refuses, also where the plan goes on, and with memory that is used again.
func TestCodeRoom(t *testing.T) {
	const (
		crate   = "\x12\x00"
		pointer = "\x1a\x00"
		nested  = "\x12\x04\x0a\x02\x0a\x00"         // three in each other
		twice   = "\x12\x06\x0a\x00\x0a\x02\x0a\x00" // three, of which the code leaves the last to the plan
		field   = "\x22\x00"                         // one that is not known, and is left to the plan
	)
	c := protobuf.New()
	for i, test := range []struct {
		before, element string
		n               int
		refused         bool
	}{
		{"", crate, 4000, false}, {"", crate, 4500, true}, {"", pointer, 4000, false}, {"", pointer, 4500, true}, {"", nested, 1300, false}, {"", nested, 1500, true},
		{"", twice, 1000, false}, {"", twice, 1200, true}, {field, crate, 4500, true}, {field, nested, 1300, false}, {field, nested, 1500, true},
	} {
		body := []byte(test.before + strings.Repeat(test.element, test.n))
		used := &Crate{Many: make([]Crate, 100), Pointers: []*Crate{{}}}
		for how, err := range map[string]error{"Decode": c.Decode(body, new(Crate)), "DecodeReuse": c.(codec.Reuser).DecodeReuse(body, used), "the plan": c.Decode(body, new(uncodedCrate))} {
			if refused := err != nil && strings.Contains(err.Error(), "bytes of memory"); refused != test.refused || !refused && err != nil {
				t.Errorf("body %d: %s: %v", i, how, err)
			}
		}
	}
}

func FuzzCode(f *testing.F) {
	r, c := rand.New(rand.NewPCG(3, 4)), protobuf.New()
	for range 20 {
		body, err := c.Append(nil, random(r))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) { compare(t, c, body[:len(body):len(body)], new(Order)) })
}

func TestCodeConformance(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	codectest.Run(t, protobuf.New(), codectest.Config{
		Values: []any{random(r), random(r), &Query{7}, &Item{Name: "x", Sub: &Item{Count: 1}}},
		Equal: func(want, got any) bool { // a message does not tell empty from none
			a, errA := protobuf.New().Append(nil, want)
			b, errB := protobuf.New().Append(nil, got)
			return errA == nil && errB == nil && bytes.Equal(a, b)
		},
		OpenEnded: true,
		SameBits:  true,
	})
}

// TestCodeRefuses has values that cannot be encoded.
func TestCodeRefuses(t *testing.T) {
	c, ring := protobuf.New(), &Item{Name: "ring"}
	ring.Sub = ring
	for want, v := range map[string]any{
		"nest deeper":      ring,
		"element 0 is nil": &Order{Pointers: []*Item{nil}},
		"the year":         &Order{At: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"a nil":            (*Order)(nil),
	} {
		if _, err := c.Append(nil, v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if body, err := c.Append(nil, &Order{Double: math.Copysign(0, -1)}); err != nil || len(body) == 0 {
		t.Errorf("minus zero is %x, %v", body, err)
	}
}

// TestCodeAllocates nothing, over an older value.
func TestCodeAllocates(t *testing.T) {
	c := protobuf.New()
	body, err := c.Append(nil, &Order{ID: 1, Text: "text", Item: Item{Name: "x"}, Maybe: &Item{}, Ints: []int32{1, 2}, Texts: []string{"a"}, Items: []Item{{Name: "y"}}})
	if err != nil {
		t.Fatal(err)
	}
	used, dst := new(Order), make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(200, func() {
		_ = c.(codec.Reuser).DecodeReuse(body, used)
		_, _ = c.Append(dst, used)
	}); n >= 1 && !allocates {
		t.Errorf("%v allocations", n)
	}
}

// TestCodeCopiesTexts has a body of which little is a text: fresh messages take memory for that alone.
func TestCodeCopiesTexts(t *testing.T) {
	c := protobuf.New()
	body, err := c.Append(nil, &Order{Bools: make([]bool, 3000), Far: "a text behind them"})
	if err != nil {
		t.Fatal(err)
	}
	short, err := c.Append(nil, &Order{Bools: make([]bool, 3000)})
	if err != nil {
		t.Fatal(err)
	}
	taken := func(body []byte) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 100 {
			if err := c.Decode(body, new(Order)); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / 100
	}
	if with, without := taken(body), taken(short); with > without+256 && !allocates {
		t.Errorf("%d bytes of memory with a short text, and %d without", with, without)
	}
	got := new(Order)
	if err := c.Decode(body, got); err != nil {
		t.Fatal(err)
	}
	clear(body)
	if got.Far != "a text behind them" {
		t.Errorf("the text is %q", got.Far)
	}
}

// stale has code that was generated for other fields.
type stale struct {
	A int64 `weft:"2"`
}

func (*stale) FieldsWeft() string                                 { return "stale{1 A int64}" }
func (*stale) AppendWeft(b []byte, _ int) ([]byte, bool)          { return b, true }
func (s *stale) DecodeWeft(_ *generatedReader, _, end, _ int) int { return end }

func TestStaleCode(t *testing.T) {
	if _, err := protobuf.New().Append(nil, &stale{1}); err == nil || !strings.Contains(err.Error(), "run weft generate -codec again") {
		t.Error(err)
	}
	type holder struct { // has the methods of what it embeds, which are not its own
		Query `weft:"1"`
		B     int64 `weft:"2"`
	}
	c := protobuf.New()
	body, err := c.Append(nil, &holder{Query{1}, 2})
	got := new(holder)
	if err != nil || c.Decode(body, got) != nil || *got != (holder{Query{1}, 2}) {
		t.Errorf("%x, %+v, %v", body, got, err)
	}
}

// TestNamedPointer has a type of pointers that has no methods, although what they point to has code.
func TestNamedPointer(t *testing.T) {
	type pointer *Order
	c, got := protobuf.New(), pointer(&Order{Text: "old"})
	body, err := c.Append(nil, pointer(&Order{ID: 7, Items: []Item{{Count: 1}}}))
	if err != nil {
		t.Fatal(err)
	}
	for name, decode := range map[string]func([]byte, any) error{"Decode": c.Decode, "DecodeReuse": c.(codec.Reuser).DecodeReuse} {
		got.Text, got.secret = "old", func() {}
		if err := decode(body, got); err != nil || got.ID != 7 || len(got.Items) != 1 || got.Text != "" || got.secret != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
