package numbered

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// money encodes itself, by methods of package codec.
type money struct{ Cents int64 }

func (m money) MarshalWeft(dst []byte) ([]byte, error) {
	switch {
	case m.Cents < 0:
		return nil, fmt.Errorf("an amount of %d", m.Cents)
	case m.Cents == 0:
		return dst, nil
	}
	return binary.AppendVarint(dst, m.Cents), nil
}

func (m *money) UnmarshalWeft(b []byte) error {
	if m.Cents != 0 {
		return fmt.Errorf("%d cents are left from before", m.Cents)
	}
	n := 0
	if m.Cents, n = binary.Varint(b); n != len(b) || m.Cents < 0 {
		return fmt.Errorf("%x is no amount", b)
	}
	return nil
}

// half has one of the methods alone.
type half struct{ A int }

func (half) MarshalWeft(dst []byte) ([]byte, error) { return dst, nil }

// outer embeds a type with the methods, which know nothing of B.
type outer struct {
	money `weft:"-"`
	B     int64 `weft:"2"`
}

// exact has the methods and numbers: the methods count.
type exact struct {
	A int64 `weft:"1"`
}

func (exact) MarshalWeft(dst []byte) ([]byte, error) { return append(dst, 'x'), nil }
func (*exact) UnmarshalWeft([]byte) error            { return nil }

// special has the types that are neither numbers, texts nor structs.
type special struct {
	Price  money            `weft:"1"`
	Last   *money           `weft:"2"`
	Prices []money          `weft:"3"`
	Some   []*money         `weft:"4"`
	ByName map[string]money `weft:"5"`
	Addr   netip.Addr       `weft:"6"`
	Addrs  [2]netip.Addr    `weft:"7"`
	Whole  big.Int          `weft:"8"`
	Wholes []*big.Int       `weft:"9"`
	Any    any              `weft:"10"`
	Anys   []any            `weft:"11"`
	Named  map[string]any   `weft:"12"`
	Code   [3]byte          `weft:"13"`
	Codes  [][3]byte        `weft:"14"`
	Grid   [3]int32         `weft:"15,zigzag"`
	Floats [2]float64       `weft:"16"`
	Texts  [2]string        `weft:"17"`
	Items  [2]item          `weft:"18"`
	Ptrs   [1]*item         `weft:"19"`
	Pair   [2]any           `weft:"20"`
	None   [0]int32         `weft:"21"`
	Maybe  *[2]byte         `weft:"22"`
	In     *special         `weft:"23"`
	Outer  outer            `weft:"24"`
	Far    [2]bool          `weft:"4000"`
}

func specials() *special {
	full := func() *special {
		return &special{
			Price: money{5}, Last: &money{}, Prices: []money{{1}, {}, {300}}, Some: []*money{{7}, {}}, ByName: map[string]money{"a": {9}},
			Addr: netip.MustParseAddr("10.0.0.1"), Addrs: [2]netip.Addr{{}, netip.MustParseAddr("fe80::1%eth0")}, Whole: *big.NewInt(-5), Wholes: []*big.Int{big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), 100)},
			Any: []any{nil, true, 1.5, "x", map[string]any{"k": []any{}}}, Anys: []any{nil, "y"}, Named: map[string]any{"n": -1.0}, Code: [3]byte{1, 2, 3}, Codes: [][3]byte{{}, {9}},
			Grid: [3]int32{0, -1, 1 << 30}, Floats: [2]float64{1, -1}, Texts: [2]string{"", "text"}, Items: [2]item{{Name: "i"}, {}}, Ptrs: [1]*item{{N: 5}},
			Pair: [2]any{"z", nil}, Maybe: &[2]byte{1}, Outer: outer{B: 7}, Far: [2]bool{true},
		}
	}
	v := full()
	v.In = full()
	return v
}

// equal compares values, and big numbers and any by their text.
func equal(a, b *special) bool {
	tidy(reflect.ValueOf(a))
	tidy(reflect.ValueOf(b))
	return reflect.DeepEqual(a, b) && a.Whole.Cmp(&b.Whole) == 0
}

