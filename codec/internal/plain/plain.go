// Package plain lists the fields that a struct without numbers has in Protocol Buffers.
package plain

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/codec/internal/self"
	"github.com/weftrpc/weft/codec/internal/tags"
)

// Field is a field of a struct, or of one that is embedded there.
type Field struct {
	reflect.StructField
	At   memory.Offset // in the outermost struct
	JSON string        // its name in JSON
	Path []int         // its place, as of reflect.StructField.Index
}

// Fields lists the fields of the struct t that travel, by depth, with those of embedded structs in their place, and the rest. Of two
// with one name the deeper one is hidden, as in Go.
func Fields(t reflect.Type) (sent, rest []Field, err error) {
	all, rest, err := gather(t, *new(memory.Offset), nil)
	if err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(all, func(a, b Field) int { return len(a.Path) - len(b.Path) })
	for _, f := range all {
		switch k := slices.IndexFunc(sent, func(o Field) bool { return o.JSON == f.JSON }); {
		case k < 0:
			sent = append(sent, f)
		case len(sent[k].Path) == len(f.Path):
			return nil, nil, fmt.Errorf("%s has two fields with the name %q", t, f.JSON)
		default:
			rest = append(rest, f)
		}
	}
	if len(all) == 0 && t.NumField() > 0 && !slices.ContainsFunc(reflect.VisibleFields(t), reflect.StructField.IsExported) {
		return nil, nil, fmt.Errorf("a %s would be lost, since it has no exported field", t)
	}
	return sent, rest, nil
}

// gather lists the fields of the struct t, which lies at base, on a path, in the outermost one.
func gather(t reflect.Type, base memory.Offset, path []int) (sent, rest []Field, err error) {
	for i := range t.NumField() {
		f := Field{StructField: t.Field(i), Path: append(slices.Clip(path), i)}
		f.At, f.JSON = memory.Join(base, f.StructField), tags.JSONName(f.StructField)
		embedded := f.Anonymous && f.JSON == f.Name && f.Tag.Get("json") == ""
		switch {
		case f.JSON == "":
			rest = append(rest, f)
		case embedded && tags.IsPlain(f.Type) && self.Of(f.Type) == self.None:
			innerSent, innerRest, err := gather(f.Type, f.At, f.Path)
			if err != nil {
				return nil, nil, err
			}
			sent, rest = append(sent, innerSent...), append(rest, innerRest...)
		case embedded && f.Type.Kind() == reflect.Pointer && tags.IsPlain(f.Type.Elem()):
			return nil, nil, fmt.Errorf("%s.%s is an embedded pointer, which has no form in Protocol Buffers: give the field a name", t, f.Name)
		case tags.Hides(f.StructField):
			return nil, nil, fmt.Errorf("what is in %s.%s would be lost, since its type is not exported", t, f.Name)
		case !f.IsExported():
			rest = append(rest, f)
		default:
			sent = append(sent, f)
		}
	}
	return sent, rest, nil
}
