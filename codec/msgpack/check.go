package msgpack

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// verdict is what check says of a type.
type verdict struct {
	err     error // what would be lost, or could not be encoded
	pointer bool  // a pointer to it has the methods of the generator
}

// check says how values of the type t are encoded. With the rules of the library some
// would be lost, or could not be encoded at all. It remembers the answer; there are no
// more of them than types in the program.
func check(t reflect.Type) verdict {
	if t == nil {
		return verdict{}
	}
	known, ok := checked.Load(t)
	if !ok {
		v := verdict{pointer: reflect.PointerTo(t).Implements(reflect.TypeFor[marshaler]())}
		if !v.pointer {
			v.err = checkType(t, t.String(), make(map[reflect.Type]bool))
		}
		known, _ = checked.LoadOrStore(t, v)
	}
	return known.(verdict)
}

// checkType checks t, which is found at path, and the types it is made of. What
// is behind an interface is not known and not checked.
func checkType(t reflect.Type, path string, seen map[reflect.Type]bool) error {
	if seen[t] || t == reflect.TypeFor[time.Time]() {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return checkType(t.Elem(), path, seen)
	case reflect.Map:
		if err := checkType(t.Key(), path, seen); err != nil {
			return err
		}
		return checkType(t.Elem(), path, seen)
	case reflect.Struct:
		return checkStruct(t, path, seen)
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Uintptr:
		return fmt.Errorf("codec/msgpack: %s is a %s, which cannot be encoded", path, t)
	}
	return nil
}

func checkStruct(t reflect.Type, path string, seen map[reflect.Type]bool) error {
	if embeds(t, t, make(map[reflect.Type]bool)) {
		return fmt.Errorf("codec/msgpack: %s is a %s, which embeds itself", path, t)
	}
	empty := t.NumField() > 0
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("msgpack"), ",")
		if name == "-" {
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
		if field.Anonymous && name == "" && base(field.Type) == reflect.TypeFor[time.Time]() {
			return fmt.Errorf("codec/msgpack: %s would be lost, since an embedded time.Time needs a tag with a name", path)
		}
		if err := checkType(field.Type, path, seen); err != nil {
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
		switch name, _, _ := strings.Cut(field.Tag.Get("msgpack"), ","); {
		case name == "-":
		case field.IsExported(), field.Anonymous && carries(base(field.Type), seen):
			return true
		}
	}
	return false
}

// embeds reports whether t has whole embedded, at any depth.
func embeds(t, whole reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	for field := range t.Fields() {
		part := base(field.Type)
		if !field.Anonymous || part.Kind() != reflect.Struct {
			continue
		}
		if part == whole || embeds(part, whole, seen) {
			return true
		}
	}
	return false
}

// base returns t, or what it points to.
func base(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
