package source_test

import (
	"go/types"
	"reflect"
	"testing"

	"github.com/weftrpc/weft/generate/internal/source"
)

// TestFacts reads types that the language has; those of sources are read by the tests of package generate.
func TestFacts(t *testing.T) {
	r := source.NewReader()
	for _, c := range []struct {
		t    types.Type
		kind reflect.Kind
		name string
	}{
		{types.Typ[types.Int64], reflect.Int64, "int64"},
		{types.Typ[types.Uint8], reflect.Uint8, "uint8"},
		{types.Universe.Lookup("byte").Type(), reflect.Uint8, "byte"},
		{types.Universe.Lookup("any").Type(), reflect.Interface, ""},
		{types.NewSlice(types.Typ[types.String]), reflect.Slice, ""},
		{types.NewArray(types.Typ[types.Bool], 3), reflect.Array, ""},
		{types.NewMap(types.Typ[types.String], types.Typ[types.Bool]), reflect.Map, ""},
		{types.NewPointer(types.Typ[types.Bool]), reflect.Pointer, ""},
		{types.NewChan(types.SendRecv, types.Typ[types.Bool]), reflect.Chan, ""},
		{types.NewStruct(nil, nil), reflect.Struct, ""},
		{types.Typ[types.Invalid], reflect.Invalid, "invalid type"},
	} {
		f := r.Type(c.t).Facts()
		if f.Kind != c.kind || f.Name != c.name || f.Package != "" {
			t.Errorf("%v: %+v", c.t, f)
		}
	}
	if key, elem := r.Type(types.NewMap(types.Typ[types.Int], types.Typ[types.Bool])).Key().Facts(), r.Type(types.NewArray(types.Typ[types.Bool], 3)).Elem().Facts(); key.Kind != reflect.Int || elem.Kind != reflect.Bool {
		t.Errorf("%v, %v", key, elem)
	}
	if r.Type(types.Typ[types.Int]).Fields() != nil || r.Err() != nil {
		t.Error("a number has fields")
	}
}
