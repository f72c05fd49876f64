package typecheck

import (
	"fmt"
	"reflect"
)

// strayIn tells of a field in the type t, found at path, that the library would carry though the tag `weft:"-"` keeps it out of weft's own
// codecs: what a server sets there by itself, such as the rights of the caller, any caller could set.
func (c *Checker) strayIn(t reflect.Type, path string, seen map[reflect.Type]bool) error {
	if seen[t] || c.own(t) {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Map:
		if err := c.strayIn(t.Key(), path, seen); err != nil {
			return err
		}
		return c.strayIn(t.Elem(), path, seen)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return c.strayIn(t.Elem(), path, seen)
	case reflect.Struct:
		for f := range t.Fields() {
			path := path + "." + f.Name
			if c.stray(f) {
				key := c.Tags[len(c.Tags)-1]
				return fmt.Errorf("%s has the tag `weft:\"-\"` and would travel: give it `%s:\"-\"` too, or `%s:\"%s\"` to have it sent", path, key, key, f.Name)
			}
			if c.never(f) {
				continue
			}
			if err := c.strayIn(f.Type, path, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// stray reports whether only the tag of weft speaks of the field f, and says that it does not travel.
func (c *Checker) stray(f reflect.StructField) bool {
	_, told := c.tag(f)
	return !told && f.IsExported() && f.Tag.Get("weft") == "-"
}
