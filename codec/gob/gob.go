// Package gob is the codec for encoding/gob, Go's own format: any Go struct,
// with the types described along with the values. It is what net/rpc speaks.
//
// Each body describes the types it uses, so that it can be read on its own; gob
// earns its speed on long streams, and for single calls another codec is
// faster. Concrete types behind interfaces must be known to gob.Register on
// both sides. What a value held before Decode does not show in the result,
// except in a type that decodes itself.
//
// # Hostile peers
//
// The documentation of encoding/gob says that it is not hardened against
// adversarial inputs. On its own it reserves maps of any claimed size, can be
// made to loop for hours by a few bytes, and recurses until the stack ends,
// which no recover survives. So Decode reads every body first: counts must fit
// the bytes behind them, nesting is at most [codec.MaxDepth], and what
// encoding/gob is then given is in the plainest form that says the same. What
// remains is CPU time: a body can make encoding/gob compile a decoder for types
// nobody asked for. Offer gob to peers you trust not to waste it.
package gob

import (
	"bytes"
	"encoding"
	"encoding/gob"
	"fmt"
	"reflect"

	"github.com/weftrpc/weft/codec"
)

// New returns the codec named "gob". All values it returns are equal.
func New() codec.Codec { return gobCodec{} }

type gobCodec struct{}

func (gobCodec) Name() string { return "gob" }

// Append appends v, which is not nil, with the description of its type.
func (gobCodec) Append(dst []byte, v any) (_ []byte, err error) {
	if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && p.IsNil() {
		return dst, fmt.Errorf("codec/gob: cannot encode a nil %T", v)
	}
	out := sink(dst)
	if err := gob.NewEncoder(&out).Encode(v); err != nil {
		return dst, err
	}
	return out, nil
}

// sink collects what an encoder writes behind what it holds.
type sink []byte

func (s *sink) Write(p []byte) (int, error) {
	*s = append(*s, p...)
	return len(p), nil
}

// Decode decodes the one value that body holds.
func (gobCodec) Decode(body []byte, v any) (err error) {
	target, err := codec.Target(v)
	if err != nil {
		return err
	}
	switch v.(type) {
	case gob.GobDecoder, encoding.BinaryUnmarshaler: // the package does not ask for UnmarshalText
	default:
		target.SetZero()
	}
	plain, err := normalize(body, target.Type())
	if err != nil {
		return fmt.Errorf("codec/gob: %w", err)
	}
	// encoding/gob turns its own panics into errors, but not those of package
	// reflect, such as for a map key behind an interface that has no equality.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("codec/gob: decoding into a %T: %v", v, r)
		}
	}()
	return gob.NewDecoder(bytes.NewReader(plain)).Decode(v)
}
