package cbor

import (
	"cmp"
	"fmt"
	"reflect"
	"sync"

	"github.com/weftrpc/weft/codec/internal/self"
)

// hiding remembers for types which of their parts the library loses.
type hiding struct {
	itself func(t reflect.Type) bool // whether the library asks methods of a type
	known  sync.Map                  // reflect.Type to error, or to nil
}

// check returns an error for a type t with values that weft's own codecs ask for bytes, and of which the library, which knows neither their
// methods nor an exported field, has nothing: they would arrive as zero.
func (h *hiding) check(t reflect.Type) error {
	if t == nil {
		return nil
	}
	known, ok := h.known.Load(t)
	if !ok {
		var err error
		if part := h.find(t, make(map[reflect.Type]bool)); part != nil {
			err = fmt.Errorf("codec/cbor: a %s would arrive as zero, since it has no exported field: give it MarshalCBOR and UnmarshalCBOR, or MarshalBinary and UnmarshalBinary", part)
		}
		known, _ = h.known.LoadOrStore(t, err)
	}
	err, _ := known.(error)
	return err
}

// find returns such a part of t, or t itself; nil: there is none. seen has the types that were looked at.
func (h *hiding) find(t reflect.Type, seen map[reflect.Type]bool) reflect.Type {
	if seen[t] || h.itself(t) || t.Kind() != reflect.Interface && h.itself(reflect.PointerTo(t)) {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Map:
		return cmp.Or(h.find(t.Key(), seen), h.find(t.Elem(), seen))
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return h.find(t.Elem(), seen)
	case reflect.Struct:
		if self.Of(t) != self.None && hidesAll(t) {
			return t
		}
		for f := range t.Fields() {
			if notSent(f) {
				continue
			}
			if part := h.find(f.Type, seen); part != nil {
				return part
			}
		}
	}
	return nil
}

// hidesAll reports whether the struct t has fields and no exported one, at any depth of embedding.
func hidesAll(t reflect.Type) bool {
	for _, f := range reflect.VisibleFields(t) {
		if _, embedded := fieldName(f); !embedded && f.IsExported() {
			return false
		}
	}
	return t.NumField() > 0
}
