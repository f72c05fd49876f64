package plan

import (
	"math"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

type (
	level int
	inner struct {
		Name string `thrift:"name,1"`
	}
	all struct {
		B     bool                `thrift:"b,1"`
		I     int                 `thrift:"i,2,i32"`
		U8    uint8               `thrift:"u8,3"`
		U16   uint16              `thrift:"u16,4"`
		U64   uint64              `thrift:"u64,5"`
		F32   float32             `thrift:"f32,6"`
		When  time.Time           `thrift:"when,7"`
		Addr  netip.Addr          `thrift:"addr,8"`
		ID    [16]byte            `thrift:"id,9,uuid"`
		Raw   [4]byte             `thrift:"raw,10"`
		Level level               `thrift:"level,11"`
		Set   map[string]struct{} `thrift:"set,12,set"`
		Array [2]inner            `thrift:"array,13"`
		Ptrs  []*inner            `thrift:"ptrs,14"`
		Table map[uint8][]float64 `thrift:"table,15"`
		Self  *all                `thrift:"self,600"`
		Times map[int64]time.Time `thrift:"times,30000"`
		Long  time.Duration       `thrift:"long,31"`
		None  []string            `thrift:"none,32,optional"`
		Out   func()              `thrift:"-"`
	}
)

func (l level) MarshalText() ([]byte, error) { return []byte("level"), nil }

// trip encodes a value and decodes it.
func trip(t *testing.T, compact bool, from, to any) error {
	t.Helper()
	var set Set
	m := Method{Set: &set, Name: "Svc.M"}
	var w protocol.Writer
	w.Reset(nil, compact)
	if err := m.WriteArgs(&w, from); err != nil {
		return err
	}
	var r protocol.Reader
	r.Reset(w.Buf, compact)
	return m.ReadArgs(&r, to)
}

func TestEveryType(t *testing.T) {
	v := &all{
		B: true, I: -5, U8: 255, U16: 65535, U64: math.MaxInt64, F32: 1.5, When: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Addr: netip.MustParseAddr("::1"),
		ID: [16]byte{1, 15: 2}, Raw: [4]byte{1, 2, 3, 4}, Level: 3, Set: map[string]struct{}{"a": {}, "b": {}}, Array: [2]inner{{"x"}, {"y"}}, Ptrs: []*inner{{"p"}},
		Table: map[uint8][]float64{200: {1, math.Inf(-1)}}, Times: map[int64]time.Time{-1: time.Unix(0, 0).UTC()}, Long: time.Hour,
	}
	v.Self = &all{Addr: netip.MustParseAddr("1.2.3.4"), Set: map[string]struct{}{}, Ptrs: []*inner{}, Table: map[uint8][]float64{}, Times: map[int64]time.Time{}}
	for _, compact := range []bool{false, true} {
		got := &all{B: false, I: 9, None: []string{"before"}}
		if err := trip(t, compact, v, got); err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("compact %v: %v\n got %+v\nwant %+v", compact, err, got, v)
		}
		if err := trip(t, compact, *v, got); err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("compact %v, not a pointer: %v", compact, err)
		}
	}
}

// The tag `weft:"-"` keeps a field on its side, also in a struct without numbers, and a tag that is no number is a wrong number.
func TestWeftTag(t *testing.T) {
	type account struct {
		Name  string
		Admin bool `weft:"-"`
		Age   int
	}
	type both struct {
		Name string
		Age  int
	}
	got := new(account)
	if err := trip(t, false, both{"a", 3}, got); err != nil || got.Name != "a" || got.Age != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	type all struct {
		Name  string
		Admin bool
		Age   int
	}
	if got := new(account); trip(t, false, all{"a", true, 3}, got) == nil && got.Admin {
		t.Error("a peer has set it")
	}
	if err := trip(t, false, struct {
		A int `weft:"-1"`
	}{}, new(account)); err == nil || !strings.Contains(err.Error(), "no field number") {
		t.Errorf("a wrong number: %v", err)
	}
}

