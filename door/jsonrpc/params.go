package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weftrpc/weft/door/jsonrpc/internal/envelope"
	"github.com/weftrpc/weft/schema"
)

// decode decodes the params of a request into v; value decodes JSON.
func (d *door) decode(r *envelope.Request, v any, value func(body []byte, v any) error) error {
	switch {
	case r.Params == nil && r.One:
		return errors.New("jsonrpc: request body missing params")
	case r.Params == nil || string(r.Params) == "null":
		return nil // v has no field set
	case r.Params[0] != '[':
		return value(r.Params, v)
	}
	known, ok := d.order.Load(schema.TypeOf(v))
	if !ok {
		known = shapeOf(v)
		d.order.Store(schema.TypeOf(v), known)
	}
	s := known.(shape)
	if s.list && !r.One {
		return value(r.Params, v)
	}
	elements := envelope.Elements(r.Params, max(len(s.names), 1))
	switch {
	case len(elements) == 0:
		return nil
	case r.One, len(elements) == 1 && (!s.fields || elements[0][0] == '{'):
		return value(elements[0], v)
	case len(elements) > max(len(s.names), 1):
		return fmt.Errorf("the params have more values than the request has fields, which are %d", len(s.names))
	}
	var object bytes.Buffer
	for i, e := range elements {
		name, err := json.Marshal(s.names[i])
		if err != nil {
			return err
		}
		object.WriteByte("{,"[min(i, 1)])
		object.Write(name)
		object.WriteByte(':')
		object.Write(e)
	}
	object.WriteByte('}')
	return value(object.Bytes(), v)
}

// shape is what params in an array mean for a type.
type shape struct {
	list   bool // the array is the request
	fields bool // its elements are fields
	names  []string
}

func shapeOf(v any) shape {
	set := schema.NewSet("#/")
	s := set.Resolve(set.Of(schema.TypeOf(v)))
	return shape{list: s.Type == "array", fields: s.Type == "object" && s.AdditionalProperties == nil, names: s.Order}
}
