package msgpack_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/msgpack"
)

type number int8

// A number that the receiver cannot hold is an error, never another number.
func TestNumbersThatDoNotFit(t *testing.T) {
	c := msgpack.New()
	for _, tt := range []struct {
		send any
		into any
		want any // nil: an error
	}{
		{int64(5000000000), new(int32), nil},
		{-1, new(uint8), nil},
		{-1, new(uint64), nil},
		{127, new(int8), int8(127)},
		{128, new(int8), nil},
		{-128, new(int8), int8(-128)},
		{-129, new(int8), nil},
		{255, new(uint8), uint8(255)},
		{256, new(uint8), nil},
		{math.MaxInt16, new(int16), int16(math.MaxInt16)},
		{math.MaxInt16 + 1, new(int16), nil},
		{math.MinInt16 - 1, new(int16), nil},
		{math.MaxUint16 + 1, new(uint16), nil},
		{math.MaxInt32, new(int32), int32(math.MaxInt32)},
		{int64(math.MaxInt32) + 1, new(int32), nil},
		{int64(math.MinInt32) - 1, new(int32), nil},
		{int64(math.MaxUint32), new(uint32), uint32(math.MaxUint32)},
		{int64(math.MaxUint32) + 1, new(uint32), nil},
		{uint64(math.MaxInt64), new(int64), int64(math.MaxInt64)},
		{uint64(math.MaxInt64) + 1, new(int64), nil},
		{uint64(math.MaxUint64), new(uint64), uint64(math.MaxUint64)},
		{300, new(number), nil},
		{[]int{1, 256}, new([]byte), nil},
		{map[int]int{300: 1}, new(map[int8]int), nil},

		{5.0, new(int8), int8(5)}, // as JavaScript may send it
		{5.5, new(int8), nil},
		{128.0, new(int8), nil},
		{-128.0, new(int8), int8(-128)},
		{-1.0, new(uint), nil},
		{float64(1 << 63), new(int64), nil},
		{float64(1 << 63), new(uint64), uint64(1 << 63)},
		{float64(1 << 64), new(uint64), nil},
		{math.NaN(), new(int), nil},
		{math.Inf(1), new(int), nil},
		{float32(3), new(uint16), uint16(3)},

		{7, new(float32), float32(7)},
		{1<<24 + 1, new(float32), nil},
		{int64(1<<53 + 1), new(float64), nil},
		{int64(-1<<53 - 1), new(float64), nil},
		{int64(math.MinInt64), new(float64), float64(math.MinInt64)},
		{uint64(math.MaxUint64), new(float64), nil},
		{int64(math.MaxInt64), new(float32), nil},
		{0.1, new(float32), float32(0.1)}, // rounded: that is what a float32 is for
		{1e300, new(float32), nil},
		{math.Inf(-1), new(float32), float32(math.Inf(-1))},
		{complex(1e300, 0), new(complex64), nil},
		{complex64(1i), new(complex128), complex128(1i)},
	} {
		body, err := c.Append(nil, tt.send)
		if err != nil {
			t.Fatal(err)
		}
		err = c.Decode(body, tt.into)
		switch got := reflect.ValueOf(tt.into).Elem(); {
		case tt.want == nil && (err == nil || !strings.Contains(err.Error(), "fit") && !strings.Contains(err.Error(), "exactly")):
			t.Errorf("%v into a %s: %v, %v; want an error", tt.send, got.Type(), got, err)
		case tt.want != nil && (err != nil || got.Interface() != tt.want):
			t.Errorf("%v into a %s: %v, %v; want %v", tt.send, got.Type(), got, err, tt.want)
		}
	}
}

