package schema_test

import (
	"reflect"
	"testing"

	"github.com/weftrpc/weft/schema"
)

type (
	// tree, nest and link contain themselves without a struct between.
	tree map[string]tree
	nest []nest
	link *link

	// shelf contains itself through grove.
	shelf map[string]grove
	grove struct {
		Tree  tree
		Nest  *nest
		Link  link
		Shelf shelf
		Again tree
	}
)

// TestTypesWithinThemselves: a type that contains itself without a struct between ends at an any.
func TestTypesWithinThemselves(t *testing.T) {
	b := schema.NewBuilder()
	b.Add("S", schema.Method{Name: "M", Kind: schema.Unary, Request: b.Reflect(reflect.TypeFor[shelf](), ""), Reply: b.Reflect(reflect.TypeFor[tree](), "")})
	m, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	one := m.Message("schema_test.grove")
	if one == nil || one.NoProto == "" {
		t.Fatalf("%+v", one)
	}
	for i, want := range []schema.Type{
		{Kind: schema.KindMap, Elem: &schema.Type{Kind: schema.KindAny}},
		{Kind: schema.KindList, Elem: &schema.Type{Kind: schema.KindAny}, Optional: true},
		{Kind: schema.KindAny, Optional: true},
		{Kind: schema.KindMap, Elem: &schema.Type{Kind: schema.KindMessage, Name: "schema_test.grove"}},
		{Kind: schema.KindMap, Elem: &schema.Type{Kind: schema.KindAny}},
	} {
		got := *one.Fields[i].Type
		got.Key = nil // a string
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v of %+v, want %+v", one.Fields[i].Go, got, got.Elem, want)
		}
	}
	if s := schema.For[tree](schema.NewSet("#/")); s.Type != "object" || s.AdditionalProperties == nil || s.AdditionalProperties.Type != "" {
		t.Errorf("the JSON Schema of a tree is %+v", s)
	}
}
