package gob

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

type square struct{ Side int }

type circle struct{ Radius float64 }

// holder has a place for values of any type, some of which hold others.
type holder struct {
	Name  string
	Shape any
	Next  *holder
}

func register() {
	gob.Register(square{})
	gob.Register(circle{})
	gob.Register(holder{})
}

// fickle encodes itself, or fails to.
type fickle struct {
	text string
	fail bool
}

var errFickle = errors.New("not today")

func (f fickle) GobEncode() ([]byte, error) {
	if f.fail {
		return nil, errFickle
	}
	return []byte(f.text), nil
}

func (f *fickle) GobDecode(b []byte) error {
	if string(b) == "bad" {
		return errFickle
	}
	f.text = string(b)
	return nil
}

// TestEachBodyStandsAlone has one codec encode many values, and a decoder that
// has read nothing before decode each of the bodies.
func TestEachBodyStandsAlone(t *testing.T) {
	register()
	c := New()
	type wide struct {
		A entry
		B []entry
		C map[string]list
	}
	values := []any{
		&entry{1}, &entry{}, entry{2}, &wide{B: []entry{{3}}}, &wide{C: map[string]list{"": {&list{}}}},
		&holder{Shape: square{2}}, &holder{Shape: "text"}, &holder{Shape: circle{3}, Next: &holder{Shape: square{4}}},
		&holder{Shape: holder{Shape: holder{Shape: circle{5}}}}, &holder{Shape: holder{Shape: square{6}}}, &holder{}, &holder{Shape: 7},
		&[]any{1, square{1}}, &[]any{2, circle{2}}, &[]any{nil}, &[]any{[]any{circle{3}}, square{3}},
		&fickle{text: "a"}, &fickle{}, &[2]fickle{},
	}
	for round := range 3 {
		for _, v := range values {
			body, err := c.Append([]byte("head"), v)
			if err != nil {
				t.Fatal(err)
			}
			want := reflect.Indirect(reflect.ValueOf(v)).Interface()
			got := reflect.New(reflect.TypeOf(want))
			if err := gob.NewDecoder(bytes.NewReader(body[4:])).DecodeValue(got); err != nil {
				t.Fatalf("round %d, %+v: %v", round, v, err)
			}
			if !reflect.DeepEqual(got.Elem().Interface(), want) {
				t.Fatalf("round %d: got %+v, want %+v", round, got.Elem(), want)
			}
			got = reflect.New(reflect.TypeOf(want))
			if err := c.Decode(body[4:], got.Interface()); err != nil || !reflect.DeepEqual(got.Elem().Interface(), want) {
				t.Fatalf("round %d: decoded %+v, %v; want %+v", round, got.Elem(), err, want)
			}
		}
	}
}

