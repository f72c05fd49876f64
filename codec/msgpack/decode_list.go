package msgpack

import (
	"reflect"

	"github.com/weftrpc/weft/codec/internal/memory"
)

// slice reads an array into a slice that is nil, or empty if memory is used again.
func (d *decoder) slice(n *node, r memory.Ref, i, depth int) int {
	f, count, next := head(d.body, i)
	switch {
	case f == null:
		return next
	case (f == text || f == binaryText) && n.elem.op == opUint8:
		return d.octets(n, r, i)
	case f != list:
		return d.unfit(f, i, n)
	case depth == 0:
		return d.tooDeep(i)
	case !d.claim(count, i, next):
		return failed
	}
	i = next
	s := r.Value(n.typ)
	if count == 0 {
		if !d.reuse || s.IsNil() {
			s.Set(n.empty)
		}
		return i
	}
	room := 0
	if d.reuse && s.Cap() > 0 {
		room = min(s.Cap(), int(count))
		s.SetLen(room)
		for k := range room {
			n.elem.clear(r.Elem(k, n.elem.size))
		}
	}
	for k := range int(count) {
		if k == room {
			more := d.affordable(max(int(count)-k, 1), n.elem.size, i)
			if !spend(d, more, n.elem.size) {
				return failed
			}
			s.Grow(more)
			room = min(s.Cap(), int(count))
			s.SetLen(room)
		}
		d.owed--
		if i = d.value(n.elem, r.Elem(k, n.elem.size), i, depth-1); i < 0 {
			return d.in("[%d]", k)
		}
	}
	return i
}

// octets reads a string or a byte string into a slice of a named type of bytes.
func (d *decoder) octets(n *node, r memory.Ref, i int) int {
	from, to := d.span(i, "a list of bytes")
	if to < 0 {
		return failed
	}
	s := reflect.MakeSlice(n.typ, to-from, to-from)
	r.Value(n.typ).Set(s)
	for k := range to - from {
		r.Elem(k, 1).Set8(d.body[from+k])
	}
	return to
}

// array reads an array of at most as many elements as the variable has.
func (d *decoder) array(n *node, r memory.Ref, i, depth int) int {
	f, count, next := head(d.body, i)
	octets := (f == text || f == binaryText) && n.elem.op == opUint8
	switch {
	case f == null:
		return next
	case f != list && !octets:
		return d.unfit(f, i, n)
	case count > uint64(n.length):
		return d.fail("at byte %d: %d elements do not fit a %s", i, count, n.typ)
	case octets:
		from, to := d.span(i, n.typ.String())
		if to < 0 {
			return failed
		}
		for k := range to - from {
			r.Index(k, 1).Set8(d.body[from+k])
		}
		return to
	case depth == 0:
		return d.tooDeep(i)
	case !d.claim(count, i, next):
		return failed
	}
	i = next
	for k := range int(count) {
		d.owed--
		if i = d.value(n.elem, r.Index(k, n.elem.size), i, depth-1); i < 0 {
			return d.in("[%d]", k)
		}
	}
	return i
}
