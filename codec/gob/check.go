package gob

import (
	"math"

	"github.com/weftrpc/weft/codec"
)

// cut splits a body into the descriptions of types and the message with the
// value. contents are those of that message, from the number of the type on. It
// fails when body is not in this order, as those with values behind interfaces
// may be, and when its descriptions are too long to be known.
func cut(body []byte) (defs, message, contents []byte, ok bool) {
	for at := 0; ; {
		n, start := uintAt(body, at)
		if start < 0 || n > uint64(len(body)-start) {
			return nil, nil, nil, false
		}
		end := start + int(n)
		id, _ := intAt(body[start:end], 0)
		switch {
		case at > maxKnownSize:
			return nil, nil, nil, false
		case id < 0:
			at = end
		case end != len(body):
			return nil, nil, nil, false
		default:
			return body[:at], body[at:], body[start:], true
		}
	}
}

// topOf returns the number of the type that the contents of a message begin
// with, and where it ends, or -1 when there is none.
func topOf(contents []byte) (id int64, end int) {
	id, end = intAt(contents, 0)
	if id < 0 || id > math.MaxInt32 {
		return 0, -1
	}
	return id, end
}

// A level is a container that check has not read to its end.
type level struct {
	typ   *description
	left  uint64
	field int
}

// check reports whether b is a sound value of the type top, with no interface in
// it. It reads what the scanner reads and has the same bounds, but it is many
// times faster: it copies nothing. What it does not accept may still be sound.
func check(b []byte, top part) bool {
	var stack [codec.MaxDepth]level
	depth, at := 0, 0
	if top.to == nil || top.to.kind != kindStruct {
		zero, end := uintAt(b, 0)
		if zero != 0 || end < 0 {
			return false
		}
		at = end
	}
	for p := top; ; {
		if p.scalar() { // only the whole value
			if at = pastScalar(b, at, p); at < 0 {
				return false
			}
		} else {
			if depth == len(stack) {
				return false
			}
			l := &stack[depth]
			*l = level{typ: p.to, field: -1}
			if at = l.open(b, at); at < 0 {
				return false
			}
			depth++
		}
		for {
			if depth == 0 {
				return at == len(b)
			}
			var more bool
			if p, at, more = stack[depth-1].next(b, at); at < 0 {
				return false
			}
			if more {
				break
			}
			depth--
		}
	}
}

// pastScalar returns where the value without parts at b[at:] ends, or -1.
func pastScalar(b []byte, at int, p part) int {
	if p.to == nil {
		switch p.id {
		case typeBool, typeInt, typeUint, typeFloat:
			return pastUint(b, at)
		case typeComplex:
			if at = pastUint(b, at); at < 0 {
				return -1
			}
			return pastUint(b, at)
		case typeBytes, typeString:
		default: // an interface, or not described
			return -1
		}
	}
	n, start := uintAt(b, at)
	if start < 0 || n > uint64(len(b)-start) {
		return -1
	}
	return start + int(n)
}

// open reads what comes before the elements.
func (l *level) open(b []byte, at int) int {
	if l.typ.kind == kindStruct {
		return at
	}
	n, end := uintAt(b, at)
	if end < 0 || l.typ.kind == kindArray && n != uint64(l.typ.length) {
		return -1
	}
	l.left = n
	if l.typ.kind == kindMap {
		l.left = 2 * n
	}
	if left := uint64(len(b) - end); n > left || l.left > left {
		return -1
	}
	return end
}

// next reads on to the next part that has parts itself, and returns its type;
// more is false when there is none.
func (l *level) next(b []byte, at int) (p part, end int, more bool) {
	if l.typ.kind == kindStruct {
		return l.nextField(b, at)
	}
	for l.left > 0 {
		l.left--
		p = l.typ.elem
		if l.typ.kind == kindMap && l.left%2 == 1 {
			p = l.typ.key
		}
		if !p.scalar() {
			return p, at, true
		}
		if at = pastScalar(b, at, p); at < 0 {
			return p, -1, false
		}
	}
	return p, at, false
}

func (l *level) nextField(b []byte, at int) (p part, end int, more bool) {
	for {
		delta, end := uintAt(b, at)
		if end < 0 || delta == 0 {
			return p, end, false
		}
		if delta > uint64(len(l.typ.fields)-1-l.field) {
			return p, -1, false
		}
		l.field += int(delta)
		p = l.typ.fields[l.field].part
		if !p.scalar() {
			return p, end, true
		}
		if at = pastScalar(b, end, p); at < 0 {
			return p, -1, false
		}
	}
}

// scalar reports whether values of the type have no parts.
func (p part) scalar() bool { return p.to == nil || p.to.kind == kindOpaque }
