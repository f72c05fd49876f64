package codec_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/weftrpc/weft/codec"
)

type node struct {
	Name string
	Next *node
	Tags map[string]any
	back *node
}

func (n *node) parent() *node { return n.back }

type sealed struct{ Self *sealed }

func chain(n int) *node {
	var first *node
	for range n {
		first = &node{Next: first, Name: "n"}
	}
	return first
}

func TestNesting(t *testing.T) {
	ring := &node{}
	ring.Next = ring
	child := &node{back: &node{}}
	child.parent().Next = child
	table := map[string]any{}
	table["self"] = table
	slice := []any{1, nil}
	slice[1] = &slice
	seal := &sealed{}
	seal.Self = seal
	tangle := &node{Tags: map[string]any{}}
	tangle.Tags["list"] = []any{[]int{1}, map[string]*node{"self": tangle}}
	var pointer any
	pointer = &pointer

	n := codec.Nesting{Opaque: func(t reflect.Type) bool { return t == reflect.TypeFor[sealed]() }}
	for name, test := range map[string]struct {
		v    any
		deep bool
	}{
		"nil":           {nil, false},
		"number":        {1, false},
		"at the limit":  {chain(codec.MaxDepth), false},
		"beyond":        {chain(codec.MaxDepth + 1), true},
		"ring":          {ring, true},
		"not exported":  {child, false},
		"map":           {table, true},
		"slice":         {slice, true},
		"opaque":        {seal, false},
		"tangle":        {tangle, true},
		"pointer":       {pointer, true},
		"nil interface": {[]any{nil, (*node)(nil), map[string]any(nil)}, false},
		"wide":          {make([]any, 100_000), false},
		"flat":          {[][]map[string]int{{{"a": 1}}}, false},
	} {
		for range 2 { // the second time with what is known of the type
			err := n.Check(test.v)
			if (err != nil) != test.deep {
				t.Errorf("%s: %v", name, err)
			}
			if err != nil && !strings.Contains(err.Error(), "nests deeper than 64, or contains itself") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	few := codec.Nesting{Max: 2}
	if few.Check(chain(2)) != nil || few.Check(chain(3)) == nil {
		t.Error("Max is not heeded")
	}
	skipped := codec.Nesting{Skip: func(f reflect.StructField) bool { return f.Name == "Next" }}
	if err := skipped.Check(ring); err != nil {
		t.Errorf("a field that is left out: %v", err)
	}
}

// Structs that are embedded are no containers where the encoder says so, and one that embeds itself is looked at to an end.
func TestNestingEmbedded(t *testing.T) {
	type inner struct{ Any any }
	type outer struct{ inner }
	n := codec.Nesting{Max: 1, Embedded: func(reflect.StructField) bool { return true }}
	if err := n.Check(&outer{inner{1}}); err != nil {
		t.Errorf("an embedded struct: %v", err)
	}
	if n.Check(&outer{inner{inner{}}}) == nil {
		t.Error("a struct within an embedded one is not counted")
	}
	if counted := (&codec.Nesting{Max: 1}); counted.Check(&outer{}) == nil {
		t.Error("an embedded struct is not counted, though Embedded does not say so")
	}
	type loop struct{ *loop }
	l := &loop{}
	l.loop = l
	if n.Check(l) == nil {
		t.Error("a struct that embeds itself")
	}
}
