package wellknown

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weftrpc/weft/internal/trail"
)

// The fields of google.protobuf.Value, of which a value has one. A Struct has a map from names to values as its
// field 1, and a ListValue a list of values.
const (
	fieldNull   = 1
	fieldNumber = 2
	fieldText   = 3
	fieldBool   = 4
	fieldStruct = 5
	fieldList   = 6
)

// What values take in memory, roughly.
const (
	sizeAny   = 16 // in a list or a map
	sizeLeaf  = 16 // a number or a string, beside its bytes
	sizeList  = 24 // a list, beside its elements
	sizeTable = 48 // a map without entries
	leastRoom = 8  // for so many entries a map has room from the first one on
)

// errDeep is the error of values that nest deeper than messages may.
var errDeep = errors.New("values of an any nest too deep: it may contain itself")

// AppendValue appends the fields of a google.protobuf.Value that holds v. At most depth messages may be in one another there. After an
// error what it appends means nothing.
func AppendValue(b []byte, v any, depth int) ([]byte, error) {
	if depth <= 0 {
		return b, errDeep
	}
	var err error
	switch v := v.(type) {
	case nil:
		return append(b, fieldNull<<3, 0), nil
	case string:
		return protowire.AppendString(append(b, fieldText<<3|2), v), nil
	case float64:
		return binary.LittleEndian.AppendUint64(append(b, fieldNumber<<3|1), math.Float64bits(v)), nil
	case bool:
		return protowire.AppendVarint(append(b, fieldBool<<3), protowire.EncodeBool(v)), nil
	case map[string]any:
		if v == nil || depth == 1 {
			return appendEmpty(b, v == nil)
		}
		b, body := open(b, fieldStruct)
		for name, elem := range v {
			if b, err = appendEntry(b, name, elem, depth); err != nil {
				return b, err
			}
		}
		return shut(b, body), nil
	case []any:
		if v == nil || depth == 1 {
			return appendEmpty(b, v == nil)
		}
		b, body := open(b, fieldList)
		for k, elem := range v {
			if b, err = appendElem(b, k, elem, depth); err != nil {
				return b, err
			}
		}
		return shut(b, body), nil
	}
	return appendOther(b, reflect.ValueOf(v), depth)
}

// appendEmpty appends what a list or a map is that is nil, or for which there is no depth.
func appendEmpty(b []byte, isNil bool) ([]byte, error) {
	if isNil {
		return append(b, fieldNull<<3, 0), nil
	}
	return b, errDeep
}

// appendEntry appends an entry of the map of a Struct within a value at that depth. The entry is a message too.
func appendEntry(b []byte, name string, v any, depth int) ([]byte, error) {
	b, entry := open(b, 1)
	b = protowire.AppendString(append(b, 1<<3|2), name)
	b, body := open(b, 2)
	b, err := AppendValue(b, v, depth-3)
	if err != nil {
		return b, trail.In(fmt.Sprintf("[%.64q]", name), err)
	}
	return shut(shut(b, body), entry), nil
}

// appendElem appends an element of a ListValue within a value at that depth.
func appendElem(b []byte, k int, v any, depth int) ([]byte, error) {
	b, body := open(b, 1)
	b, err := AppendValue(b, v, depth-2)
	if err != nil {
		return b, trail.In(fmt.Sprintf("[%d]", k), err)
	}
	return shut(b, body), nil
}

// open appends the tag of a field that is a message, which begins at body.
func open(b []byte, number byte) (_ []byte, body int) {
	b = append(b, number<<3|2, 0)
	return b, len(b)
}

// shut writes the length of the message that begins at body before it.
func shut(b []byte, body int) []byte {
	size := len(b) - body
	n := protowire.SizeVarint(uint64(size))
	if n > 1 {
		b = append(b, make([]byte, n-1)...)
		copy(b[body+n-1:], b[body:body+size])
	}
	protowire.AppendVarint(b[:body-1], uint64(size))
	return b
}

