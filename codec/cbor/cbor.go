// Package cbor is the codec for CBOR, RFC 8949: the data model of JSON with
// bytes, times and exact numbers, small and fast to parse, used in embedded
// systems and by the web's security protocols.
//
// It encodes with github.com/fxamacker/cbor, whose rules for structs, tags
// included, follow encoding/json; `cbor:"1,keyasint"` makes small numbers of
// field names. Floats take the shortest form that keeps their value. A
// time.Time travels as an RFC 3339 text with tag 0, to the nanosecond, and
// arrives in UTC; such a text has years from 0 to 9999, so a time outside them
// does not arrive. Peers of other languages may send times as seconds since 1970
// too, and of any year. What arrives in an any is a map[any]any, a []any, a
// string, a []byte, a bool, a float64, a time.Time, or a uint64, or an int64 when
// it is negative.
//
// What a value held before Decode does not show in the result; a type with an
// UnmarshalCBOR method of its own, and only that, decides for itself. Arrays, maps
// and tags may nest [codec.MaxDepth] deep. A body is checked to its end before
// anything is made for it, a bignum has at most 1024 bytes, and the elements of a
// body take at most as much memory as [codec.Rooms] allows.
//
// A number that does not fit the variable it is decoded into is an error, and so
// is a value that contains itself. An unknown field is ignored. A struct that has
// fields but no exported one, such as a big.Float or a big.Rat, is an error when it is
// encoded, but for what is in an any, and, where it has MarshalWeft or MarshalText, when it is decoded too; so is one of which a field has the tag `weft:"-"`, and none of cbor or json.
//
// The package is a module of its own, since its library requires another one.
package cbor

import (
	"bytes"
	"encoding"
	"fmt"
	"math/big"
	"reflect"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/internal/typecheck"
)

const (
	// maxElements and maxPairs bound one array and one map. A body of the
	// default limit, 4 MiB, cannot hold more elements than that.
	maxElements = 4 << 20
	maxPairs    = 1 << 20
)

// New returns a codec named "cbor".
func New() codec.Codec {
	enc, err := cbor.EncOptions{
		ShortestFloat: cbor.ShortestFloat16,
		Time:          cbor.TimeRFC3339NanoUTC,
		TimeTag:       cbor.EncTagRequired,
	}.UserBufferEncMode()
	if err != nil {
		panic(err) // the options are constants
	}
	dec, err := cbor.DecOptions{
		MaxNestedLevels:  codec.MaxDepth,
		MaxArrayElements: maxElements,
		MaxMapPairs:      maxPairs,
	}.DecMode()
	if err != nil {
		panic(err) // the options are constants
	}
	return &cborCodec{
		enc: enc, dec: dec,
		nesting: codec.Nesting{Opaque: opaque, Skip: notSent, Embedded: embedded},
		rooms:   codec.Rooms{Least: 1, Opaque: decodesItself, Name: fieldName, Fold: true},
	}
}

type cborCodec struct {
	enc     cbor.UserBufferEncMode
	dec     cbor.DecMode
	nesting codec.Nesting
	rooms   codec.Rooms
}

func (*cborCodec) Name() string { return "cbor" }

// types are the Go types that were asked for.
var types = typecheck.Checker{Tags: []string{"cbor", "json"}, Self: encodesItself, SelfDecoded: unmarshalsCBOR, Lost: true,
	Methods: "MarshalCBOR and UnmarshalCBOR, or MarshalBinary and UnmarshalBinary"}

// CheckType reports why values of the type t cannot be CBOR: it holds a channel, a
// function, a complex number, or a struct that has fields but no exported one, such as
// a big.Float, which would arrive empty.
func (*cborCodec) CheckType(t reflect.Type) error {
	if err := types.Check(t); err != nil {
		return fmt.Errorf("codec/cbor: %w", err)
	}
	return nil
}

func encodesItself(t reflect.Type) bool {
	return t == reflect.TypeFor[big.Int]() || t.Implements(reflect.TypeFor[cbor.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.BinaryMarshaler]())
}

// Append appends v. A nil v is a CBOR null.
func (c *cborCodec) Append(dst []byte, v any) ([]byte, error) {
	if err := c.CheckType(reflect.TypeOf(v)); err != nil {
		return dst, err
	}
	if err := c.nesting.Check(v); err != nil {
		return dst, fmt.Errorf("codec/cbor: %w", err)
	}
	buf := bytes.NewBuffer(dst)
	if err := c.enc.MarshalToBuffer(v, buf); err != nil {
		return dst, err
	}
	return buf.Bytes(), nil
}

// Decode decodes the one value that body holds.
func (c *cborCodec) Decode(body []byte, v any) error {
	target, err := codec.Target(v)
	if err != nil {
		return err
	}
	if err := types.CheckDecode(target.Type()); err != nil {
		return fmt.Errorf("codec/cbor: %w", err)
	}
	tally := c.rooms.Tally(len(body), target.Type())
	if tally != nil || len(body) > maxBignum {
		if err := scan(body, tally); err != nil {
			return err
		}
	}
	if _, itself := v.(cbor.Unmarshaler); !itself {
		target.SetZero() // UnmarshalBinary is asked for byte strings alone
	}
	return c.dec.Unmarshal(body, v)
}

// opaque reports whether the library does not look into values of the type t
// when it encodes them.
func opaque(t reflect.Type) bool {
	return t.Kind() != reflect.Interface && (encodesItself(t) || encodesItself(reflect.PointerTo(t)))
}

// decodesItself reports whether the library hands values of the type t their
// bytes.
func decodesItself(t reflect.Type) bool {
	return unmarshalsCBOR(t) || implements(t, reflect.TypeFor[encoding.BinaryUnmarshaler]())
}

// unmarshalsCBOR reports whether the library hands values of the type t whatever comes: UnmarshalBinary gets byte strings, and a map sets
// the fields.
func unmarshalsCBOR(t reflect.Type) bool { return implements(t, reflect.TypeFor[cbor.Unmarshaler]()) }

func implements(t, methods reflect.Type) bool {
	return t.Kind() != reflect.Interface && (t.Implements(methods) || reflect.PointerTo(t).Implements(methods))
}

// notSent reports whether the library leaves out a field.
func notSent(f reflect.StructField) bool {
	return tagOf(f) == "-" || !f.IsExported() && !f.Anonymous
}

// embedded reports whether the fields of f are those of the struct around it.
func embedded(f reflect.StructField) bool {
	_, is := fieldName(f)
	return is
}

// fieldName returns the name of a field in a map.
func fieldName(f reflect.StructField) (name string, embedded bool) {
	if notSent(f) {
		return "", false
	}
	if name, _, _ = strings.Cut(tagOf(f), ","); name != "" {
		return name, false
	}
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if f.Anonymous && t.Kind() == reflect.Struct {
		return "", true
	}
	return f.Name, false
}

func tagOf(f reflect.StructField) string {
	if tag, ok := f.Tag.Lookup("cbor"); ok {
		return tag
	}
	return f.Tag.Get("json")
}