func TestErrorsSayWhere(t *testing.T) {
	type part struct{ Score int8 }
	type whole struct {
		Parts map[string][]part
	}
	c := msgpack.New()
	body, err := c.Append(nil, map[string]any{"Parts": map[string]any{"x": []any{map[string]int{"Score": 1}, map[string]int{"Score": 1000}}}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `codec/msgpack: decoding into a *msgpack_test.whole, in Parts[x][1].Score: at byte 26: 1000 does not fit a int8`
	if err := c.Decode(body, new(whole)); err == nil || err.Error() != want {
		t.Errorf("%v, want\n%s", err, want)
	}
	if body, err = c.Append(nil, chest{In: map[string]int{"a": 1}}); err != nil {
		t.Fatal(err)
	}
	const methods = "codec/msgpack: decoding into a *msgpack_test.box, in In: at byte 4: a map cannot be decoded into a fmt.Stringer, an interface with methods: give the field a concrete type, or any"
	if err := c.Decode(body, new(box)); err == nil || err.Error() != methods {
		t.Errorf("%v, want\n%s", err, methods)
	}
	if _, err := c.Append(nil, []any{1, struct{ V any }{make(chan int)}}); err == nil || !strings.Contains(err.Error(), "in [1].V: codec/msgpack: chan int is a chan int") {
		t.Errorf("a channel in an any: %v", err)
	}
}

type (
	ring  struct{ Next *ring }
	nest  []nest
	tree  map[string]tree
	knot  *knot
	chest struct{ In any }
	box   struct{ In fmt.Stringer }
)

func (box) String() string { return "" }

// A value that contains itself is an error, as is one that nests deeper than its
// receiver would allow.
func TestCycles(t *testing.T) {
	r := new(ring)
	r.Next = r
	n := make(nest, 1)
	n[0] = n
	m := make(tree)
	m["x"] = m
	c := new(chest)
	c.In = c
	var a any
	a = &a
	s := make([]any, 1)
	s[0] = s
	am := make(map[string]any)
	am["x"] = am
	aa := make(map[any]any)
	aa[1] = aa
	b := new(box)
	b.In = b
	var k knot
	k = &k
	for _, v := range []any{r, *r, n, m, c, a, s, &s, am, aa, b, k, map[string]any{"x": &a}, []any{[2]any{1, a}}, &struct{ *ring }{r}} {
		body, err := msgpack.New().Append(nil, v)
		if err == nil || strings.Contains(err.Error(), "runtime error") || len(err.Error()) > 500 {
			t.Errorf("Append of a %T that contains itself: %d bytes, %.600v", v, len(body), err)
		}
	}
	var deep any
	for range codec.MaxDepth {
		deep = []any{deep}
	}
	body, err := msgpack.New().Append(nil, deep)
	if err != nil || msgpack.New().Decode(body, new(any)) != nil {
		t.Errorf("%d deep: %v", codec.MaxDepth, err)
	}
	if _, err := msgpack.New().Append(nil, []any{deep}); err == nil || !strings.Contains(err.Error(), "nesting deeper than 64: the value may contain itself") {
		t.Errorf("%d deep: %v", codec.MaxDepth+1, err)
	}
}

func TestCheckType(t *testing.T) {
	checker := msgpack.New().(codec.TypeChecker)
	for _, v := range []any{nil, 1, new(ring), ring{}, []any{}, n1{}, new(any), map[string]*chest{}} {
		if err := checker.CheckType(reflect.TypeOf(v)); err != nil {
			t.Errorf("CheckType of a %T: %v", v, err)
		}
	}
	for _, v := range []any{make(chan int), func() {}, new(func()), struct{ C []chan int }{}, &struct{ M map[string]func() }{}, knot(nil), uintptr(1)} {
		if err := checker.CheckType(reflect.TypeOf(v)); err == nil {
			t.Errorf("CheckType of a %T: no error", v)
		}
	}
	typ := reflect.TypeFor[*ring]()
	if n := testing.AllocsPerRun(100, func() { _ = checker.CheckType(typ) }); n != 0 {
		t.Errorf("CheckType of a type that is known: %v allocations", n)
	}
}

type n1 struct {
	Skip chan int `msgpack:"-"`
	A    int
}