// appendOther is AppendValue for a value of a type that is not common.
func appendOther(b []byte, v reflect.Value, depth int) ([]byte, error) {
	switch kind := v.Kind(); {
	case kind == reflect.Bool:
		return AppendValue(b, v.Bool(), depth)
	case kind == reflect.String:
		return AppendValue(b, v.String(), depth)
	case kind == reflect.Float32 || kind == reflect.Float64:
		return AppendValue(b, v.Float(), depth)
	case v.CanInt():
		f := float64(v.Int())
		if f == 1<<63 || int64(f) != v.Int() {
			return b, fmt.Errorf("the number %d has no form in google.protobuf.Value, whose numbers are floats of 64 bits", v.Int())
		}
		return AppendValue(b, f, depth)
	case kind >= reflect.Uint && kind <= reflect.Uint64:
		f := float64(v.Uint())
		if f == 1<<64 || uint64(f) != v.Uint() {
			return b, fmt.Errorf("the number %d has no form in google.protobuf.Value, whose numbers are floats of 64 bits", v.Uint())
		}
		return AppendValue(b, f, depth)
	case (kind == reflect.Slice || kind == reflect.Array) && v.Type().Elem().Kind() != reflect.Uint8:
		if none := kind == reflect.Slice && v.IsNil(); none || depth == 1 {
			return appendEmpty(b, none)
		}
		b, body := open(b, fieldList)
		for k := range v.Len() {
			var err error
			if b, err = appendElem(b, k, v.Index(k).Interface(), depth); err != nil {
				return b, err
			}
		}
		return shut(b, body), nil
	case kind == reflect.Map && v.Type().Key().Kind() == reflect.String:
		if v.IsNil() || depth == 1 {
			return appendEmpty(b, v.IsNil())
		}
		b, body := open(b, fieldStruct)
		for entries := v.MapRange(); entries.Next(); {
			var err error
			if b, err = appendEntry(b, entries.Key().String(), entries.Value().Interface(), depth); err != nil {
				return b, err
			}
		}
		return shut(b, body), nil
	case kind == reflect.Pointer && v.IsNil():
		return AppendValue(b, nil, depth)
	case kind == reflect.Pointer:
		return AppendValue(b, v.Elem().Interface(), depth-1)
	}
	return b, fmt.Errorf("a %s in an any has no form in google.protobuf.Value, which holds what JSON does", v.Type())
}

// Value returns what the body of a google.protobuf.Value holds, added to was, which is what came for the same value before. It may take
// room bytes of memory; left is what remains, and negative when that is not enough.
func Value(body []byte, was any, depth int, room int64) (v any, left int64, err error) {
	r := reader{room}
	v, err = r.value(body, was, depth)
	return v, r.room, err
}

// reader reads values while there is room for them.
type reader struct{ room int64 }

// errRoom ends the reading when there is no more room. The caller of the decoder reports that by an error of its own.
var errRoom = errors.New("the values take too much memory")

func (r *reader) spend(n int) error {
	if r.room -= int64(n); r.room < 0 {
		return errRoom
	}
	return nil
}

func (r *reader) value(body []byte, v any, depth int) (any, error) {
	if depth <= 0 {
		return nil, errDeep
	}
	for len(body) > 0 {
		number, wire, rest, err := next(body)
		if err != nil {
			return nil, err
		}
		wanted := [...]protowire.Type{0, protowire.VarintType, protowire.Fixed64Type, protowire.BytesType, protowire.VarintType, protowire.BytesType, protowire.BytesType}
		if number > fieldList {
			if body, err = skip(number, wire, rest); err != nil {
				return nil, err
			}
			continue
		}
		if wire != wanted[number] {
			return nil, fmt.Errorf("a value of wire type %d does not fit the field %d of google.protobuf.Value", wire, number)
		}
		var x uint64
		var text []byte
		var n int
		switch wire {
		case protowire.VarintType:
			x, n = protowire.ConsumeVarint(rest)
		case protowire.Fixed64Type:
			x, n = protowire.ConsumeFixed64(rest)
		default:
			text, n = protowire.ConsumeBytes(rest)
		}
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		body = rest[n:]
		switch number {
		case fieldNull:
			v = nil
		case fieldBool:
			v = x != 0
		case fieldNumber:
			v, err = math.Float64frombits(x), r.spend(sizeLeaf)
		case fieldText:
			v, err = string(text), r.spend(sizeLeaf)
		case fieldStruct:
			v, err = r.table(text, v, depth-1)
		default:
			v, err = r.list(text, v, depth-1)
		}
		if err != nil {
			return nil, err
		}
	}
	return v, nil
}

