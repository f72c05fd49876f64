package gob_test

import (
	"bytes"
	stdgob "encoding/gob"
	"math/big"
	"math/rand"
	"reflect"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/codectest"
	"github.com/weftrpc/weft/codec/gob"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) {
	stdgob.Register(Leaf{})
	stdgob.Register(Box{})
	stdgob.Register(Many{})
	stdgob.Register([]any{})
	stdgob.Register(map[string]any{})
	leak.Main(m)
}

type Leaf struct{ S string }

type Box struct{ X any }

type Many struct{ L []any }

type Outer struct {
	A int
	V any
	L []any
	Z string
}

type Tree struct {
	Value       int
	Left, Right *Tree
}

// kinds has what the sample message has not.
type kinds struct {
	C64   complex64
	C128  complex128
	Array [3]uint8
	Grid  [2][2]string
	Big   *big.Int
	Text  Upper
	Ptr   **int
	Keys  map[Leaf][]map[int8]float32
}

// Upper encodes itself as text.
type Upper string

func (u Upper) MarshalText() ([]byte, error)     { return []byte(strings.ToUpper(string(u))), nil }
func (u *Upper) UnmarshalText(text []byte) error { *u = Upper(text); return nil }

func nested() *Outer {
	return &Outer{
		A: 7, V: Box{X: Leaf{"hi"}}, Z: "end",
		L: []any{Box{X: Box{X: Leaf{"yo"}}}, Leaf{"z"}, 5, nil, map[string]any{"k": []any{"x", 1.5, Box{}}}},
	}
}

func TestConformance(t *testing.T) {
	number, text := 5, "text"
	p := &number
	codectest.Run(t, gob.New(), codectest.Config{
		Values: []any{
			&codectest.Part{Name: "p", Score: 1, Ids: []uint16{1, 500}}, &number, &text, nested(),
			&Tree{1, &Tree{2, nil, nil}, &Tree{3, &Tree{4, nil, nil}, nil}},
			&kinds{C64: 1i, C128: 2, Array: [3]uint8{1, 2, 255}, Big: big.NewInt(-1 << 40), Text: "UP", Ptr: &p,
				Keys: map[Leaf][]map[int8]float32{{"a"}: {{1: 2}, {-1: 0.5}}}},
		},
		Refused: []any{make(chan int), func() {}, nil, (*Tree)(nil), struct{ a int }{1}, Box{X: struct{ A int }{1}}},
	})
	if _, ok := gob.New().(codec.Sizer); ok {
		t.Error("gob runs GobEncode methods, so it must not be a Sizer")
	}
}

func TestSample(t *testing.T) {
	body, err := gob.New().Append(nil, codectest.Sample())
	if err != nil {
		t.Fatal(err)
	}
	var got codectest.Message
	if err := gob.New().Decode(body, &got); err != nil {
		t.Fatal(err)
	}
	// gob does not tell an empty slice from none.
	if want := codectest.Sample(); !reflect.DeepEqual(&got, want) {
		t.Errorf("got %+v\nwant %+v", &got, want)
	}
}

// TestReadsWhatOthersWrite has bodies of encoding/gob, for values of random shape.
func TestReadsWhatOthersWrite(t *testing.T) {
	type shape struct {
		A map[string][]Leaf
		B []map[uint8]*Tree
		C [2]struct{ X, Y []float64 }
		D []complex128
		E []bool
		F map[[2]int16]string
	}
	type mixed struct {
		Shape shape
		Any   []any
	}
	random := rand.New(rand.NewSource(1))
	for range 100 {
		generated, ok := quick.Value(reflect.TypeFor[shape](), random)
		if !ok {
			t.Fatal("no value")
		}
		sent := mixed{Shape: generated.Interface().(shape)}
		for i, m := range sent.Shape.B {
			sent.Any = append(sent.Any, i, Box{X: Box{X: i}}, nil, []any{Leaf{"x"}, map[string]any{"k": Box{X: Leaf{"y"}}}})
			for k := range m {
				m[k] = &Tree{Value: i, Left: &Tree{}}
			}
		}
		var body bytes.Buffer
		if err := stdgob.NewEncoder(&body).Encode(sent); err != nil {
			t.Fatal(err)
		}
		var got, want mixed
		if err := stdgob.NewDecoder(bytes.NewReader(body.Bytes())).Decode(&want); err != nil {
			t.Fatal(err)
		}
		if err := gob.New().Decode(body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatal("decoded to another value than by encoding/gob")
		}
	}
}

