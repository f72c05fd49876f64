package msgpack

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/weftrpc/weft/codec/internal/self"
	"github.com/weftrpc/weft/codec/internal/typecheck"
)

// check says why values of the type t cannot travel, or would lose something.
func check(t reflect.Type) error {
	return checkType(t, strings.TrimLeft(t.String(), "*"), make(map[looked]bool), false)
}

// looked is a type that was checked: as the inner struct of another, which may hide fields of it by its own, or as one that travels whole.
type looked struct {
	at    reflect.Type
	inner bool
}

// checkType checks t, which is found at path, and the types it is made of. What
// is behind an interface is not known and not checked.
func checkType(t reflect.Type, path string, seen map[looked]bool, inner bool) error {
	if seen[looked{t, inner}] {
		return nil
	}
	seen[looked{t, inner}] = true
	if err := self.Check(t); err != nil {
		return fmt.Errorf("codec/msgpack: %s: %w", path, err)
	}
	if _, ok := selfCoding(t); ok {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		if typecheck.Endless(t) {
			return fmt.Errorf("codec/msgpack: %s is a %s, which points to nothing but itself", path, t)
		}
		return checkType(t.Elem(), path, seen, inner)
	case reflect.Slice, reflect.Array:
		return checkType(t.Elem(), path, seen, false)
	case reflect.Map:
		if err := checkType(t.Key(), path, seen, false); err != nil {
			return err
		}
		return checkType(t.Elem(), path, seen, false)
	case reflect.Struct:
		if err := checkStruct(t, path, seen); err != nil {
			return err
		}
		if _, tied := collect(t); !inner && len(tied) > 1 {
			return fmt.Errorf("codec/msgpack: %s%s and %s%s would be lost, since both are called %q: give one of them a tag with another name, or `msgpack:\"-\"`",
				path, tied[0].path, path, tied[1].path, tied[0].name)
		}
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Uintptr:
		return fmt.Errorf("codec/msgpack: %s is a %s, which cannot be encoded", path, t)
	}
	return nil
}

func checkStruct(t reflect.Type, path string, seen map[looked]bool) error {
	if typecheck.EmbedsItself(t) {
		return fmt.Errorf("codec/msgpack: %s is a %s, which embeds itself", path, t)
	}
	empty := t.NumField() > 0
	for field := range t.Fields() {
		name, _, out := tagOf(field)
		if out {
			empty = false // on purpose
			continue
		}
		if !field.IsExported() {
			if field.Anonymous && carries(base(field.Type), make(map[reflect.Type]bool)) {
				return fmt.Errorf("codec/msgpack: what is in %s.%s would be lost, since its type is not exported", path, field.Name)
			}
			continue
		}
		empty = false
		path := path + "." + field.Name
		if field.Name[0] < 'A' || field.Name[0] > 'Z' {
			return fmt.Errorf("codec/msgpack: %s would be lost, since its name does not begin with A to Z", path)
		}
		if _, own := selfCoding(base(field.Type)); own && flattened(field, name) {
			return fmt.Errorf("codec/msgpack: %s would be lost, since an embedded %s needs a tag with a name", path, base(field.Type))
		}
		if err := checkType(field.Type, path, seen, flattened(field, name)); err != nil {
			return err
		}
	}
	if empty {
		return fmt.Errorf("codec/msgpack: %s would be lost, since %s has no exported field", path, t)
	}
	return nil
}

// carries reports whether a struct has fields that should travel, at any depth.
func carries(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t.Kind() != reflect.Struct || seen[t] {
		return false
	}
	seen[t] = true
	for field := range t.Fields() {
		switch _, _, out := tagOf(field); {
		case out:
		case field.IsExported(), field.Anonymous && carries(base(field.Type), seen):
			return true
		}
	}
	return false
}
