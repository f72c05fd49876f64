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
	"encoding/json"
	"fmt"

	"github.com/weftrpc/weft/codec"
)

// New returns the codec named "json". All values it returns are equal.
func New() codec.Codec { return jsonCodec{} }

type jsonCodec struct{}

func (jsonCodec) Name() string { return "json" }

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