// TestEvolution decodes what another version has sent.
func TestEvolution(t *testing.T) {
	type more struct {
		A int64
		B string
		C []int16
	}
	type less struct {
		A int32
		B int32  // has another type: it is skipped
		C []int8 // elements have another size
	}
	var got less
	if err := trip(t, true, &more{A: 7, B: "text", C: []int16{1, -2}}, &got); err != nil || !reflect.DeepEqual(got, less{A: 7, C: []int8{1, -2}}) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := trip(t, true, &more{A: 1 << 40}, &got); err == nil || !strings.Contains(err.Error(), "does not fit") {
		t.Errorf("a large number: %v", err)
	}
	type strict struct {
		A int64  `thrift:"a,1,required"`
		D string `thrift:"d,9,required"`
	}
	if err := trip(t, true, &more{A: 1}, &strict{}); err == nil || !strings.Contains(err.Error(), "field 9, is required") {
		t.Errorf("a required field: %v", err)
	}
	var texts struct{ A, B, C []string }
	if err := trip(t, false, &more{C: []int16{1}}, &texts); err == nil || !strings.Contains(err.Error(), "elements of the type i16") {
		t.Errorf("elements of another type: %v", err)
	}
}

type loop struct{ Next *loop }

func TestRefused(t *testing.T) {
	round := &loop{}
	round.Next = round
	for what, v := range map[string]any{
		"a value that contains itself": round,
		"a large unsigned number":      &struct{ U uint64 }{1 << 63},
		"a number beyond its tag": &struct {
			I int `thrift:"i,1,i8"`
		}{128},
		"a nil pointer in a list": &struct{ L []*inner }{[]*inner{nil}},
		"an any":                  &struct{ A any }{1},
		"a field without a tag": &struct {
			A int `thrift:"a,1"`
			B int
		}{},
		"one number twice": &struct {
			A int `thrift:"a,1"`
			B int `thrift:"b,1"`
		}{},
		"an unknown option": &struct {
			A int `thrift:"a,1,i128"`
		}{},
		"an option that does not fit": &struct {
			A string `thrift:"a,1,i32"`
		}{},
		"a struct as a key": &struct{ M map[inner]int }{map[inner]int{{}: 1}},
		"a required nil": &struct {
			P *int `thrift:"p,1,required"`
		}{},
		"a list of itself":     &struct{ L nest }{},
		"a map of itself":      &tree{},
		"a pointer to itself":  new(knot),
		"a map of lists of it": &struct{ M map[string]forest }{},
	} {
		if err := trip(t, false, v, reflect.New(reflect.TypeOf(v).Elem()).Interface()); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
	const want = "plan.loop.next: plan.loop.next: plan.loop.next: plan.loop.next: (57 more): plan.loop.next: plan.loop.next: plan.loop.next: plan.loop.next: " +
		"more than 64 structs and containers stand in one another: a *plan.loop may contain itself"
	if err := trip(t, false, round, new(loop)); err == nil || err.Error() != want {
		t.Errorf("a value that contains itself: %v", err)
	}
}

// Types that contain themselves without a struct between.
type (
	nest   []nest
	tree   map[string]tree
	knot   *knot
	forest []map[int]forest
)

// branch contains itself through a map of lists.
type branch struct{ Branches branches }

type branches map[string][]branch

// TestRound: a container may contain itself where a struct is between.
func TestRound(t *testing.T) {
	from := branches{"a": {{branches{"b": {{}}}}, {}}}
	var to branches
	if err := trip(t, false, &from, &to); err != nil || len(to["a"]) != 2 || len(to["a"][0].Branches["b"]) != 1 {
		t.Errorf("%v, %v", to, err)
	}
}

// TestLists: the lists that have a way of their own, also with elements of another size.
func TestLists(t *testing.T) {
	type lists struct {
		S []string
		I []int32
		L []int64
		D []float64
		B []bool
		N []int32 `thrift:"n,9,i64"`
	}
	type tagged struct {
		S []string  `thrift:"s,1"`
		I []int32   `thrift:"i,2"`
		L []int64   `thrift:"l,3"`
		D []float64 `thrift:"d,4"`
		B []bool    `thrift:"b,5"`
		N []int32   `thrift:"n,9,i64"`
	}
	type other struct {
		S []string  `thrift:"s,1,set"`
		I []int64   `thrift:"i,2"`
		L []int32   `thrift:"l,3"`
		D []float64 `thrift:"d,4"`
		B []bool    `thrift:"b,5"`
		N []int64   `thrift:"n,9,i32"`
	}
	v := &tagged{S: []string{"a", ""}, I: []int32{-1, 2}, L: []int64{3}, D: []float64{0.5}, B: []bool{true, false}, N: []int32{7}}
	want := other{S: v.S, I: []int64{-1, 2}, L: []int32{3}, D: v.D, B: v.B, N: []int64{7}}
	for _, compact := range []bool{false, true} {
		var back tagged
		if err := trip(t, compact, v, &back); err != nil || !reflect.DeepEqual(&back, v) {
			t.Errorf("%+v, %v", back, err)
		}
		var got other
		if err := trip(t, compact, v, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v", got, err)
		}
		if err := trip(t, compact, &tagged{}, &back); err != nil || back.S == nil || len(back.S) != 0 {
			t.Errorf("%+v, %v", back, err)
		}
	}
	if err := trip(t, false, &lists{}, &lists{}); err == nil || !strings.Contains(err.Error(), "has no field number") {
		t.Errorf("fields without tags: %v", err)
	}
}

// TestRoom: few bytes make no large list.
func TestRoom(t *testing.T) {
	type large struct{ A [4 << 10]int64 }
	var set Set
	m := Method{Set: &set, Name: "Svc.M"}
	b := append([]byte{15, 0, 1, 12, 0, 0, 0x10, 0}, make([]byte, 4097)...)
	var r protocol.Reader
	r.Reset(b, false)
	var v struct{ L []large }
	if err := m.ReadArgs(&r, &v); err == nil || !strings.Contains(err.Error(), "more memory") {
		t.Errorf("128 MiB from 4 KiB: %v", err)
	}
	var ok struct{ L []inner }
	r.Reset(b, false)
	if err := m.ReadArgs(&r, &ok); err != nil || len(ok.L) != 4096 {
		t.Errorf("%d, %v", len(ok.L), err)
	}
}

// TestResults: the places of replies.
func TestResults(t *testing.T) {
	type result struct {
		Value *int32 `thrift:"success,0"`
		Error *inner `thrift:"error,1"`
	}
	var set Set
	m := Method{Set: &set, Name: "Svc.M"}
	bytesOf := func(v any) []byte {
		var w protocol.Writer
		if err := m.WriteResult(&w, v); err != nil {
			t.Fatal(err)
		}
		return w.Buf
	}
	read := func(b []byte, v any) (*Thrown, error) {
		var r protocol.Reader
		r.Reset(b, false)
		return m.ReadResult(&r, v)
	}
	n := int32(7)
	var back int32
	if _, err := read(bytesOf(&n), &back); err != nil || back != 7 {
		t.Errorf("a number: %d, %v", back, err)
	}
	if _, err := read(bytesOf(&result{Value: &n}), &back); err != nil || back != 7 {
		t.Errorf("a whole result: %d, %v", back, err)
	}
	thrown, err := read(bytesOf(&result{Error: &inner{"gone"}}), &back)
	var in inner
	if err != nil || thrown == nil || thrown.ID != 1 || (&Thrown{Body: thrown.Body}).Decode(&in) != nil || in.Name != "gone" {
		t.Errorf("an exception: %+v, %v", thrown, err)
	}
	var w protocol.Writer
	if err := WriteThrown(&w, thrown); err != nil || string(w.Buf) != string(bytesOf(&result{Error: &inner{"gone"}})) {
		t.Errorf("%x, %v", w.Buf, err)
	}
	if _, err := read(bytesOf(&struct{}{}), &back); err != ErrNoResult {
		t.Errorf("void for a number: %v", err)
	}
	if _, err := read(bytesOf(&struct{}{}), &struct{}{}); err != nil {
		t.Errorf("void: %v", err)
	}
	if _, err := read(bytesOf(&n), nil); err != nil {
		t.Errorf("a reply that is dropped: %v", err)
	}
	if _, err := read(append(bytesOf(&n), 0), &back); err == nil {
		t.Error("a byte behind the message was taken")
	}
}
