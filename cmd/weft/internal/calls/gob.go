package calls

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/gob"
)

// asGob sends messages to servers of net/rpc, whose types are made of JSON: gob matches fields by
// their names.
type asGob struct{ result reflect.Type }

func (asGob) codec() codec.Codec { return gob.New() }

func (asGob) request(text json.RawMessage) (any, error) {
	value, err := decode(text)
	if err != nil {
		return nil, err
	}
	v := reflect.New(typeOf(value))
	if err := json.Unmarshal(text, v.Interface()); err != nil {
		return nil, fmt.Errorf("the request: %w; %w", err, shell.ErrUsage)
	}
	return v.Interface(), nil
}

func (s asGob) reply() any {
	if s.result == nil {
		return nil
	}
	return reflect.New(s.result).Interface()
}

func (s asGob) show(reply any) (json.RawMessage, error) {
	if reply == nil {
		return json.RawMessage("null"), nil
	}
	return json.Marshal(reply)
}

// decode reads a JSON value, with its numbers as they are.
func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	err := d.Decode(&value)
	return value, err
}

// typeOf makes a type that can hold a value of JSON. Fields get an upper-case letter at first, as
// gob has only such.
func typeOf(value any) reflect.Type {
	switch v := value.(type) {
	case bool:
		return reflect.TypeFor[bool]()
	case string:
		return reflect.TypeFor[string]()
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return reflect.TypeFor[float64]()
		}
		return reflect.TypeFor[int64]()
	case []any:
		if len(v) == 0 {
			return reflect.TypeFor[[]string]()
		}
		return reflect.SliceOf(typeOf(v[0]))
	case map[string]any:
		var fields []reflect.StructField
		seen := make(map[string]bool)
		for key, value := range v {
			first, size := utf8.DecodeRuneInString(key)
			name := string(unicode.ToUpper(first)) + key[size:]
			if value == nil || seen[name] || !isName(name) {
				continue // gob sends no nil, and knows no such field
			}
			seen[name] = true
			fields = append(fields, reflect.StructField{Name: name, Type: typeOf(value), Tag: reflect.StructTag(fmt.Sprintf("json:%q", key))})
		}
		return reflect.StructOf(fields)
	}
	return reflect.TypeFor[struct{}]()
}

// isName reports whether a text can be the name of an exported field.
func isName(text string) bool {
	for i, r := range text {
		if i == 0 && !unicode.IsUpper(r) || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' {
			return false
		}
	}
	return text != ""
}

// newGob makes the shape of a reply of which there is a sample in JSON; "": replies are not shown.
func newGob(sample string) (shape, error) {
	if sample == "" {
		return asGob{}, nil
	}
	value, err := decode([]byte(sample))
	if err != nil {
		return nil, fmt.Errorf("--reply is no JSON: %w; %w", err, shell.ErrUsage)
	}
	return asGob{typeOf(value)}, nil
}
