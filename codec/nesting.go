package codec

import (
	"fmt"
	"reflect"
	"sync"
)

// A Nesting finds values that nest deeper than a codec can encode, first of all
// those that contain themselves: an encoder that follows such a value recurses
// until the stack is full, which ends the process. A codec over an encoder that
// sets no bound of its own calls Check before it.
//
// Check looks at a value only when its type can contain itself, or holds an
// interface, whose type is not known; for any other type it costs a lookup.
type Nesting struct {
	// Max is how many containers (structs, slices, arrays, maps) may nest inside
	// one another; 0 means MaxDepth.
	Max int

	// Opaque reports whether values of a type encode themselves, so that the
	// encoder does not look into them; nil means that none do.
	Opaque func(reflect.Type) bool

	// Skip reports whether the encoder leaves out a field; nil means those
	// that are not exported, other than embedded structs.
	Skip func(reflect.StructField) bool

	// Embedded reports whether the encoder writes the fields of an embedded struct
	// as those of the struct around it, so that it is no container; nil means that
	// it never does.
	Embedded func(reflect.StructField) bool

	deep sync.Map // reflect.Type to bool: whether its values are looked at
}

// Check returns an error when v nests too deep.
func (n *Nesting) Check(v any) error {
	t := reflect.TypeOf(v)
	if t == nil {
		return nil
	}
	deep, known := n.deep.Load(t)
	if !known {
		deep = n.mayNest(t, make(map[reflect.Type]bool))
		n.deep.Store(t, deep)
	}
	if deep == false {
		return nil
	}
	w := walk{nesting: n, most: n.Max}
	if w.most == 0 {
		w.most = MaxDepth
	}
	if w.holdsTooDeep(v, 0, 0) {
		return fmt.Errorf("a %T nests deeper than %d, or contains itself", v, w.most)
	}
	return nil
}

func (n *Nesting) opaque(t reflect.Type) bool { return n.Opaque != nil && n.Opaque(t) }

func (n *Nesting) skip(f reflect.StructField) bool {
	if n.Skip == nil {
		return !f.IsExported() && !f.Anonymous
	}
	return n.Skip(f)
}

// mayNest reports whether values of the type t can nest without end: t contains
// itself or an interface. seen has the types that were looked at: true for those
// around t, false for those that cannot nest.
func (n *Nesting) mayNest(t reflect.Type, seen map[reflect.Type]bool) bool {
	if around, ok := seen[t]; ok {
		return around
	}
	seen[t] = true
	deep := !n.opaque(t) && n.partsMayNest(t, seen)
	seen[t] = deep
	return deep
}

func (n *Nesting) partsMayNest(t reflect.Type, seen map[reflect.Type]bool) bool {
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return n.mayNest(t.Elem(), seen)
	case reflect.Map:
		return n.mayNest(t.Key(), seen) || n.mayNest(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if !n.skip(f) && n.mayNest(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// A walk looks for the first place that is too deep.
type walk struct {
	nesting *Nesting
	most    int
}

// maxPointers is how many pointers and interfaces may stand behind one another.
// A pointer can point to itself without a container between.
const maxPointers = 1000

// tooDeep reports whether v, which has depth containers around it and pointers
// pointers right before it, nests too deep.
func (w walk) tooDeep(v reflect.Value, depth, pointers int) bool {
	if !v.IsValid() || depth > w.most || pointers > maxPointers {
		return v.IsValid()
	}
	t := v.Type()
	if w.nesting.opaque(t) {
		return false
	}
	switch t.Kind() {
	case reflect.Interface:
		if t.NumMethod() == 0 && v.CanInterface() {
			return w.holdsTooDeep(v.Interface(), depth, pointers+1)
		}
		return w.tooDeep(v.Elem(), depth, pointers+1)
	case reflect.Pointer:
		return w.tooDeep(v.Elem(), depth, pointers+1)
	case reflect.Slice, reflect.Array:
		if v.Len() == 0 || flat(t.Elem()) {
			bytes := t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 // no container for any encoder
			return v.Len() > 0 && depth >= w.most && !bytes
		}
		for i := range v.Len() {
			if w.tooDeep(v.Index(i), depth+1, 0) {
				return true
			}
		}
		return depth >= w.most
	case reflect.Map:
		if v.Len() == 0 || flat(t.Key()) && flat(t.Elem()) {
			return v.Len() > 0 && depth >= w.most
		}
		for entries := v.MapRange(); entries.Next(); {
			if w.tooDeep(entries.Key(), depth+1, 0) || w.tooDeep(entries.Value(), depth+1, 0) {
				return true
			}
		}
		return depth >= w.most
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if flat(f.Type) || w.nesting.skip(f) {
				continue
			}
			inner, behind := depth+1, 0
			if f.Anonymous && w.nesting.Embedded != nil && w.nesting.Embedded(f) {
				inner, behind = depth, pointers+1 // an embedded pointer may point to what it stands in
			}
			if w.tooDeep(v.Field(i), inner, behind) {
				return true
			}
		}
		return depth >= w.most
	}
	return false
}

// holdsTooDeep is tooDeep for what an interface holds. The types that decoders give to values of unknown types are looked at without reflection,
// which would allocate for each entry of a map.
func (w walk) holdsTooDeep(v any, depth, pointers int) bool {
	if depth > w.most {
		return v != nil
	}
	switch v := v.(type) {
	case nil, bool, string, float64, int, int64, uint64:
		return false
	case map[string]any:
		for _, entry := range v {
			if w.holdsTooDeep(entry, depth+1, 0) {
				return true
			}
		}
		return len(v) > 0 && depth >= w.most
	case []any:
		for _, entry := range v {
			if w.holdsTooDeep(entry, depth+1, 0) {
				return true
			}
		}
		return len(v) > 0 && depth >= w.most
	}
	return w.tooDeep(reflect.ValueOf(v), depth, pointers)
}

// flat reports whether values of the type t have no parts to look into.
func flat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface, reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
		return false
	}
	return true
}
