// Package json is the codec for JSON, with the rules of encoding/json, and those of protojson for messages of Protocol
// Buffers that are generated.
//
// It carries what encoding/json carries, and every language can read it. It
// differs in these things: characters such as '<' are not escaped, since a body
// is not part of a web page; what a value held before Decode does not show in
// the result, while a type with an UnmarshalJSON method of its own, and only
// that, decides for itself; objects and arrays may nest at
// most [codec.MaxDepth] deep, a number has at most 1024 characters, and the
// elements of a body take at most as much memory as [codec.Rooms] allows.
//
// A number that does not fit the variable it is decoded into is an error, and so
// is a value that contains itself, or nests deeper, when it is encoded. An unknown field is ignored. A struct is refused where the
// tag `weft:"-"` says that a field does not travel, and no tag json what encoding/json shall do with it; and where it has methods such as MarshalWeft,
// none of JSON or for texts, and no exported field.
//
// # Generated messages
//
// A pointer to a message of google.golang.org/protobuf (a [proto.Message]) has the form that Protocol Buffers define for
// JSON: names in lowerCamelCase, 64-bit integers as strings, enumerations by name, a google.protobuf.Timestamp as a
// text. The names in the .proto file and numbers without quotes are read too; null is no message. Its elements take at most as much
// memory as those of other values; an element of a message whose type only the body names counts as 512 bytes.
//
// That is the form of the message of a call. A generated message within another struct, and one that is known by the methods of
// gogo/protobuf alone, are structs for encoding/json, with the names of their json tags; so is a struct that embeds one. A message by
// value cannot be encoded: pass a pointer. Methods MarshalJSON and UnmarshalJSON of a generated message are not used.
package json

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/internal/cycle"
	"github.com/weftrpc/weft/codec/internal/typecheck"
	"github.com/weftrpc/weft/internal/stock"
)

// New returns a codec named "json".
func New() codec.Codec {
	return &jsonCodec{
		rooms:   codec.Rooms{Least: 2, Opaque: decodesItself, Name: fieldName, Fold: true},
		nesting: codec.Nesting{Opaque: opaque, Skip: notSent, Embedded: embedded},
	}
}

type jsonCodec struct {
	rooms   codec.Rooms
	nesting codec.Nesting
	cycles  cycle.Checker // of generated messages

	messages sync.Map // messageKey to *messageRoot
}

func (*jsonCodec) Name() string { return "json" }

// types are the Go types that were asked for.
var types = typecheck.Checker{Tags: []string{"json"}, Self: encodesItself, SelfDecoded: decodesItself, Key: canBeKey, Methods: "MarshalJSON and UnmarshalJSON, or MarshalText and UnmarshalText"}

// CheckType reports why values of the type t cannot be JSON: it holds a channel, a
// function, a complex number, a map whose keys are neither strings nor numbers, or a struct with a form of its own on weft's wires
// alone and no exported field, which would arrive as zero. So cannot a generated message by value.
func (c *jsonCodec) CheckType(t reflect.Type) error {
	switch {
	case t == nil:
		return nil
	case isStock(t):
		return nil
	case isStock(reflect.PointerTo(t)):
		return fmt.Errorf("codec/json: a %s is a generated message by value, which cannot be encoded: pass a pointer to it", t)
	}
	return checkPlain(t)
}

func checkPlain(t reflect.Type) error {
	if err := types.Check(t); err != nil {
		return fmt.Errorf("codec/json: %w", err)
	}
	return nil
}

func encodesItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

func canBeKey(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return true
	}
	return t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// Append appends v as JSON, without a newline behind it.
func (c *jsonCodec) Append(dst []byte, v any) ([]byte, error) {
	if m, ok := stock.Message(v); ok {
		return c.appendMessage(dst, m)
	}
	return c.appendPlain(dst, v)
}

// appendPlain appends v as encoding/json has it, which finds a value that contains itself but follows any other until the stack is full.
func (c *jsonCodec) appendPlain(dst []byte, v any) ([]byte, error) {
	if err := types.CheckEncode(reflect.TypeOf(v)); err != nil {
		return dst, fmt.Errorf("codec/json: %w", err)
	}
	if err := c.nesting.Check(v); err != nil {
		return dst, fmt.Errorf("codec/json: %w", err)
	}
	out := sink(dst)
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return dst, err
	}
	return out[:len(out)-1], nil // Encode ends with a newline
}

// sink collects what an encoder writes, in one piece and behind what it holds.
type sink []byte

func (s *sink) Write(p []byte) (int, error) {
	*s = append(*s, p...)
	return len(p), nil
}

// Decode decodes the one JSON value that body holds.
func (c *jsonCodec) Decode(body []byte, v any) error {
	if m, ok := stock.Message(v); ok {
		return c.decodeMessage(body, m)
	}
	return c.decodePlain(body, v)
}

// checkDepth refuses a body that nests too deep.
func checkDepth(body []byte) error {
	if at := tooDeep(body); at >= 0 {
		return fmt.Errorf("codec/json: nesting deeper than %d at byte %d", codec.MaxDepth, at)
	}
	return nil
}

// decodePlain decodes a body as encoding/json does.
func (c *jsonCodec) decodePlain(body []byte, v any) error {
	if err := checkDepth(body); err != nil {
		return err
	}
	target, err := codec.Target(v)
	if err != nil {
		return err
	}
	if err := types.CheckDecode(target.Type()); err != nil {
		return fmt.Errorf("codec/json: %w", err)
	}
	var tally counter
	if t := c.rooms.Tally(len(body), target.Type()); t != nil {
		tally = t
	}
	if tally != nil || longNumberMayBe(body) {
		if err := scan(body, tally); err != nil {
			return err
		}
	}
	if _, itself := v.(json.Unmarshaler); !itself {
		target.SetZero()
	}
	return json.Unmarshal(body, v)
}

// opaque reports whether encoding/json does not look into values of the type t
// when it encodes them.
func opaque(t reflect.Type) bool {
	return t.Kind() != reflect.Interface && (encodesItself(t) || encodesItself(reflect.PointerTo(t)))
}

// decodesItself reports whether encoding/json hands values of the type t their
// bytes.
func decodesItself(t reflect.Type) bool {
	if t.Kind() == reflect.Interface {
		return false
	}
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// notSent reports whether encoding/json leaves out a field.
func notSent(f reflect.StructField) bool {
	return f.Tag.Get("json") == "-" || !f.IsExported() && !f.Anonymous
}

// embedded reports whether the fields of f are those of the struct around it.
func embedded(f reflect.StructField) bool {
	_, is := fieldName(f)
	return is
}

// fieldName returns the name of a field in an object.
func fieldName(f reflect.StructField) (name string, embedded bool) {
	if notSent(f) {
		return "", false
	}
	tag := f.Tag.Get("json")
	if name, _, _ = strings.Cut(tag, ","); name != "" {
		return name, false
	}
	if f.Anonymous {
		t := f.Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() == reflect.Struct {
			return "", true
		}
	}
	return f.Name, false
}