func TestSpecial(t *testing.T) {
	body, err := Append(nil, specials())
	if err != nil {
		t.Fatal(err)
	}
	got, used := new(special), specials()
	if err := Decode(body, got); err != nil || !equal(got, specials()) {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, specials())
	}
	if err := Reuse(body, used); err != nil || !equal(used, specials()) {
		t.Errorf("over an older value: %v\n got %+v", err, used)
	}
	if err := Reuse(nil, used); err != nil || !equal(used, new(special)) {
		t.Errorf("over an older value, from nothing: %v\n got %+v", err, used)
	}
	empty, err := Append(nil, &struct {
		A money          `weft:"1"`
		B netip.Addr     `weft:"2"`
		C any            `weft:"3"`
		D map[string]any `weft:"4"`
	}{})
	if err != nil || len(empty) > 0 {
		t.Errorf("zero values are encoded as %x, %v", empty, err)
	}
}

// TestSpecialChanged decodes changed bodies, also over older values.
func TestSpecialChanged(t *testing.T) {
	r, used, good := rand.New(rand.NewPCG(3, 4)), new(special), 0
	body, err := Append(nil, specials())
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		b := append([]byte(nil), body...)
		for range r.IntN(3) {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		b = b[:len(b)-r.IntN(2)*r.IntN(len(b))]
		compare(t, b[:len(b):len(b)], used)
		if Decode(b, new(special)) == nil {
			good++
		}
	}
	if good < 40 {
		t.Errorf("only %d changed bodies were good", good)
	}
}

// TestArrays has arrays with fewer and more elements, in one part and in several.
func TestArrays(t *testing.T) {
	type arrays struct {
		Ints  [3]int32  `weft:"1"`
		Texts [2]string `weft:"2"`
		Code  [2]byte   `weft:"3"`
	}
	field := func(number protowire.Number, value string) string {
		return string(protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), value))
	}
	for _, c := range []struct {
		body, err string
		want      arrays
	}{
		{"", "", arrays{}},
		{field(1, "\x05"), "", arrays{Ints: [3]int32{5}}},
		{field(1, "\x05\x06\x07"), "", arrays{Ints: [3]int32{5, 6, 7}}},
		{field(1, "\x05\x06\x07\x08"), "Ints: at byte 5: more than 3 elements do not fit a [3]int32", arrays{}},
		{field(1, ""), "", arrays{}},
		{field(1, "\x05\x80"), "no varint", arrays{}},
		{"\x08\x05\x08\x06", "", arrays{Ints: [3]int32{5, 6}}}, // not packed
		{"\x08\x05\x08\x06\x08\x07\x08\x08", "more than 3", arrays{}},
		{field(1, "\x05\x06") + field(1, "\x07"), "", arrays{Ints: [3]int32{7}}}, // the last one counts
		{field(2, "a") + field(2, "b"), "", arrays{Texts: [2]string{"a", "b"}}},
		{field(2, "a") + field(2, "b") + field(2, "c"), "more than 2", arrays{}},
		{field(2, "a") + field(2, "b") + field(3, "xy") + field(2, "c"), "", arrays{Texts: [2]string{"c"}, Code: [2]byte{'x', 'y'}}},
		{field(3, "x"), "", arrays{Code: [2]byte{'x'}}},
		{field(3, "xy") + field(3, "z"), "", arrays{Code: [2]byte{'z'}}},
		{field(3, "xyz"), "Code: at byte 2: 3 bytes do not fit a [2]uint8", arrays{}},
		{"\x15abcd", "wire type 5 does not fit", arrays{}},
	} {
		used := &arrays{[3]int32{1, 2, 3}, [2]string{"old", "old"}, [2]byte{9, 9}}
		for name, read := range map[string]func() (arrays, error){
			"fresh":  func() (v arrays, err error) { err = Decode([]byte(c.body), &v); return v, err },
			"reused": func() (arrays, error) { err := Reuse([]byte(c.body), used); return *used, err },
		} {
			got, err := read()
			if c.err == "" && (err != nil || got != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%x, %s: %+v, %v; want %+v %s", c.body, name, got, err, c.want, c.err)
			}
		}
	}
}

// TestArraysTakeRoom: a field of two bytes does not clear a large array again and again.
func TestArraysTakeRoom(t *testing.T) {
	type large struct {
		Ints  [1 << 17]int64 `weft:"1"`
		Bytes [1 << 20]byte  `weft:"2"`
	}
	for _, part := range []string{"\x0a\x00", "\x12\x00"} {
		v := new(large)
		if err := Decode([]byte(strings.Repeat(part, 10)), v); err != nil {
			t.Errorf("ten times %x: %v", part, err)
		}
		if err := Decode([]byte(strings.Repeat(part, 1000)), v); err == nil || !strings.Contains(err.Error(), "bytes of memory") {
			t.Errorf("a thousand times %x: %v", part, err)
		}
	}
}

