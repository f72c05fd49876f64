package typecheck

import "reflect"

// EmbedsItself reports whether the struct t has itself embedded, at any depth, so that its fields have no end.
func EmbedsItself(t reflect.Type) bool { return embeds(t, t, make(map[reflect.Type]bool)) }

// embeds reports whether t has whole embedded, at any depth.
func embeds(t, whole reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	for field := range t.Fields() {
		part := field.Type
		if part.Kind() == reflect.Pointer {
			part = part.Elem()
		}
		if !field.Anonymous || part.Kind() != reflect.Struct {
			continue
		}
		if part == whole || embeds(part, whole, seen) {
			return true
		}
	}
	return false
}

// Endless reports whether following pointers from a t never ends.
func Endless(t reflect.Type) bool {
	seen := make(map[reflect.Type]bool)
	for ; t.Kind() == reflect.Pointer; t = t.Elem() {
		if seen[t] {
			return true
		}
		seen[t] = true
	}
	return false
}