// table reads a Struct, whose entries it adds to v if that is a map.
func (r *reader) table(body []byte, v any, depth int) (any, error) {
	entries, ok := v.(map[string]any)
	if depth <= 0 || depth == 1 && len(body) > 0 { // an entry is a message too
		return nil, errDeep
	}
	if !ok {
		entries = make(map[string]any)
		if err := r.spend(sizeTable); err != nil {
			return nil, err
		}
	}
	for len(body) > 0 {
		entry, rest, known, err := within(body)
		if err != nil {
			return nil, err
		}
		if body = rest; !known {
			continue
		}
		size := 2*sizeAny + 1
		if len(entries) == 0 {
			size *= leastRoom
		}
		if err := r.spend(size); err != nil {
			return nil, err
		}
		name, elem, err := r.entry(entry, depth-1)
		if err != nil {
			return nil, err
		}
		entries[name] = elem
	}
	return entries, nil
}

// entry reads an entry of a Struct.
func (r *reader) entry(body []byte, depth int) (name string, v any, err error) {
	for len(body) > 0 {
		number, wire, rest, err := next(body)
		if err != nil {
			return "", nil, err
		}
		if number > 2 {
			if body, err = skip(number, wire, rest); err != nil {
				return "", nil, err
			}
			continue
		}
		if wire != protowire.BytesType {
			return "", nil, fmt.Errorf("a value of wire type %d does not fit an entry of google.protobuf.Struct", wire)
		}
		text, n := protowire.ConsumeBytes(rest)
		if n < 0 {
			return "", nil, protowire.ParseError(n)
		}
		if body = rest[n:]; number == 1 {
			name = string(text)
		} else if v, err = r.value(text, v, depth-1); err != nil {
			return "", nil, trail.In(fmt.Sprintf("[%.64q]", name), err)
		}
	}
	return name, v, nil
}

// list reads a ListValue, whose elements it adds to v if that is a list.
func (r *reader) list(body []byte, v any, depth int) (any, error) {
	elements, ok := v.([]any)
	if !ok {
		elements = []any{}
		if err := r.spend(sizeList); err != nil {
			return nil, err
		}
	}
	if depth <= 0 {
		return nil, errDeep
	}
	for len(body) > 0 {
		text, rest, known, err := within(body)
		if err != nil {
			return nil, err
		}
		if body = rest; !known {
			continue
		}
		if err := r.spend(sizeAny); err != nil {
			return nil, err
		}
		elem, err := r.value(text, nil, depth-1)
		if err != nil {
			return nil, trail.In(fmt.Sprintf("[%d]", len(elements)), err)
		}
		elements = append(elements, elem)
	}
	return elements, nil
}

// within reads a field of a message whose field 1 holds messages; known is false for another field.
func within(body []byte) (text, rest []byte, known bool, err error) {
	number, wire, rest, err := next(body)
	switch {
	case err != nil:
		return nil, nil, false, err
	case number != 1:
		rest, err = skip(number, wire, rest)
		return nil, rest, false, err
	case wire != protowire.BytesType:
		return nil, nil, false, fmt.Errorf("a value of wire type %d does not fit a list of messages", wire)
	}
	text, n := protowire.ConsumeBytes(rest)
	if n < 0 {
		return nil, nil, false, protowire.ParseError(n)
	}
	return text, rest[n:], true, nil
}
