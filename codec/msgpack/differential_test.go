package msgpack

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/shamaton/msgpack/v3"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/codectest"
)

type (
	count  int16
	label  string
	labels []label
	chain  struct {
		Name string
		Next *chain
	}
	Inner struct {
		A       int
		B       string `msgpack:"b,omitempty"`
		Deepest `msgpack:",omitempty"`
	}
	Deepest struct {
		A    string // hidden by Inner.A
		C    []int8
		Kind count `msgpack:"kind"`
	}
	Beside struct {
		D    uint16
		Kind count `msgpack:"kind"`
	}
	embedding struct {
		First int
		Inner
		*Beside
		B        int
		Wide     [3]uint32 `msgpack:"a name of more than sixteen bytes,omitempty"`
		Tail     *string
		Named    Inner `msgpack:"named"`
		Labelled labels
	}
	everything struct {
		Bool                                      bool
		I8                                        int8
		I16                                       int16
		I32                                       int32
		I64                                       int64
		I                                         int
		U8                                        uint8
		U16                                       uint16
		U32                                       uint32
		U64                                       uint64
		U                                         uint
		F32                                       float32
		F64                                       float64
		C64                                       complex64
		C128                                      complex128
		Text                                      string
		Bytes                                     []byte
		Four                                      [4]byte
		Times                                     []string
		Grid                                      [2][]int32
		ByText                                    map[string]string
		ByLabel                                   map[label]count
		ByNumber                                  map[int32][]string
		Numbers                                   map[string]int
		Bools                                     map[string]bool
		Floats                                    map[string]float64
		Longs                                     map[string]int64
		Any                                       any
		Anys                                      []any
		List                                      []chain
		Pointers                                  []*chain
		Chain                                     *chain
		Twice                                     **int
		Empty                                     struct{}
		OmitInt                                   int            `msgpack:"oi,omitempty"`
		OmitText                                  string         `msgpack:",omitempty"`
		OmitList                                  []int          `msgpack:",omitempty"`
		OmitMap                                   map[int]string `msgpack:",omitempty"`
		OmitStruct                                chain          `msgpack:",omitempty"`
		OmitFloat                                 float64        `msgpack:",omitempty"`
		AFieldWithALongName, AFieldWithALongName2 int
	}
)

// subjects returns a pointer to a zero value of each type that is compared.
func subjects() []any {
	return []any{new(everything), new(embedding), new(chain), new(codectest.Message), new([]everything), new(map[string]embedding),
		new(any), new(map[any]any), new([]embedding), new(struct{ A, B int32 }), new(labels), new(int8), new(string)}
}

// valueOf returns the value of type t that the bytes stand for, with maps of so
// many entries at most.
func valueOf(t reflect.Type, data []byte, entries int) any {
	v := reflect.New(t)
	(&dice{data, entries}).fill(v.Elem(), 4)
	return v.Interface()
}