// TestSkips has values behind interfaces in fields that the receiver does not
// have, and in which encoding/gob alone loses its way.
func TestSkips(t *testing.T) {
	type short struct {
		A int
		Z string
	}
	deep := &Outer{A: 7, V: Box{X: []any{Box{X: Leaf{"x"}}}}, Z: "end", L: []any{Box{X: map[string]any{"k": Leaf{"y"}}}}}
	body, err := gob.New().Append(nil, deep)
	if err != nil {
		t.Fatal(err)
	}
	var got short
	if err := gob.New().Decode(body, &got); err != nil || got != (short{7, "end"}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestNilInterfaces has nil interfaces in every place, and receivers that take
// them and that do not.
func TestNilInterfaces(t *testing.T) {
	type lacking struct{ A int }
	for name, test := range map[string]struct {
		sent    any
		got     any
		skipped bool
	}{
		"slice":             {[]any{nil, 1, nil}, new([]any), false},
		"map":               {map[string]any{"a": nil}, new(map[string]any), false},
		"array":             {[2]any{nil, 1}, new([2]any), false},
		"pointers":          {&[]any{nil}, new(*[]any), false},
		"behind interface":  {Outer{V: []any{nil, map[string]any{"a": nil}}}, new(Outer), false},
		"in a struct there": {Outer{V: Many{[]any{nil, Many{[]any{nil}}}}}, new(Outer), false},
		"field lacking":     {Outer{A: 1, L: []any{nil}}, new(lacking), true},
		"around lacking":    {struct{ X []Outer }{[]Outer{{L: []any{nil}}}}, new(struct{ X []lacking }), true},
		"behind lacking":    {struct{ V any }{Many{[]any{nil}}}, new(lacking), true},
	} {
		t.Run(name, func(t *testing.T) {
			body, err := gob.New().Append(nil, test.sent)
			if err != nil {
				t.Fatal(err)
			}
			err = gob.New().Decode(body, test.got)
			switch {
			case test.skipped && (err == nil || !strings.Contains(err.Error(), "lacks a field")):
				t.Errorf("Decode: %v, want an error about the field", err)
			case !test.skipped && err != nil:
				t.Error(err)
			case !test.skipped:
				if got := reflect.Indirect(reflect.ValueOf(test.got).Elem()).Interface(); !reflect.DeepEqual(got, reflect.Indirect(reflect.ValueOf(test.sent)).Interface()) {
					t.Errorf("got %+v, want %+v", got, test.sent)
				}
			}
		})
	}
}

func TestSelfDecodingValue(t *testing.T) {
	want := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	body, err := gob.New().Append(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	var got time.Time
	if err := gob.New().Decode(body, &got); err != nil || !got.Equal(want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if err := gob.New().Decode(body, (*time.Time)(nil)); err == nil {
		t.Error("Decode into a nil *time.Time: no error")
	}
}

func BenchmarkAppend(b *testing.B) {
	c, v, dst := gob.New(), codectest.Sample(), make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Append(dst, v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	c := gob.New()
	body, err := c.Append(nil, codectest.Sample())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var v codectest.Message
		if err := c.Decode(body, &v); err != nil {
			b.Fatal(err)
		}
	}
}

// version has a text form, which gob does not ask for.
type version struct{ Major, Minor int }

func (v *version) UnmarshalText([]byte) error { return nil }

func TestNothingStaysBesideText(t *testing.T) {
	c, v := gob.New(), version{}
	for _, want := range []version{{1, 2}, {3, 0}} {
		body, err := c.Append(nil, &want)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Decode(body, &v); err != nil || v != want {
			t.Errorf("%+v, %v; want %+v", v, err, want)
		}
	}
}
