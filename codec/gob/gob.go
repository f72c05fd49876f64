// Package gob is the codec for encoding/gob, Go's own format: any Go struct,
// with the types described along with the values. It is what net/rpc speaks.
//
// Each body describes the types it uses, so that it can be read on its own. The
// codec remembers descriptions: a type is described once and compiled once for
// each description that arrives, and a call costs what it costs on a stream
// that stays open. Only the bytes of the descriptions travel with each call.
// Values behind interfaces whose types are not those of the language itself
// still cost a description and an encoder of their own.
//
// Concrete types behind interfaces must be known to gob.Register on both sides.
// A number that does not fit the variable it is decoded into is an error. A field
// that the variable lacks is ignored, but when all do that is an error. What
// a value held before Decode does not show in the result, except in a type that
// decodes itself. A value that contains itself cannot be encoded.
//
// [Reader] and [Writer] are for streams of values, such as the connections of
// net/rpc: they turn a stream into bodies of this codec and bodies into a stream.
//
// # Hostile peers
//
// The documentation of encoding/gob says that it is not hardened against
// adversarial inputs. On its own it reserves maps of any claimed size, can be
// made to loop for hours by a few bytes, and recurses until the stack is full,
// which ends the process. So Decode reads every body first: counts must fit
// the bytes behind them, nesting is at most [codec.MaxDepth], elements take at
// most as much memory as [codec.Rooms] allows, and what encoding/gob is then given is in the plainest form that says the same. A
// decoder that failed is not used again, and what is remembered of descriptions
// is bounded. What remains is CPU time: a body can make encoding/gob compile a
// decoder for types that no method has. Offer gob to peers you trust not to
// waste it.
package gob

import (
	"encoding"
	"encoding/gob"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/weftrpc/weft/codec"
)

// New returns a codec named "gob". It remembers descriptions of types, so use
// one for all calls.
func New() codec.Codec {
	return &gobCodec{
		nesting: codec.Nesting{Opaque: encodesItself, Skip: notSent},
		rooms:   codec.Rooms{Least: 1, Behind: largeElement, Opaque: decodesItself, Name: fieldName},
	}
}

// largeElement is more memory than an element of a registered type takes, but for
// the oddest.
const largeElement = 16 << 10

type gobCodec struct {
	nesting   codec.Nesting
	rooms     codec.Rooms
	senders   sync.Map // reflect.Type of what is encoded, to *sender
	receivers sync.Map // reflect.Type of what is decoded into, to *receiver
	memory    memory   // of all receivers
	carried   sync.Map // reflect.Type to carried
}

func (*gobCodec) Name() string { return "gob" }

// Append appends v, which is not nil, with the description of its type.
func (c *gobCodec) Append(dst []byte, v any) ([]byte, error) {
	if v == nil {
		return dst, errors.New("codec/gob: cannot encode nil")
	}
	if err := c.nesting.Check(v); err != nil { // so the pointers come to an end
		return dst, fmt.Errorf("codec/gob: %w", err)
	}
	for p := reflect.ValueOf(v); p.Kind() == reflect.Pointer; p = p.Elem() {
		if p.IsNil() {
			return dst, fmt.Errorf("codec/gob: cannot encode a nil %s", p.Type())
		}
	}
	t := reflect.TypeOf(v)
	s, ok := c.senders.Load(t)
	if !ok {
		s, _ = c.senders.LoadOrStore(t, newSender(t))
	}
	return s.(*sender).append(dst, v)
}

// Decode decodes the one value that body holds.
func (c *gobCodec) Decode(body []byte, v any) error {
	target, err := codec.Target(v)
	if err != nil {
		return err
	}
	switch v.(type) {
	case gob.GobDecoder, encoding.BinaryUnmarshaler: // the package does not ask for UnmarshalText
	default:
		target.SetZero()
	}
	t := reflect.TypeOf(v)
	r, ok := c.receivers.Load(t)
	if !ok {
		r, _ = c.receivers.LoadOrStore(t, &receiver{rooms: &c.rooms, memory: &c.memory})
	}
	return r.(*receiver).decode(body, v)
}

// encodesItself reports whether encoding/gob asks values of the type t for
// their encoding.
func encodesItself(t reflect.Type) bool {
	return implements(t, reflect.TypeFor[gob.GobEncoder]()) || implements(t, reflect.TypeFor[encoding.BinaryMarshaler]())
}

// decodesItself reports whether encoding/gob hands values of the type t their
// bytes.
func decodesItself(t reflect.Type) bool {
	return implements(t, reflect.TypeFor[gob.GobDecoder]()) || implements(t, reflect.TypeFor[encoding.BinaryUnmarshaler]())
}

func implements(t, methods reflect.Type) bool {
	if t.Kind() == reflect.Interface {
		return false // the value behind it is asked
	}
	return t.Implements(methods) || t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(methods)
}

// notSent reports whether encoding/gob leaves out a field.
func notSent(f reflect.StructField) bool {
	t := base(f.Type)
	return !f.IsExported() || t.Kind() == reflect.Chan || t.Kind() == reflect.Func
}

// fieldName returns the name of a field that encoding/gob decodes.
func fieldName(f reflect.StructField) (name string, embedded bool) {
	if notSent(f) {
		return "", false
	}
	return f.Name, false
}