// TestAnysTakeRoom has a list whose elements are two bytes each.
func TestAnysTakeRoom(t *testing.T) {
	type list struct {
		Any any `weft:"1"`
	}
	elements := protowire.AppendBytes([]byte{6<<3 | 2}, []byte(strings.Repeat("\x0a\x00", 100_000)))
	if err := Decode(protowire.AppendBytes([]byte{0x0a}, elements), new(list)); err != nil {
		t.Error(err)
	}
	elements = protowire.AppendBytes([]byte{6<<3 | 2}, []byte(strings.Repeat("\x0a\x04\x2a\x02\x0a\x00", 300_000)))
	if err := Decode(protowire.AppendBytes([]byte{0x0a}, elements), new(list)); err == nil || !strings.Contains(err.Error(), "bytes of memory") {
		t.Errorf("maps of one entry: %v", err)
	}
}

// TestSpecialDepth nests values of an any around the limit, and has one that contains itself.
func TestSpecialDepth(t *testing.T) {
	type list struct {
		Any any `weft:"1"`
	}
	nested := func(n int) any {
		var v any
		for range n {
			v = []any{v}
		}
		return v
	}
	body, err := Append(nil, &list{nested(49)}) // the message, and a Value and a ListValue for each, and a Value
	if err != nil {
		t.Fatal(err)
	}
	if err := Decode(body, new(list)); err != nil {
		t.Error(err)
	}
	if _, err := Append(nil, &list{nested(50)}); err == nil || !strings.Contains(err.Error(), "nest too deep") {
		t.Errorf("deeper: %v", err)
	}
	ring := []any{nil}
	ring[0] = ring
	if _, err := Append(nil, &list{ring}); err == nil || !strings.Contains(err.Error(), "nest too deep") {
		t.Errorf("a list that contains itself: %v", err)
	}
}

// TestOwnMethods says which methods count.
func TestOwnMethods(t *testing.T) {
	type v struct {
		Exact exact  `weft:"1"`
		Outer outer  `weft:"2"`
		Port  uint16 `weft:"3"`
	}
	body, err := Append(nil, &v{Outer: outer{money{5}, 6}, Port: 80})
	if want := "\x0a\x01x\x12\x02\x10\x06\x18\x50"; err != nil || string(body) != want {
		t.Errorf("%q, %v, want %q", body, err, want)
	}
}

// A Timestamp or a Duration that comes in two parts has what both say, as any message within one.
func TestTimesInParts(t *testing.T) {
	part := func(b []byte, number protowire.Number, body string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), body)
	}
	body := part(part(nil, 29, "\x08\x05"), 29, "\x10\x07") // At: seconds 5, then nanos 7
	body = part(part(body, 30, "\x08\x05"), 30, "\x10\x07") // Took: the same
	fresh, used := new(order), &order{At: time.Unix(9, 9), Took: time.Hour}
	if err := Decode(body, fresh); err != nil {
		t.Fatal(err)
	}
	if err := Of(reflect.TypeFor[*order]()).Reuse(body, used); err != nil {
		t.Fatal(err)
	}
	for _, got := range []*order{fresh, used} {
		if !got.At.Equal(time.Unix(5, 7)) || got.Took != 5*time.Second+7 {
			t.Errorf("5 s and then 7 ns are %v and %v", got.At, got.Took)
		}
	}
}

type owner struct{ Tenant string }

// A struct that is embedded, and whose type is not exported, is lost where it has a tag: package reflect cannot set such a field.
func TestHiddenEmbedded(t *testing.T) {
	for _, typ := range []reflect.Type{
		reflect.TypeFor[*struct {
			owner `json:"owner"`
			ID    int64
		}](),
		reflect.TypeFor[*struct {
			owner `json:",omitempty"`
			ID    int64
		}](),
		reflect.TypeFor[*struct {
			*owner
			ID int64 `weft:"1"`
		}](),
	} {
		if err := Check(typ); err == nil || !strings.Contains(err.Error(), "owner would be lost") {
			t.Errorf("%s: %v", typ, err)
		}
	}
}
