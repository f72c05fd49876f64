package msgpack

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// check reports what of the type t would be lost, or could not be encoded, with
// the rules of the library. It remembers the answer; there are no more of them
// than types in the program.
func (c *msgpackCodec) check(t reflect.Type) error {
	if t == nil {
		return nil
	}
	known, ok := c.checked.Load(t)
	if !ok {
		known, _ = c.checked.LoadOrStore(t, checkType(t, t.String(), make(map[reflect.Type]bool)))
	}
	err, _ := known.(error)
	return err
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
