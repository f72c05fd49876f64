package calls

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/weftrpc/weft/cmd/weft/internal/fields"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/codec"
	weftjson "github.com/weftrpc/weft/codec/json"
)

// asThrift sends messages to servers of Thrift, whose types are made of JSON: fields are matched by their numbers,
// and have the types that stand behind these, or those that JSON suggests.
type asThrift struct{ result reflect.Type }

// codec is any: whatever a call names, it travels as Thrift.
func (asThrift) codec() codec.Codec { return weftjson.New() }

func (asThrift) request(text json.RawMessage) (any, error) {
	t, plain, err := thriftValue(text, "")
	if err != nil {
		return nil, fmt.Errorf("the request: %w; %w", err, shell.ErrUsage)
	}
	v := reflect.New(t)
	if err := json.Unmarshal(plain, v.Interface()); err != nil {
		return nil, fmt.Errorf("the request: %w; %w", err, shell.ErrUsage)
	}
	return v.Interface(), nil
}

func (s asThrift) reply() any {
	if s.result == nil {
		return nil
	}
	return reflect.New(s.result).Interface()
}

func (s asThrift) show(reply any) (json.RawMessage, error) { return asGob(s).show(reply) }

// newThrift makes the shape of a reply of which there is a sample in JSON; "": replies are not shown.
func newThrift(sample string) (shape, error) {
	if sample == "" {
		return asThrift{}, nil
	}
	t, _, err := thriftValue([]byte(sample), "")
	if err != nil {
		return nil, fmt.Errorf("--reply: %w; %w", err, shell.ErrUsage)
	}
	return asThrift{t}, nil
}

// thriftValue makes a type of Go for a value of JSON, and the JSON that can be decoded into it. kind is the type
// in Thrift, such as i32 or list<i32>; "": the one that JSON suggests.
func thriftValue(text json.RawMessage, kind string) (reflect.Type, json.RawMessage, error) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || !json.Valid(text) {
		return nil, nil, errors.New("it is no JSON")
	}
	switch kind {
	case "":
	case "bool":
		return reflect.TypeFor[bool](), text, nil
	case "byte", "i8":
		return reflect.TypeFor[int8](), text, nil
	case "i16":
		return reflect.TypeFor[int16](), text, nil
	case "i32":
		return reflect.TypeFor[int32](), text, nil
	case "i64":
		return reflect.TypeFor[int64](), text, nil
	case "double":
		return reflect.TypeFor[float64](), text, nil
	case "string":
		return reflect.TypeFor[string](), text, nil
	case "binary":
		return reflect.TypeFor[[]byte](), text, binary(text)
	default:
		return thriftContainer(text, kind)
	}
	switch text[0] {
	case '{':
		return thriftStruct(text)
	case '[':
		return thriftList(text, "")
	case '"':
		return thriftValue(text, "string")
	case 't', 'f':
		return thriftValue(text, "bool")
	case 'n':
		return nil, nil, errors.New("null has no type in Thrift: leave the field out")
	}
	if bytes.ContainsAny(text, ".eE") {
		return thriftValue(text, "double")
	}
	return thriftValue(text, "i64")
}

// binary checks bytes in Base64.
func binary(text []byte) error {
	var value string
	if err := json.Unmarshal(text, &value); err != nil {
		return errors.New("binary is written as Base64, in quotes")
	}
	_, err := base64.StdEncoding.DecodeString(value)
	return err
}

// thriftContainer is thriftValue of a list, set or map.
func thriftContainer(text json.RawMessage, kind string) (reflect.Type, json.RawMessage, error) {
	name, inner, _ := strings.Cut(kind, "<")
	inner, closed := strings.CutSuffix(inner, ">")
	switch {
	case !closed:
	case name == "list" || name == "set":
		return thriftList(text, inner)
	case name == "map":
		key, value, ok := strings.Cut(inner, ",")
		if ok {
			return thriftMap(text, strings.TrimSpace(key), strings.TrimSpace(value))
		}
	}
	return nil, nil, fmt.Errorf("there is no type %q: want bool, byte, i16, i32, i64, double, string, binary, list<T>, set<T> or map<K,V>", kind)
}

