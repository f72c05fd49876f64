package numbered

import (
	"reflect"
	"strings"
	"testing"

	"github.com/weftrpc/weft/codec/generated"
)

type (
	// code has the methods of generated code, but FieldsWeft.
	code struct{}
	// Leaf has code of its own.
	Leaf struct {
		code
		A int64 `weft:"1"`
	}
	// ring has code that calls its own and that of Leaf.
	ring struct {
		code
		Next *ring              `weft:"1"`
		List []Leaf             `weft:"2"`
		By   map[string]changed `weft:"3"` // left to the plan
	}
	// changed has a field more than its code is for.
	changed struct {
		code
		A int64 `weft:"1"`
		B int64 `weft:"2"`
	}
	holdsChanged struct {
		code
		In changed `weft:"1"`
	}
	holdsDeep struct {
		code
		Ring *ring           `weft:"1"`
		List []*holdsChanged `weft:"2"`
	}
	// grown has two fields more that do not travel, and one without a name.
	grown struct {
		code
		A     int64 `weft:"1"`
		Added any   `weft:"-"`
		_     int
		added string
	}
	// described has them, too, and code that empties them.
	described struct {
		code
		A     int64 `weft:"1"`
		_     int
		added string
		Added any `weft:"-"`
	}
	// Outer has the methods of what it embeds.
	Outer struct {
		Leaf `weft:"1"`
		B    int64 `weft:"2"`
	}
	holdsOuter struct {
		code
		Outer Outer `weft:"1"`
	}
	// behind has the methods of a struct behind a pointer.
	behind struct {
		*Outer `weft:"1"`
		B      int64 `weft:"2"`
	}
	// words has numbers that are as long as the processor's words.
	words struct {
		code
		Int    int    `weft:"1"`
		Zigzag *int   `weft:"2,zigzag"`
		Uints  []uint `weft:"3"`
	}
)

func (code) AppendWeft(b []byte, _ int) ([]byte, bool)          { return b, false }
func (code) DecodeWeft(_ *generated.Reader, from, _, _ int) int { return from }
func (*Leaf) FieldsWeft() string                                { return "Leaf{1 A int64; - code}" }
func (*ring) FieldsWeft() string {
	return "ring{1 Next *struct ring; 2 List []struct Leaf; 3 By map; - code}"
}
func (*changed) FieldsWeft() string      { return "changed{1 A int64; - code}" }
func (*holdsChanged) FieldsWeft() string { return "holdsChanged{1 In struct changed; - code}" }
func (*holdsDeep) FieldsWeft() string {
	return "holdsDeep{1 Ring *struct ring; 2 List []*struct holdsChanged; - code}"
}
func (*grown) FieldsWeft() string      { return "grown{1 A int64; - code}" }
func (*described) FieldsWeft() string  { return "described{1 A int64; - Added; - added; - code}" }
func (*holdsOuter) FieldsWeft() string { return "holdsOuter{1 Outer struct Outer; - code}" }
func (*words) FieldsWeft() string {
	return "words{1 Int int64; 2 Zigzag *zigzag64; 3 Uints []uint64; - code}"
}

// Original is Leaf, embedded in a struct that is named Leaf as well, as that of another package could be.
type Original = Leaf

// TestHasCode: code for other fields than a struct has is an error, also of the structs within; methods of
// embedded structs are no code of the outer one.
func TestHasCode(t *testing.T) {
	type Leaf struct {
		Original `weft:"1"`
		B        int64 `weft:"2"`
	}
	type pointer *ring
	for _, c := range []struct {
		v    any
		code bool
		want string // an error
	}{
		{v: &Original{}, code: true},
		{v: Original{}, code: true},
		{v: &ring{}, code: true},
		{v: pointer(&ring{})},
		{v: &described{added: "x"}, code: true},
		{v: &words{}, code: true},
		{v: &Outer{}},
		{v: &behind{}},
		{v: &Leaf{}},
		{v: &changed{}, want: "the code of numbered.changed is for other fields than it has: run weft generate -codec again (it is for changed{1 A int64; - code}, and there is changed{1 A int64; 2 B int64; - code})"},
		{v: &holdsChanged{}, want: "the code of numbered.changed is for other fields"},
		{v: &holdsDeep{}, want: "the code of numbered.changed is for other fields"},
		{v: &grown{added: "x"}, want: "and there is grown{1 A int64; - Added; - added; - code})"},
		{v: &holdsOuter{}, want: "numbered.Outer has no code of its own, which the code of a struct that contains it calls: run weft generate -codec again"},
	} {
		p := planOf(reflect.TypeOf(c.v))
		if p.generated != c.code || c.want == "" && p.err != nil || c.want != "" && (p.err == nil || !strings.Contains(p.err.Error(), c.want)) {
			t.Errorf("%T: code %v, %v; want %v, %q", c.v, p.generated, p.err, c.code, c.want)
		}
	}
	want := &Leaf{Original{A: 1}, 2}
	body, err := Append(nil, want)
	if got := new(Leaf); err != nil || Decode(body, got) != nil || *got != *want {
		t.Errorf("%x, %+v, %v", body, got, err)
	}
}
