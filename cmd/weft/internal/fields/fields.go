// Package fields finds fields of a request that the message of a method does not have.
package fields

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/schema"
)

// Fields are those of the request of a method. A nil *Fields are not known.
type Fields struct {
	method string
	model  *schema.Model
	of     *schema.Type
	plain  bool // the wire has messages of Protocol Buffers as encoding/json has their structs
}

// OfMessage are the fields of a message of Protocol Buffers that the reflection of gRPC has described.
func OfMessage(method string, request protoreflect.MessageDescriptor) (*Fields, error) {
	b := schema.NewBuilder()
	of := b.Descriptor(request)
	model, err := b.Model()
	if err != nil {
		return nil, err
	}
	return &Fields{method: method, model: model, of: of}, nil
}

// in finds the request of a method in a model; nil if the model does not have the method.
func in(model *schema.Model, method string) (f *Fields, kind string) {
	for _, s := range model.Services {
		for _, m := range s.Methods {
			if s.Name+"."+m.Name == method || slices.Contains(m.Aliases, method) {
				return &Fields{method: method, model: model, of: m.Request}, m.Kind
			}
		}
	}
	return nil, ""
}

// Check returns an error for the first field of a request that its type does not have: the server would ignore it. What
// else may be wrong with a request, the server tells. A nil f accepts all.
func (f *Fields) Check(text json.RawMessage) error {
	if f == nil {
		return nil
	}
	return f.value(f.of, text, "")
}

// value checks a value of a type, which stands at a path of the request.
func (f *Fields) value(t *schema.Type, text json.RawMessage, path string) error {
	text = bytes.TrimSpace(text)
	if t == nil || t.JSON != "" || len(text) == 0 {
		return nil
	}
	switch {
	case t.Kind == schema.KindMessage && text[0] == '{':
		return f.message(t, text, path)
	case (t.Kind == schema.KindList || t.Kind == schema.KindArray) && text[0] == '[':
		var elements []json.RawMessage
		if err := json.Unmarshal(text, &elements); err != nil {
			return nil
		}
		for n, e := range elements {
			if err := f.value(t.Elem, e, path+"["+strconv.Itoa(n)+"]"); err != nil {
				return err
			}
		}
	case t.Kind == schema.KindMap && text[0] == '{':
		all, err := Members(text)
		if err != nil {
			return nil
		}
		for _, m := range all {
			if err := f.value(t.Elem, m.Value, join(path, m.Key)); err != nil {
				return err
			}
		}
	}
	return nil
}

// emptyMessage is the message without fields, which a struct{} is too.
const emptyMessage = "google.protobuf.Empty"

// message checks an object that is a message.
func (f *Fields) message(t *schema.Type, text json.RawMessage, path string) error {
	m := f.model.Message(t.Name)
	switch {
	case t.Name == emptyMessage:
		m = &schema.Message{Name: t.Name, Package: "google.protobuf"}
	case m == nil || schema.WellKnown(t.Name) != nil:
		return nil // it has a form of its own
	}
	all, err := Members(text)
	if err != nil {
		return nil
	}
	for _, one := range all {
		field := f.find(m, one.Key)
		if field == nil && m.Stock() && strings.HasPrefix(one.Key, "[") {
			continue // an extension
		}
		if field == nil {
			return f.unknown(m, join(path, one.Key))
		}
		if err := f.value(field.Type, one.Value, join(path, one.Key)); err != nil {
			return err
		}
	}
	return nil
}

// find is the field of a message that a key of an object is read into; nil for none.
func (f *Fields) find(m *schema.Message, key string) *schema.Field {
	for _, field := range m.Fields {
		name, other := f.names(m, field)
		switch {
		case name == "":
		case name == key, other != "" && other == key:
			return field
		case !f.protojson() && strings.EqualFold(name, key):
			return field // encoding/json does not tell upper case from lower case
		}
	}
	return nil
}

// protojson reports whether the request is read by the rules of protojson, not of encoding/json: those of encoding/json
// are for a message of Protocol Buffers in a struct of Go too, and for all of them on the wire of rpcx.
func (f *Fields) protojson() bool {
	m := f.model.Message(f.of.Name)
	return !f.plain && f.of.Kind == schema.KindMessage && m != nil && m.Stock()
}

// names are those of a field, first the one to be shown. A field of a message of Protocol Buffers is known by the name in its
// .proto file too, and in a struct of Go by that alone, which is in the tags of the generated struct.
func (f *Fields) names(m *schema.Message, field *schema.Field) (name, other string) {
	switch {
	case !m.Stock():
		return field.Name, ""
	case f.protojson():
		return field.Name, field.Proto
	}
	return field.Proto, ""
}

// maxNamed is how many fields an error names.
const maxNamed = 20

// unknown is the error of a field that a message does not have.
func (f *Fields) unknown(m *schema.Message, path string) error {
	var known []string
	for _, field := range m.Fields {
		if name, _ := f.names(m, field); name != "" {
			known = append(known, name)
		}
	}
	what := "which"
	if strings.ContainsAny(path, ".[") {
		what = "where " + m.Local()
	}
	has := "the fields " + strings.Join(known, ", ")
	switch {
	case len(known) == 0:
		has = "no fields"
	case len(known) == 1:
		has = "only the field " + known[0]
	case len(known) > maxNamed:
		has = fmt.Sprintf("the fields %s and %d more that 'weft describe' lists", strings.Join(known[:maxNamed], ", "), len(known)-maxNamed)
	}
	return fmt.Errorf("%s: there is the unknown field %q in the request, %s has %s; --allow-unknown sends it all the same; %w", f.method, path, what, has, shell.ErrUsage)
}

// join is the path of a field.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