// TestFailuresLeaveNothing has an encoder and a decoder fail between sound calls.
func TestFailuresLeaveNothing(t *testing.T) {
	register()
	type pair struct {
		E entry
		F fickle
		V any
	}
	c, sound := New(), pair{entry{1}, fickle{text: "x"}, square{1}}
	for range 3 {
		if _, err := c.Append(nil, pair{F: fickle{fail: true}}); !errors.Is(err, errFickle) {
			t.Fatalf("Append: %v, want %v", err, errFickle)
		}
		if _, err := c.Append(nil, pair{V: struct{ A int }{}}); err == nil {
			t.Fatal("Append of an unregistered type: no error")
		}
		body, err := c.Append(nil, sound)
		if err != nil {
			t.Fatal(err)
		}
		var got pair
		if err := c.Decode(body, &got); err != nil || got != sound {
			t.Fatalf("got %+v, %v; want %+v", got, err, sound)
		}
		bad, err := c.Append(nil, pair{F: fickle{text: "bad"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Decode(bad, &got); err == nil {
			t.Fatal("Decode of what its type refuses: no error")
		}
	}
}

// TestReusesCoders has an encoder and a decoder used again for the same type, and
// only for it.
func TestReusesCoders(t *testing.T) {
	c := New().(*gobCodec)
	body := bodyOf(t, entry{5})
	for range 10 {
		if _, err := c.Append(nil, entry{5}); err != nil {
			t.Fatal(err)
		}
		var got entry
		if err := c.Decode(body, &got); err != nil || got.A != 5 {
			t.Fatal(got, err)
		}
	}
	if len(c.memory.ring) != 1 {
		t.Error("one description was not remembered once")
	}
}

// TestForgetsDescriptions has many descriptions for one type, one of which is in
// use all the time.
func TestForgetsDescriptions(t *testing.T) {
	c := New().(*gobCodec)
	body := bodyOf(t, entry{1})
	var got entry
	if err := c.Decode(body, &got); err != nil {
		t.Fatal(err)
	}
	r, _ := c.receivers.Load(reflect.TypeFor[*entry]())
	all, m := r.(*receiver), &c.memory
	first := m.ring[0]
	name := strings.IndexByte(string(body), 'e') // of "entry"
	for i := range 2 * maxKnown {
		if err := c.Decode(body, &got); err != nil {
			t.Fatal(err)
		}
		other := bytes.Clone(body)
		copy(other[name:], fmt.Sprintf("%05d", i))
		if err := c.Decode(other, &got); err != nil || got.A != 1 {
			t.Fatal(got, err)
		}
	}
	if n := len(*all.known.Load()); n != maxKnown || len(m.ring) != n || m.size != n*len(first.heading.defs) {
		t.Errorf("%d descriptions are remembered, %d in the ring with %d bytes, want %d", n, len(m.ring), m.size, maxKnown)
	}
	if (*all.known.Load())[first.heading] != first {
		t.Error("the description in use was forgotten")
	}
}

// TestForgetsLongDescriptions has descriptions that are few but long.
func TestForgetsLongDescriptions(t *testing.T) {
	c := New().(*gobCodec)
	var got int
	for i := range 100 {
		body := append(message(appendInt(nil, -firstDescribed), wireSlice(strings.Repeat(fmt.Sprintf("%05d", i), 3000))), message([]byte{4, 0, 2})...)
		if err := c.Decode(body, &got); err != nil || got != 1 {
			t.Fatal(got, err)
		}
	}
	if c.memory.size > maxKnownTogether || c.memory.size < maxKnownTogether-maxKnownSize {
		t.Errorf("%d bytes of descriptions are remembered, want up to %d", c.memory.size, maxKnownTogether)
	}
}

// wireSlice returns the description of a slice of int with that name.
func wireSlice(name string) []byte {
	b := append([]byte{2, 1, 1}, appendUint(nil, uint64(len(name)))...)
	return append(append(b, name...), 0, 1, 4, 0, 0)
}

// TestTypeNumbers has numbers of types that encoding/gob would cut to 32 bits.
func TestTypeNumbers(t *testing.T) {
	defs, value := split(t, bodyOf(t, []string{"a"}))
	for _, id := range []int64{1<<32 + 6, 1<<31 + 1, -1 << 31, 1 << 40} {
		for name, body := range map[string][]byte{
			"value":       message(appendInt(nil, id), []byte{0, 1, 'a'}),
			"description": append(message(appendInt(nil, -id), defs[3:]), message(value)...),
		} {
			var v any
			for _, v := range []any{&v, new(string), new([]string)} {
				if err := New().Decode(body, v); err == nil || !strings.Contains(err.Error(), "the largest is 2147483647") {
					t.Errorf("%s with type %d into a %T: %v", name, id, v, err)
				}
			}
		}
	}
}

func TestCyclicValues(t *testing.T) {
	register()
	ring := &list{}
	ring.Next = ring
	loop := &holder{}
	loop.Shape = loop
	slice := []any{nil}
	slice[0] = slice
	table := map[string]any{}
	table["self"] = table
	type itself *itself
	var pointer itself
	pointer = &pointer
	for _, v := range []any{ring, loop, slice, table, pointer} {
		if _, err := New().Append(nil, v); err == nil || !strings.Contains(err.Error(), "contains itself") {
			t.Errorf("Append of a cyclic %T: %v", v, err)
		}
	}
	if err := New().Decode(bodyOf(t, 1), &pointer); err == nil {
		t.Error("Decode into a pointer to itself: no error")
	}
}

func TestOverflow(t *testing.T) {
	for _, test := range []struct {
		sent any
		into []any
	}{
		{int64(5_000_000_000), []any{new(int32), new(int16), new(*int8)}},
		{uint64(256), []any{new(uint8)}},
		{1e300, []any{new(float32)}},
		{[]int64{5_000_000_000}, []any{new([]int32)}},
		{map[int64]uint64{5_000_000_000: 1}, []any{new(map[int32]uint64)}},
		{map[string]int64{"A": 5_000_000_000}, []any{new(map[string]int32)}},
		{struct{ A int64 }{5_000_000_000}, []any{new(struct{ A int32 }), new(struct{ A uint64 }), new(struct{ B int64 })}},
		{complex(1e300, 0), []any{new(complex64)}},
	} {
		c := New()
		body, err := c.Append(nil, test.sent)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range test.into {
			for range 2 {
				if err := c.Decode(body, v); err == nil {
					t.Errorf("%v into a %T: no error", test.sent, v)
				}
			}
		}
	}
}

// Headings that are forgotten leave no decoder behind that counts as one which outlives a collection of garbage.
func TestForgottenDecodersAreNotCounted(t *testing.T) {
	c := New().(*gobCodec)
	for i := range 2 * maxKnown {
		fields := []reflect.StructField{{Name: fmt.Sprintf("F%d", i), Type: reflect.TypeFor[int]()}}
		body := bodyOf(t, reflect.New(reflect.StructOf(fields)).Elem().Interface())
		var v square
		_ = c.Decode(body, &v) // no field matches, which gob refuses
	}
	body := bodyOf(t, square{3})
	for range 2 {
		var v square
		if err := c.Decode(body, &v); err != nil || v.Side != 3 {
			t.Fatal(v, err)
		}
	}
	strong := int32(0)
	for _, k := range c.memory.ring {
		if k.strong.Load() != nil {
			strong++
		}
	}
	if n := c.memory.strong.Load(); n != strong {
		t.Errorf("%d decoders are counted, there are %d", n, strong)
	}
}
