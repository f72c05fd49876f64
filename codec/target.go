package codec

import (
	"fmt"
	"reflect"
)

// MaxDepth is how many containers (objects, arrays, maps, structs) a codec of
// this module lets a peer nest inside one another where the format itself sets
// no bound. Decoders recurse, and a full stack ends the process.
const MaxDepth = 64

// Target returns the variable that v, the argument of a Decode, points to. The
// error says what v is when it is not a non-nil pointer. A codec over a decoder
// that only sets what it finds calls SetZero on the variable first, so that
// nothing old shows in the result.
func Target(v any) (reflect.Value, error) {
	p := reflect.ValueOf(v)
	if p.Kind() != reflect.Pointer {
		return reflect.Value{}, fmt.Errorf("codec: cannot decode into a %T, it must be a pointer", v)
	}
	if p.IsNil() {
		return reflect.Value{}, fmt.Errorf("codec: cannot decode into a nil %T", v)
	}
	return p.Elem(), nil
}
