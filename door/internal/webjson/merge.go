package webjson

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/internal/stock"
)

// Member is the value of a member of a JSON object, or missing if the object has none of this name.
func Member(object []byte, name, missing string) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(object, &all); err != nil {
		return nil, err
	}
	if v, ok := all[name]; ok {
		return v, nil
	}
	return []byte(missing), nil
}

// Merge decodes the fields of a JSON object into v and leaves the other fields as they are.
func Merge(object []byte, v any) error {
	m, ok := stock.Message(v)
	if !ok {
		return json.Unmarshal(object, v)
	}
	fields := m.ProtoReflect().New().Interface()
	if err := protojson.Unmarshal(object, fields); err != nil {
		return err
	}
	proto.Merge(m, fields)
	return nil
}

// knownFields reports a field of a JSON value that v does not have.
func knownFields(body []byte, v any) error {
	if m, ok := stock.Message(v); ok {
		return protojson.UnmarshalOptions{RecursionLimit: codec.MaxDepth}.Unmarshal(body, m)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
