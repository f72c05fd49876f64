package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Redacted is what is recorded in place of a text.
const Redacted = "redacted"

// redact removes the values of fields from a message; v is what it was encoded from.
func redact(m *Message, v any, paths []string) error {
	switch m.Codec {
	case "json":
		var tree any
		d := json.NewDecoder(bytes.NewReader(m.Body))
		d.UseNumber()
		if err := d.Decode(&tree); err != nil {
			return err
		}
		for _, path := range paths {
			tree = redactJSON(tree, strings.Split(path, "."))
		}
		b, err := json.Marshal(tree)
		m.Body = b
		return err
	case "protobuf":
		original, ok := v.(proto.Message)
		if !ok {
			return fmt.Errorf("a message of codec protobuf is a %T", v)
		}
		own := proto.Clone(original)
		for _, path := range paths {
			redactProto(own.ProtoReflect(), strings.Split(path, "."))
		}
		b, err := proto.Marshal(own)
		m.Body = b
		return err
	}
	return nil
}

// redactJSON returns a value without what is at a path.
func redactJSON(v any, path []string) any {
	if len(path) == 0 {
		switch v.(type) {
		case string:
			return Redacted
		case json.Number:
			return 0
		}
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if path[0] == "*" || path[0] == k {
				v[k] = redactJSON(v[k], path[1:])
			}
		}
	case []any:
		for i := range v {
			if path[0] == "*" || path[0] == strconv.Itoa(i) {
				v[i] = redactJSON(v[i], path[1:])
			}
		}
	}
	return v
}

// redactProto removes what is at a path, by the names of the .proto file or those of JSON.
func redactProto(m protoreflect.Message, path []string) {
	var found []protoreflect.FieldDescriptor
	m.Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if path[0] == "*" || string(f.Name()) == path[0] || f.JSONName() == path[0] {
			found = append(found, f)
		}
		return true
	})
	for _, f := range found {
		v, rest := m.Get(f), path[1:]
		switch {
		case len(rest) == 0 && f.Kind() == protoreflect.StringKind && !f.IsList() && !f.IsMap():
			m.Set(f, protoreflect.ValueOfString(Redacted))
		case len(rest) == 0:
			m.Clear(f)
		case f.IsMap():
			redactMap(f, v.Map(), rest)
		case f.IsList():
			redactList(f, v.List(), rest)
		case f.Message() != nil:
			redactProto(v.Message(), rest)
		}
	}
}

func redactMap(f protoreflect.FieldDescriptor, m protoreflect.Map, path []string) {
	var keys []protoreflect.MapKey
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		if path[0] == "*" || path[0] == k.String() {
			keys = append(keys, k)
		}
		return true
	})
	for _, k := range keys {
		switch {
		case len(path) == 1:
			m.Clear(k)
		case f.MapValue().Message() != nil:
			redactProto(m.Get(k).Message(), path[1:])
		}
	}
}

// redactList redacts elements of a list. One of numbers or texts has no shape without its elements:
// they become zero.
func redactList(f protoreflect.FieldDescriptor, l protoreflect.List, path []string) {
	for i := range l.Len() {
		if path[0] != "*" && path[0] != strconv.Itoa(i) {
			continue
		}
		switch {
		case len(path) > 1 && f.Message() != nil:
			redactProto(l.Get(i).Message(), path[1:])
		case len(path) == 1:
			l.Set(i, l.NewElement())
		}
	}
}
