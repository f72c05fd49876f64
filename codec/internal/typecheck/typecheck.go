// Package typecheck tells by a type alone that a library cannot encode its
// values, for codecs over libraries that only say so when they meet one, and which types have no end.
package typecheck

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Checker remembers which types can be encoded. What is behind an interface is
// not known and not checked.
type Checker struct {
	// Tags are the keys of struct tags, one at least, of which the first that a field has counts.
	Tags []string

	// Self reports whether values of a type are encoded by methods of their own.
	Self func(t reflect.Type) bool

	// SelfDecoded reports whether values of a type are decoded by methods of their own, whatever comes for them.
	SelfDecoded func(t reflect.Type) bool

	// Key reports whether a type can be the key of a map; nil: every type that
	// can be encoded.
	Key func(t reflect.Type) bool

	// Methods are those by which a type encodes and decodes itself for the library, for people.
	Methods string

	// Lost refuses structs of which nothing is encoded though they have fields: they would arrive empty.
	Lost bool

	known sync.Map // reflect.Type to verdict
}

// Check returns why values of the type t cannot be encoded; nil when they can, or
// when that depends on the value.
func (c *Checker) Check(t reflect.Type) error {
	v := c.verdict(t)
	return cmp.Or(v.sent, v.uncarried)
}

// CheckEncode returns why no values of the type t are encoded: a field that the tag `weft:"-"` keeps on its side would be sent, or nothing
// of a type that encodes itself for other codecs.
func (c *Checker) CheckEncode(t reflect.Type) error { return c.verdict(t).sent }

// CheckDecode returns why nothing is decoded into values of the type t: such a field would be set, or nothing of such a type.
func (c *Checker) CheckDecode(t reflect.Type) error { return c.verdict(t).set }

// verdict is what was found out about a type.
type verdict struct{ sent, set, uncarried error }

func (c *Checker) verdict(t reflect.Type) verdict {
	if t == nil {
		return verdict{}
	}
	known, ok := c.known.Load(t)
	if !ok {
		path := strings.TrimLeft(t.String(), "*")
		v := verdict{sent: c.strayIn(t, path, c.Self, make(map[reflect.Type]bool)), set: c.strayIn(t, path, c.SelfDecoded, make(map[reflect.Type]bool))}
		if problem := c.problem(t, path, make(map[reflect.Type]bool)); problem != "" {
			v.uncarried = fmt.Errorf("%s, which cannot be encoded", problem)
		}
		known, _ = c.known.LoadOrStore(t, v)
	}
	return known.(verdict)
}

// problem says what of the type t, found at path, cannot be encoded.
func (c *Checker) problem(t reflect.Type, path string, seen map[reflect.Type]bool) string {
	if seen[t] || hasOwn(t, c.Self) {
		return ""
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		return fmt.Sprintf("%s is a %s", path, t)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return c.problem(t.Elem(), path, seen)
	case reflect.Map:
		if c.Key != nil && !c.Key(t.Key()) {
			return fmt.Sprintf("%s is a map with keys of type %s", path, t.Key())
		}
		if c.Key == nil {
			if problem := c.problem(t.Key(), path, seen); problem != "" {
				return problem
			}
		}
		return c.problem(t.Elem(), path, seen)
	case reflect.Struct:
		if c.Lost && t.NumField() > 0 && !c.carries(t, nil) {
			return fmt.Sprintf("%s is a %s, without an exported field", path, t)
		}
		for f := range t.Fields() {
			if c.leftOut(f) || c.Lost && f.Anonymous && !c.carries(f.Type, nil) {
				continue
			}
			if problem := c.problem(f.Type, path+"."+f.Name, seen); problem != "" {
				return problem
			}
		}
	}
	return ""
}

// carries reports whether something of a type is encoded: of a struct, an exported field at any depth of embedding. outer are the structs
// that it is embedded in.
func (c *Checker) carries(t reflect.Type, outer []reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || hasOwn(t, c.Self) {
		return true
	}
	if slices.Contains(outer, t) {
		return false
	}
	outer = append(outer, t)
	for f := range t.Fields() {
		if f.Anonymous && c.carries(f.Type, outer) || !f.Anonymous && f.IsExported() {
			return true
		}
	}
	return false
}

// hasOwn reports whether a type, or a pointer to it, has methods of its own.
func hasOwn(t reflect.Type, has func(t reflect.Type) bool) bool {
	return has(t) || t.Kind() != reflect.Interface && has(reflect.PointerTo(t))
}

// leftOut reports whether the field f is never encoded, or not when it is zero.
func (c *Checker) leftOut(f reflect.StructField) bool {
	_, options, _ := strings.Cut(c.tag(f), ",")
	all := strings.Split(options, ",")
	return c.never(f) || slices.Contains(all, "omitempty") || slices.Contains(all, "omitzero")
}

// never reports whether the field f is neither encoded nor decoded.
func (c *Checker) never(f reflect.StructField) bool {
	return c.tag(f) == "-" || !f.IsExported() && !f.Anonymous
}

// tag returns the tag of the field f that the library goes by.
func (c *Checker) tag(f reflect.StructField) string {
	for _, key := range c.Tags {
		if tag, ok := f.Tag.Lookup(key); ok {
			return tag
		}
	}
	return ""
}
