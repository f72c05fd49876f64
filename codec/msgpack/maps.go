package msgpack

import (
	"reflect"

	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/codec/internal/pack"
)

// common is a type of map that is read and written without package reflect.
type common uint8

const (
	uncommon common = iota
	textToText
	textToAny
	textToBool
	textToInt
	textToInt64
	textToFloat64
)

func commonOf(t reflect.Type) common {
	switch t {
	case reflect.TypeFor[map[string]string]():
		return textToText
	case reflect.TypeFor[map[string]any]():
		return textToAny
	case reflect.TypeFor[map[string]bool]():
		return textToBool
	case reflect.TypeFor[map[string]int]():
		return textToInt
	case reflect.TypeFor[map[string]int64]():
		return textToInt64
	case reflect.TypeFor[map[string]float64]():
		return textToFloat64
	}
	return uncommon
}

// commonTable writes the entries of a map of a common type.
func (e *encoder) commonTable(n *node, r memory.Ref, i, depth int) int {
	switch n.common {
	case textToText:
		for k, v := range *memory.As[map[string]string](r) {
			if i = e.text(k, i); i < 0 {
				return failed
			}
			if i = e.text(v, i); i < 0 {
				return e.in("[%q]", k)
			}
		}
		return i
	case textToAny:
		for k, v := range *memory.As[map[string]any](r) {
			if i = e.text(k, i); i < 0 {
				return failed
			}
			if i = e.any(v, i, depth); i < 0 {
				return e.in("[%q]", k)
			}
		}
		return i
	case textToBool:
		return textEntries[bool](e, n, r, i)
	case textToInt:
		return textEntries[int](e, n, r, i)
	case textToInt64:
		return textEntries[int64](e, n, r, i)
	}
	return textEntries[float64](e, n, r, i)
}

// textEntries writes the entries of a map from strings to numbers.
func textEntries[V any](e *encoder, n *node, r memory.Ref, i int) int {
	v := new(V)
	at := memory.To(v)
	var k string
	for k, *v = range *memory.As[map[string]V](r) {
		if i = e.text(k, i); i < 0 {
			return failed
		}
		i = putNumber(n.elem.op, e.room(i, slack+2), i, at)
	}
	return i
}

// commonTable reads the entries of a map of a common type.
func (d *decoder) commonTable(n *node, r memory.Ref, i, count, depth int) int {
	switch n.common {
	case textToText:
		return textTable[string](d, n, r, i, count, depth)
	case textToAny:
		return textTable[any](d, n, r, i, count, depth)
	case textToBool:
		return textTable[bool](d, n, r, i, count, depth)
	case textToInt:
		return textTable[int](d, n, r, i, count, depth)
	case textToInt64:
		return textTable[int64](d, n, r, i, count, depth)
	}
	return textTable[float64](d, n, r, i, count, depth)
}

// textTable reads the entries of a map from strings to V.
func textTable[V any](d *decoder, n *node, r memory.Ref, i, count, depth int) int {
	m := *memory.As[map[string]V](r)
	if !spendTable(d, count, sizeText+n.elem.size) {
		return failed
	}
	if !d.reuse || m == nil {
		m = make(map[string]V, count)
		*memory.As[map[string]V](r) = m
	}
	if count == 0 {
		return i
	}
	v := new(V)
	at := memory.To(v)
	for range count {
		d.owed -= 2
		from, to := d.span(i, "a string")
		if to < 0 {
			return failed
		}
		k := d.string(from, to)
		if i = d.value(n.elem, at, to, depth); i < 0 {
			return d.in("[%q]", k)
		}
		m[k] = *v // which the next replaces whole
	}
	return i
}

// table writes a map that is not nil.
func (e *encoder) table(n *node, r memory.Ref, i, depth int) int {
	if depth == 0 {
		return e.tooDeep()
	}
	m := r.Value(n.typ)
	i = pack.TableHead(e.room(i, pack.MaxHead), i, m.Len())
	if n.common != uncommon {
		return e.commonTable(n, r, i, depth-1)
	}
	key, value := reflect.New(n.key.typ), reflect.New(n.elem.typ)
	for entries := m.MapRange(); entries.Next(); {
		key.Elem().SetIterKey(entries)
		value.Elem().SetIterValue(entries)
		if i = e.value(n.key, memory.Of(key), i, depth-1); i < 0 {
			return e.in("[key %v]", key.Elem())
		}
		if i = e.value(n.elem, memory.Of(value), i, depth-1); i < 0 {
			return e.in("[%v]", key.Elem())
		}
	}
	return i
}

// table reads a map.
func (d *decoder) table(n *node, r memory.Ref, i, depth int) int {
	f, count, next := head(d.body, i)
	switch {
	case f == null:
		r.Value(n.typ).SetZero()
		return next
	case f != table:
		return d.unfit(f, i, n)
	case depth == 0:
		return d.tooDeep(i)
	case !d.claim(2*count, i, next):
		return failed
	}
	if n.common != uncommon {
		return d.commonTable(n, r, next, int(count), depth-1)
	}
	i = next
	m := r.Value(n.typ)
	if !spendTable(d, int(count), n.key.size+n.elem.size) {
		return failed
	}
	if !d.reuse || m.IsNil() {
		m.Set(reflect.MakeMapWithSize(n.typ, d.affordable(int(count), n.key.size+n.elem.size, i)))
	}
	key, value := reflect.New(n.key.typ), reflect.New(n.elem.typ)
	for range int(count) {
		d.owed -= 2
		key.Elem().SetZero()
		value.Elem().SetZero()
		at := i
		if i = d.value(n.key, memory.Of(key), i, depth-1); i < 0 {
			return d.in("[a key]")
		}
		if k := key.Elem(); !k.Comparable() {
			return d.fail("at byte %d: a key of a map cannot be a %T with what it holds", at, k.Interface())
		}
		if i = d.value(n.elem, memory.Of(value), i, depth-1); i < 0 {
			return d.in("[%v]", key.Elem())
		}
		m.SetMapIndex(key.Elem(), value.Elem())
	}
	return i
}
