package msgpack

import (
	"reflect"
	"time"

	"github.com/weftrpc/weft/codec/internal/self"
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
	form := self.Of(t)
	switch {
	case t == reflect.TypeFor[time.Time]():
		return opTime, true
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Interface:
		return 0, false
	case form != self.Weft && self.Pair[marshaler, unmarshaler](t):
		return opGenerated, true
	}
	return opOwn, form != self.None
}
