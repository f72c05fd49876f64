// Package tags tells from the declaration of a struct what its fields are called and numbered in Protocol Buffers, and whether it
// is a union.
package tags

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// The numbers that the fields of plain structs have. Those from firstReserved on belong to
// implementations of Protocol Buffers.
const (
	firstHashed   = 16
	endHashed     = 1 << 18
	firstReserved = 19000
	endReserved   = 20000
)

// NumberOf returns the number of a field of a plain struct by the field's name in JSON: the 32 bits
// of its FNV-1a hash, modulo how many numbers there are.
func NumberOf(name string) uint64 {
	const (
		basis = 2166136261
		prime = 16777619
		count = endHashed - firstHashed - (endReserved - firstReserved)
	)
	h := uint32(basis)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * prime
	}
	n := uint64(firstHashed + h%count)
	if n >= firstReserved {
		n += endReserved - firstReserved
	}
	return n
}

// IsNumbered reports whether t is a struct of which a field has a number, or a tag where that should be.
func IsNumbered(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for f := range t.Fields() {
		if tag := f.Tag.Get("weft"); tag != "" && tag != "-" {
			return true
		}
	}
	return false
}

// IsPlain reports whether t is a struct without numbers that can be a message.
func IsPlain(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]() && !IsNumbered(t) && !isForeign(t)
}

// isForeign reports whether t is a message of other code, or has one embedded.
func isForeign(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return slices.ContainsFunc([]reflect.Type{
		reflect.TypeFor[protoreflect.ProtoMessage](),
		reflect.TypeFor[interface{ ProtoMessage() }](),
		reflect.TypeFor[interface{ UnmarshalVT([]byte) error }](),
		reflect.TypeFor[interface{ MarshalTo([]byte) (int, error) }](),
		reflect.TypeFor[interface {
			MarshalToSizedBufferVT([]byte) (int, error)
		}](),
	}, p.Implements)
}

// JSONName is the name of a field in JSON; "" if it does not travel.
func JSONName(f reflect.StructField) string {
	tag := f.Tag.Get("json")
	if tag == "-" || f.Tag.Get("weft") == "-" {
		return ""
	}
	if name, _, _ := strings.Cut(tag, ","); name != "" {
		return name
	}
	return f.Name
}

// IsUnion reports whether the struct t is a union of Thrift: weft generate gives its fields the option "union" in their tags for door/thrift,
// which counts for weft's own wire too, since the same struct travels by both.
func IsUnion(t reflect.Type) bool {
	for f := range t.Fields() {
		_, options, _ := strings.Cut(f.Tag.Get("thrift"), ",") // behind the name in Thrift
		if slices.Contains(strings.Split(options, ","), "union") {
			return true
		}
	}
	return false
}

// Hides reports whether f embeds a struct whose type is not exported, so that the field is not, and the struct has fields.
func Hides(f reflect.StructField) bool {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return !f.IsExported() && f.Anonymous && t.Kind() == reflect.Struct && t.NumField() > 0
}
