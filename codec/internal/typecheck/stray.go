package typecheck

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/weftrpc/weft/codec/internal/self"
)

// strayIn tells of a field in the type t, found at path, that the library would carry though the tag `weft:"-"` keeps it out of weft's own
// codecs: what a server sets there by itself, such as the rights of the caller, any caller could set. itself reports which types the library
// does not look into. It also tells of a type with methods for weft's own codecs, such as MarshalWeft, which the library does not call, and no
// exported field: nothing of it would travel.
func (c *Checker) strayIn(t reflect.Type, path string, itself func(t reflect.Type) bool, seen map[reflect.Type]bool) error {
	if seen[t] || hasOwn(t, itself) {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Map:
		if err := c.strayIn(t.Key(), path, itself, seen); err != nil {
			return err
		}
		return c.strayIn(t.Elem(), path, itself, seen)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return c.strayIn(t.Elem(), path, itself, seen)
	case reflect.Struct:
		if self.Of(t) != self.None && t.NumField() > 0 && !c.carries(t, nil) {
			return fmt.Errorf("%s is a %s, of which nothing would travel: it encodes itself for other codecs and has no exported field; give it %s", path, t, c.Methods)
		}
		for f := range t.Fields() {
			path := path + "." + f.Name
			if c.stray(f) {
				key := c.Tags[len(c.Tags)-1]
				return fmt.Errorf("%s has the tag `weft:\"-\"` and would travel: give it `%s:\"-\"` too, or `%s:\"%s\"` to have it sent", path, key, key, f.Name)
			}
			if c.never(f) {
				continue
			}
			if err := c.strayIn(f.Type, path, itself, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// stray reports whether the tag of weft says that the field f does not travel, and none of the library gives it a name or says so too. Of an embedded struct whose type is not
// exported the exported fields would.
func (c *Checker) stray(f reflect.StructField) bool {
	name, _, _ := strings.Cut(c.tag(f), ",")
	return name == "" && f.Tag.Get("weft") == "-" && (f.IsExported() || isEmbeddedStruct(f) && c.carries(f.Type, nil))
}

func isEmbeddedStruct(f reflect.StructField) bool {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return f.Anonymous && t.Kind() == reflect.Struct
}