// thriftList is thriftValue of a list whose elements have a type; "": that of the first one.
func thriftList(text json.RawMessage, kind string) (reflect.Type, json.RawMessage, error) {
	var elements []json.RawMessage
	if err := json.Unmarshal(text, &elements); err != nil {
		return nil, nil, err
	}
	if len(elements) == 0 {
		elements = []json.RawMessage{json.RawMessage(zeroOf(kind))}
		t, _, err := thriftValue(elements[0], kind)
		if err != nil {
			return nil, nil, err
		}
		return reflect.SliceOf(t), json.RawMessage("[]"), nil
	}
	var of reflect.Type
	for n, e := range elements {
		t, plain, err := thriftValue(e, kind)
		if err != nil {
			return nil, nil, err
		}
		if of == nil {
			of = t
		} else if of != t {
			return nil, nil, fmt.Errorf("element %d of a list has another type than those before it", n+1)
		}
		elements[n] = plain
	}
	plain, err := json.Marshal(elements)
	return reflect.SliceOf(of), plain, err
}

// zeroOf is a value of a type, for an empty list.
func zeroOf(kind string) string {
	switch {
	case kind == "bool":
		return "false"
	case kind == "" || kind == "string" || kind == "binary":
		return `""`
	case strings.HasPrefix(kind, "list") || strings.HasPrefix(kind, "set"):
		return "[]"
	case strings.HasPrefix(kind, "map"):
		return "{}"
	}
	return "0"
}

// thriftMap is thriftValue of a map. Keys that are numbers are in quotes, as JSON has them.
func thriftMap(text json.RawMessage, key, value string) (reflect.Type, json.RawMessage, error) {
	all, err := fields.Members(text)
	if err != nil {
		return nil, nil, err
	}
	k, _, err := thriftValue(json.RawMessage(zeroOf(key)), key)
	if err != nil {
		return nil, nil, err
	}
	if k.Kind() != reflect.String && (k.Kind() < reflect.Int8 || k.Kind() > reflect.Int64) {
		return nil, nil, fmt.Errorf("%s cannot be the key of a map in JSON", key)
	}
	v, _, err := thriftValue(json.RawMessage(zeroOf(value)), value)
	if err != nil {
		return nil, nil, err
	}
	plain := make(map[string]json.RawMessage, len(all))
	for _, m := range all {
		t, text, err := thriftValue(m.Value, value)
		if err != nil {
			return nil, nil, err
		}
		if t != v {
			return nil, nil, fmt.Errorf("the value of %q has another type than %s", m.Key, value)
		}
		plain[m.Key] = text
	}
	out, err := json.Marshal(plain)
	return reflect.MapOf(k, v), out, err
}

// thriftStruct is thriftValue of an object. Its keys are numbers of fields, with a type behind a colon, such as
// "1:i32"; keys that are names are numbered from 1 on as they stand.
func thriftStruct(text json.RawMessage) (reflect.Type, json.RawMessage, error) {
	all, err := fields.Members(text)
	if err != nil {
		return nil, nil, err
	}
	var fields []reflect.StructField
	plain := make(map[string]json.RawMessage, len(all))
	named, numbered := false, false
	for n, m := range all {
		id, kind, _ := strings.Cut(m.Key, ":")
		number, err := strconv.ParseInt(id, 10, 16)
		if err != nil {
			number, named = int64(n)+1, true
		} else {
			numbered = true
		}
		if named && numbered || number < 0 {
			return nil, nil, fmt.Errorf("the field %q: write the numbers of all fields, such as \"1:i32\", or the names of all in their order", m.Key)
		}
		t, value, err := thriftValue(m.Value, strings.TrimSpace(kind))
		if err != nil {
			return nil, nil, fmt.Errorf("the field %q: %w", m.Key, err)
		}
		if _, twice := plain[id]; twice {
			return nil, nil, fmt.Errorf("the field %q is there twice", m.Key)
		}
		plain[id] = value
		tag := fmt.Sprintf(`json:%q thrift:"f%d,%d`, id, number, number)
		if strings.HasPrefix(kind, "set<") {
			tag += ",set"
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", number), Type: t, Tag: reflect.StructTag(tag + `"`)})
	}
	out, err := json.Marshal(plain)
	return reflect.StructOf(fields), out, err
}
