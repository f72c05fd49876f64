package gob

import (
	"fmt"
	"reflect"
)

// CheckType reports why values of the type t, or what such a pointer points to, cannot be gob: they are channels or
// functions, hold such as elements, or are structs with fields of which none is sent. Fields of a struct that are not sent
// do no harm beside others.
func (c *gobCodec) CheckType(t reflect.Type) error {
	if t == nil {
		return nil
	}
	known, ok := c.carried.Load(t)
	if !ok {
		var wrong error
		if problem := uncarried(t, make(map[reflect.Type]bool)); problem != "" {
			wrong = fmt.Errorf("codec/gob: %s", problem)
		}
		known, _ = c.carried.LoadOrStore(t, carried{wrong})
	}
	return known.(carried).err
}

// carried is what CheckType has found of a type.
type carried struct{ err error }

// uncarried says what of a type cannot be sent; "": values can be. seen has the types that were looked at.
func uncarried(t reflect.Type, seen map[reflect.Type]bool) string {
	t = base(t)
	if seen[t] || encodesItself(t) || decodesItself(t) {
		return ""
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return fmt.Sprintf("a %s cannot be encoded", t)
	case reflect.Slice, reflect.Array:
		return uncarried(t.Elem(), seen)
	case reflect.Map:
		if problem := uncarried(t.Key(), seen); problem != "" {
			return problem
		}
		return uncarried(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if !notSent(f) {
				return ""
			}
		}
		if t.NumField() > 0 {
			return fmt.Sprintf("%s has no exported field that can be encoded", t)
		}
	}
	return ""
}
