package msgpack

import (
	"encoding"
	"reflect"
	"time"
)

// marshaler and unmarshaler are what the msgp generator writes.
type marshaler interface {
	MarshalMsg(b []byte) ([]byte, error)
}

type unmarshaler interface {
	UnmarshalMsg(b []byte) (rest []byte, err error)
}

// selfCoding returns how values of t are encoded when that is not a matter of
// their fields or elements.
func selfCoding(t reflect.Type) (op, bool) {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return opTime, true
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Interface:
		return 0, false
	case has[marshaler](t) && has[unmarshaler](t):
		return opGenerated, true
	case pair[encoding.BinaryMarshaler, encoding.BinaryUnmarshaler](t):
		return opBinary, true
	case t.Kind() == reflect.Struct && pair[encoding.TextMarshaler, encoding.TextUnmarshaler](t):
		return opText, true
	}
	return 0, false
}

// has reports whether a pointer to t has the methods of M.
func has[M any](t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[M]())
}

// pair reports whether t has the methods of M and U, and not because it embeds a
// type that has some: those say nothing of its other fields.
func pair[M, U any](t reflect.Type) bool {
	if !has[M](t) || !has[U](t) {
		return false
	}
	if t.Kind() != reflect.Struct {
		return true
	}
	for f := range t.Fields() {
		if f.Anonymous && f.Type.Kind() == reflect.Interface && (f.Type.Implements(reflect.TypeFor[M]()) || f.Type.Implements(reflect.TypeFor[U]())) {
			return false
		}
		if f.Anonymous && f.Type.Kind() != reflect.Interface && (has[M](base(f.Type)) || has[U](base(f.Type))) {
			return false
		}
	}
	return true
}
