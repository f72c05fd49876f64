package memory

import (
	"reflect"
	"testing"
)

type (
	small  int8
	part   struct{ A, B small }
	record struct {
		Flag  bool
		I8    small
		I16   int16
		I32   int32
		I64   int64
		U8    uint8
		U16   uint16
		U32   uint32
		U64   uint64
		F32   float32
		F64   float64
		Text  string
		Bytes []byte
		Any   any
		Part  part
		Array [3]part
		List  []part
		Next  *part
		Map   map[string]int
	}
)

// field returns a reference to a field of r.
func field(t *testing.T, r *record, name string) Ref {
	t.Helper()
	f, ok := reflect.TypeFor[record]().FieldByName(name)
	if !ok {
		t.Fatal(name)
	}
	return To(r).Field(Join(*new(Offset), f))
}

func TestSetAndGet(t *testing.T) {
	r := new(record)
	at := func(name string) Ref { return field(t, r, name) }
	at("Flag").SetBool(true)
	at("I8").Set8(0xfe)
	at("I16").Set16(0xfffd)
	at("I32").Set32(0xfffffffc)
	at("I64").Set64(1<<64 - 5)
	at("U8").Set8(0xfe)
	at("U16").Set16(0xfffd)
	at("U32").Set32(0xfffffffc)
	at("U64").Set64(1<<64 - 5)
	at("F32").SetFloat32(1.5)
	at("F64").SetFloat64(2.5)
	at("Text").SetText(String([]byte("text")))
	at("Bytes").SetBytes([]byte("bytes"))
	at("Any").SetAny(7)
	at("Next").Allocate(reflect.TypeFor[part]()).Value(reflect.TypeFor[part]()).Field(0).SetInt(9)
	want := record{
		Flag: true, I8: -2, I16: -3, I32: -4, I64: -5, U8: 254, U16: 65533, U32: 1<<32 - 4, U64: 1<<64 - 5,
		F32: 1.5, F64: 2.5, Text: "text", Bytes: []byte("bytes"), Any: 7, Next: &part{A: 9},
	}
	if !reflect.DeepEqual(*r, want) {
		t.Errorf("\n got %+v\nwant %+v", *r, want)
	}
	got := []any{
		at("Flag").Bool(), at("I8").Int8(), at("I16").Int16(), at("I32").Int32(), at("I64").Int64(),
		at("U8").Uint8(), at("U16").Uint16(), at("U32").Uint32(), at("U64").Uint64(),
		at("F32").Float32(), at("F64").Float64(), at("Text").Text(), string(at("Bytes").Bytes()), at("Any").Any(),
		at("Next").IsNil(), at("Map").IsNil(), at("List").IsNil(), at("Bytes").Len(),
	}
	wanted := []any{
		true, int8(-2), int16(-3), int32(-4), int64(-5), uint8(254), uint16(65533), uint32(1<<32 - 4), uint64(1<<64 - 5),
		float32(1.5), 2.5, "text", "bytes", 7, false, true, true, 5,
	}
	if !reflect.DeepEqual(got, wanted) {
		t.Errorf("\n got %v\nwant %v", got, wanted)
	}
	if at("Any").SetAny(nil); r.Any != nil {
		t.Errorf("the any is %v after it was set to nil", r.Any)
	}
}

func TestWithin(t *testing.T) {
	r := &record{Part: part{1, 2}, Array: [3]part{1: {3, 4}}, List: []part{{}, {5, 6}}, Next: &part{7, 8}}
	typ := reflect.TypeFor[part]()
	b, _ := typ.FieldByName("B")
	outer, _ := reflect.TypeFor[record]().FieldByName("Part")
	second, origin := Join(*new(Offset), b), To(r)
	for i, at := range []Ref{
		origin.Field(Join(Join(*new(Offset), outer), b)),
		field(t, r, "Array").Index(1, typ.Size()).Field(second),
		field(t, r, "List").Elem(1, typ.Size()).Field(second),
		field(t, r, "Next").Pointee().Field(second),
	} {
		if got, want := at.Int8(), int8(2*i+2); got != want {
			t.Errorf("place %d holds %d, want %d", i, got, want)
		}
	}
	if As[record](Of(reflect.ValueOf(r))) != r || As[part](field(t, r, "Part")) != &r.Part {
		t.Error("As returns another address")
	}
}

func TestTarget(t *testing.T) {
	x := &record{I64: 7}
	if r, ok := Target(x); !ok || r.Value(reflect.TypeFor[record]()).Addr().Interface() != any(x) {
		t.Error("Target returns another variable")
	}
	if _, ok := Target((*record)(nil)); ok {
		t.Error("nil is a target")
	}
	if Hidden(x) != x {
		t.Error("Hidden returns another pointer")
	}
	if TypeWord(x) != TypeWord(new(record)) {
		t.Error("one type has two words")
	}
	if (TypeWord(x) == TypeWord(*x) || TypeWord(x) == TypeWord(nil)) && Words {
		t.Error("two types have one word")
	}
}
