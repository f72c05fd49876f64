package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weftrpc/weft/internal/stock"
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
		original, ok := stock.Message(v)
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

// names reports whether a part of a path is for a name. Case and underscores do not count: a field has one name in a .proto file, another in
// JSON, and in JSON of Go either. What is secret must not be recorded because a program writes its name in another way.
func names(part, name string) bool {
	return part == "*" || strings.EqualFold(strings.ReplaceAll(part, "_", ""), strings.ReplaceAll(name, "_", ""))
}

// within is what is left of a path for an element of a list; ok is false when the path is not for it. A part that is neither * nor an
// index is for a field of every element.
func within(path []string, i int) (rest []string, ok bool) {
	if _, err := strconv.Atoi(path[0]); err != nil && path[0] != "*" {
		return path, true
	}
	return path[1:], path[0] == "*" || path[0] == strconv.Itoa(i)
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
			if names(path[0], k) {
				v[k] = redactJSON(v[k], path[1:])
			}
		}
	case []any:
		for i := range v {
			if rest, ok := within(path, i); ok {
				v[i] = redactJSON(v[i], rest)
			}
		}
	}
	return v
}

// redactProto removes what is at a path, by the names of the .proto file or those of JSON.
func redactProto(m protoreflect.Message, path []string) {
	var found []protoreflect.FieldDescriptor
	m.Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if names(path[0], string(f.Name())) || names(path[0], f.JSONName()) {
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
		if names(path[0], k.String()) {
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
		rest, ok := within(path, i)
		switch {
		case !ok:
		case len(rest) > 0 && f.Message() != nil:
			redactProto(l.Get(i).Message(), rest)
		case len(rest) == 0:
			l.Set(i, l.NewElement())
		}
	}
}
