// Package json is the codec for JSON, with the rules of encoding/json.
//
// It carries what encoding/json carries, and every language can read it. It
// differs in three things: characters such as '<' are not escaped, since a body
// is not part of a web page; what a value held before Decode does not show in
// the result, while a type with an UnmarshalJSON method of its own, and only
// that, decides for itself; and objects and arrays may nest at
// most [codec.MaxDepth] deep.
package json

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/internal/typecheck"
)

// New returns the codec named "json". All values it returns are equal.
func New() codec.Codec { return jsonCodec{} }

type jsonCodec struct{}

func (jsonCodec) Name() string { return "json" }

// types are the Go types that were asked for.
var types = typecheck.Checker{Tags: []string{"json"}, Self: encodesItself, Key: canBeKey}

// CheckType reports why values of the type t cannot be JSON: it holds a channel, a
// function, a complex number, or a map whose keys are neither strings nor numbers.
func (jsonCodec) CheckType(t reflect.Type) error {
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
func (jsonCodec) Append(dst []byte, v any) ([]byte, error) {
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
func (jsonCodec) Decode(body []byte, v any) error {
	if at := tooDeep(body); at >= 0 {
		return fmt.Errorf("codec/json: nesting deeper than %d at byte %d", codec.MaxDepth, at)
	}
	target, err := codec.Target(v)
	if err != nil {
		return err
	}
	if _, itself := v.(json.Unmarshaler); !itself {
		target.SetZero()
	}
	return json.Unmarshal(body, v)
}