// compareValue holds what becomes of a value to what shamaton's library makes of
// it: both must read what the other wrote, also over an older value.
func compareValue(t *testing.T, v, older any) {
	t.Helper()
	ours, err := New().Append(nil, v)
	if err != nil {
		t.Fatalf("Append of %+v: %v", v, err)
	}
	theirs, err := msgpack.MarshalAsMap(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := scanTo(ours, codec.MaxDepth); err != nil || len(ours) != len(theirs) {
		t.Fatalf("of a %T: %v\n%x, want\n%x", v, err, ours, theirs)
	}
	// What is hidden by another field does not travel, so v itself is not the measure.
	want := theirReading(t, theirs, v)
	if got := theirReading(t, ours, v); !reflect.DeepEqual(got, want) {
		t.Fatalf("of a %T they read %.500v\nfrom %x, want\n%.500v", v, got, ours, want)
	}
	used := newLike(v)
	for _, step := range []struct {
		body []byte
		want any
	}{{theirs, want}, {encoded(t, older), nil}, {ours, want}} {
		err := New().Decode(step.body, used)
		if err != nil || step.want != nil && !reflect.DeepEqual(used, step.want) {
			t.Fatalf("of a %T we read, %v, %.500v\nfrom %x, want\n%.500v", v, err, reflect.ValueOf(used).Elem(), step.body, step.want)
		}
	}
}

func newLike(v any) any { return reflect.New(reflect.TypeOf(v).Elem()).Interface() }

// theirReading returns what shamaton's library reads from body.
func theirReading(t *testing.T, body []byte, like any) any {
	t.Helper()
	v := newLike(like)
	if err := msgpack.UnmarshalAsMap(bytes.Clone(body), v); err != nil {
		t.Fatalf("they cannot read a %T from %x: %v", v, body, err)
	}
	return v
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	body, err := New().Append(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// noise returns random bytes.
func noise(random *rand.Rand, most int) []byte {
	b := make([]byte, 1+random.IntN(most))
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

func TestValues(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		for _, subject := range subjects() {
			typ := reflect.TypeOf(subject).Elem()
			compareValue(t, valueOf(typ, noise(random, 2000), 4), valueOf(typ, noise(random, 200), 4))
		}
	}
}

// FuzzValues has maps of one entry alone: with more, each run would go other ways.
func FuzzValues(f *testing.F) {
	random := rand.New(rand.NewPCG(5, 6))
	for i := range 50 {
		f.Add(append([]byte{byte(i)}, noise(random, 500)...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		all := subjects()
		typ := reflect.TypeOf(all[int(data[0])%len(all)]).Elem()
		compareValue(t, valueOf(typ, data[1:], 1), valueOf(typ, data[len(data)/2:], 1))
	})
}

// FuzzBodies decodes broken bodies. Where both accept one, the values are the same.
func FuzzBodies(f *testing.F) {
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 200 {
		body, err := New().Append(nil, valueOf(reflect.TypeOf(subjects()[i%4]).Elem(), noise(random, 500), 4))
		if err != nil {
			f.Fatal(err)
		}
		for range 10 {
			if len(body) > 0 {
				body[random.IntN(len(body))] = byte(random.Uint32())
				f.Add(bytes.Clone(body))
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		valid := scanTo(body, codec.MaxDepth) == nil
		once := valid && unique(body)
		for _, subject := range subjects() {
			err := New().Decode(body[:len(body):len(body)], subject)
			if err == nil && !valid {
				t.Fatalf("a %T is read from %x, which is no value", subject, body)
			}
			if err != nil && strings.Contains(err.Error(), "runtime error") {
				t.Fatalf("reading a %T from %x: %v", subject, body, err)
			}
			if err != nil || !once {
				continue
			}
			compareDecoded(t, body, subject)
		}
	})
}

// compareDecoded holds what was read from a body to what shamaton's library reads.
func compareDecoded(t *testing.T, body []byte, got any) {
	t.Helper()
	want := newLike(got)
	accepted := false
	func() {
		defer func() { _ = recover() }()
		accepted = msgpack.UnmarshalAsMap(bytes.Clone(body), want) == nil
	}()
	if !accepted || reflect.DeepEqual(got, want) {
		return
	}
	// A NaN is not equal to itself.
	if g, w := encoded(t, got), encoded(t, want); len(g) != len(w) {
		t.Fatalf("a %T read from %x:\n%+v, want\n%+v", got, body, got, want)
	}
	again := newLike(got)
	if err := New().Decode(encoded(t, got), again); err != nil {
		t.Fatalf("a %T read from %x cannot be read again: %v", got, body, err)
	}
}

// unique reports whether no map in body has a key twice. shamaton's library
// lets a second value show parts of the first.
func unique(body []byte) bool {
	ok := true
	var walk func(i int) int
	walk = func(i int) int {
		f, n, next := head(body, i)
		switch f {
		case text, binaryText:
			return next + int(n)
		case extension:
			return next + int(n) + 1
		case list:
			for range int(n) {
				next = walk(next)
			}
		case table:
			keys := make(map[string]bool)
			for range int(n) {
				end := walk(next)
				if f, _, from := head(body, next); f == text || f == binaryText {
					next = from // one name has many encodings
				}
				ok = ok && !keys[string(body[next:end])]
				keys[string(body[next:end])] = true
				next = walk(end)
			}
		}
		return next
	}
	walk(0)
	return ok
}
