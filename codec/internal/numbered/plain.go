package numbered

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/codec/internal/self"
	"github.com/weftrpc/weft/codec/internal/tags"
)

// ErrCollision is the error of a plain struct of which two fields have one number.
var ErrCollision = errors.New("two fields have one number")

// hashed is a field of a plain struct, or of a struct that is embedded there.
type hashed struct {
	reflect.StructField
	at    memory.Offset
	name  string // in JSON
	path  []int
	depth int
}

// gather lists the fields of the struct t, which lies at base in n, and those of structs that are embedded there.
func (n *node) gather(t reflect.Type, base memory.Offset, path []int) ([]hashed, error) {
	var all []hashed
	for i := range t.NumField() {
		f := t.Field(i)
		at, to := memory.Join(base, f), append(slices.Clip(path), i)
		name := tags.JSONName(f)
		embedded := f.Anonymous && name == f.Name && f.Tag.Get("json") == ""
		switch {
		case !embedded && name != "" && tags.Hides(f):
			return nil, fmt.Errorf("what is in %s.%s would be lost, since its type is not exported", t, f.Name)
		case name == "", !f.IsExported() && !embedded:
			n.others = append(n.others, other{at, f.Type, f.Name})
		case embedded && tags.IsPlain(f.Type) && self.Of(f.Type) == self.None:
			inner, err := n.gather(f.Type, at, to)
			if err != nil {
				return nil, err
			}
			all = append(all, inner...)
		case embedded && f.Type.Kind() == reflect.Pointer && tags.IsPlain(f.Type.Elem()):
			return nil, fmt.Errorf("%s.%s is an embedded pointer, which has no form in Protocol Buffers: give the field a name", t, f.Name)
		case !f.IsExported():
			n.others = append(n.others, other{at, f.Type, f.Name})
		default:
			all = append(all, hashed{StructField: f, at: at, name: name, path: to, depth: len(path)})
		}
	}
	return all, nil
}

// plain completes the node of the plain struct n.typ: its fields have numbers by their names.
func (c *compiler) plain(n *node) error {
	all, err := n.gather(n.typ, *new(memory.Offset), nil)
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b hashed) int { return a.depth - b.depth })
	for i, f := range all {
		if k := slices.IndexFunc(all[:i], func(o hashed) bool { return o.name == f.name }); k >= 0 {
			if all[k].depth == f.depth {
				return fmt.Errorf("%s has two fields with the name %q", n.typ, f.name)
			}
			n.others = append(n.others, other{f.at, f.Type, f.Name}) // hidden, as in Go
			continue
		}
		value, err := c.field(f.Type, "")
		if err != nil {
			return fmt.Errorf("%s.%s: %w", n.typ, f.Name, err)
		}
		n.declare(tags.NumberOf(f.name), f.name, f.path)
		n.fields = append(n.fields, field{number: tags.NumberOf(f.name), at: f.at, node: value, name: f.Name})
	}
	if len(all) == 0 && n.typ.NumField() > 0 && !slices.ContainsFunc(reflect.VisibleFields(n.typ), reflect.StructField.IsExported) {
		return fmt.Errorf("a %s would be lost, since it has no exported field", n.typ)
	}
	return n.order(true)
}
