// Package fit finds types whose values cannot be messages.
package fit

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/protobuf"
)

// Wrong tells why values of a type cannot be messages; "" means that they can.
func Wrong(t reflect.Type) string {
	if what := holds(t); what != "" {
		return what
	}
	if checker, ok := protobuf.New().(codec.TypeChecker); ok && t != nil && t.Kind() == reflect.Struct {
		// A struct without numbers may be meant for other codecs.
		if err := checker.CheckType(reflect.PointerTo(t)); err != nil && (numbered(t) || protobuf.IsCollision(err)) {
			return err.Error()
		}
	}
	return ""
}

// Carries tells by the type of a message alone why a codec can never carry it; nil when it can, or when
// that depends on the value. The codec remembers its answers: it may be asked for each call.
func Carries(c codec.Codec, msg any) error {
	checker, ok := c.(codec.TypeChecker)
	if !ok || msg == nil {
		return nil
	}
	return checker.CheckType(reflect.TypeOf(msg))
}

// numbered reports whether fields of a struct have the numbers that make it a Protocol
// Buffers message.
func numbered(t reflect.Type) bool {
	if t == nil || t.Kind() != reflect.Struct {
		return false
	}
	for f := range t.Fields() {
		if tag := f.Tag.Get("weft"); f.IsExported() && tag != "" && tag != "-" {
			return true
		}
	}
	return false
}

// holds tells which part of a message's type no codec can carry: a channel, a function
// or a bare pointer in an exported field. "" means none. Types that encode themselves,
// and fields that a tag leaves out, may hold what they like.
func holds(t reflect.Type) string {
	return holdsAt(t, "", make(map[reflect.Type]bool))
}

func holdsAt(t reflect.Type, path string, seen map[reflect.Type]bool) string {
	if seen[t] || encodesItself(t) {
		return ""
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return "it holds a " + t.Kind().String() + at(path)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return holdsAt(t.Elem(), path, seen)
	case reflect.Map:
		if what := holdsAt(t.Key(), path, seen); what != "" {
			return what
		}
		return holdsAt(t.Elem(), path, seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if !f.IsExported() || leftOut(f.Tag) {
				continue
			}
			if what := holdsAt(f.Type, strings.TrimPrefix(path+"."+f.Name, "."), seen); what != "" {
				return what
			}
		}
	}
	return ""
}

func at(path string) string {
	if path == "" {
		return ""
	}
	return " in field " + path
}

// leftOut reports whether a tag of any codec leaves a field out.
func leftOut(tag reflect.StructTag) bool {
	for _, key := range []string{"msgpack", "msg", "json", "cbor", "weft"} {
		if tag.Get(key) == "-" {
			return true
		}
	}
	return false
}

// encodesItself reports whether a type has methods that codecs use in place of a look
// at its fields.
func encodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	for _, i := range []reflect.Type{
		reflect.TypeFor[encoding.BinaryMarshaler](), reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[json.Marshaler](),
		reflect.TypeFor[interface {
			MarshalWeft(dst []byte) ([]byte, error)
		}](),
		reflect.TypeFor[interface{ GobEncode() ([]byte, error) }](),
		reflect.TypeFor[interface{ MarshalMsg([]byte) ([]byte, error) }](),
		reflect.TypeFor[interface{ Marshal() ([]byte, error) }](),
		reflect.TypeFor[interface{ ProtoMessage() }](),
		reflect.TypeFor[interface{ MarshalVT() ([]byte, error) }](),
	} {
		if p.Implements(i) {
			return true
		}
	}
	return false
}
