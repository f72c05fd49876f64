package export

import (
	"strings"

	"github.com/weftrpc/weft/schema"
	"github.com/weftrpc/weft/schema/internal/naming"
)

// language is how a language names the types of the values of JSON.
type language struct {
	text, integer, number, boolean, null string

	unknown string // any value
	never   string // no value

	list   func(elem string) string
	object func(elem string) string // with members of any names

	exact bool                   // integers of 64 bits are exact
	word  func(name string) bool // reports a name that no type may have
}

// typeNames names the types of a model in a language.
type typeNames struct {
	language
	names map[string]string // of messages and enumerations, by those in the model
}

// declarations writes the declarations of a model in a language.
type declarations interface {
	enum(*schema.Enum)
	message(*schema.Message)
	service(s *schema.Service, name string)
}

// namesIn gives the messages and enumerations of a model names in a language.
func namesIn(l language, m *schema.Model) typeNames { return typeNames{l, shortNames(m, l.word)} }

// declare writes all declarations of a model, each with a name of its own.
func (n *typeNames) declare(m *schema.Model, w declarations) {
	for _, e := range m.Enums {
		w.enum(e)
	}
	for _, one := range m.Messages {
		w.message(one)
	}
	used := make(map[string]bool)
	for _, name := range n.names {
		used[name] = true
	}
	for _, s := range m.Services {
		w.service(s, n.serviceName(s.Name, used))
	}
}

// serviceName is a name for a service that is not used yet.
func (n *typeNames) serviceName(full string, used map[string]bool) string {
	name := naming.Identifier(full[strings.LastIndexByte(full, '.')+1:])
	if used[name] {
		name += "Service"
	}
	if used[name] {
		name = naming.Identifier(full)
	}
	for used[name] || n.word(name) {
		name += "_"
	}
	used[name] = true
	return name
}

// literals are the values of an enumeration.
func literals(e *schema.Enum) (all []string) {
	for _, v := range e.Values {
		all = append(all, quote(v.Name))
	}
	return all
}

// inJSON lists the fields of a message that its JSON has.
func inJSON(m *schema.Message) (all []*schema.Field) {
	for _, f := range m.Fields {
		if f.Name != "" {
			all = append(all, f)
		}
	}
	return all
}

// fieldRemarks are the texts of the comment of a field; some may be empty.
func (n *typeNames) fieldRemarks(m *schema.Message, f *schema.Field) []string {
	oneof := ""
	if f.Oneof != "" {
		oneof = "At most one field of " + f.Oneof + " is set."
	}
	return []string{f.Doc, n.typeRemark(f.Type, m.Stock()), oneof}
}

// methodRemarks are the texts of the comment of a method; some may be empty.
func methodRemarks(m *schema.Method) []string {
	once := ""
	if m.Idempotent {
		once = "Idempotent: a call may be made again without another effect."
	}
	return []string{m.Doc, once}
}

// typeRemark says what the name of a type does not.
func (n *typeNames) typeRemark(t *schema.Type, stock bool) string {
	if t.JSON != "" {
		return ""
	}
	switch t.Kind {
	case schema.KindInt64, schema.KindUint64:
		switch {
		case stock:
			return "64 bits, as text."
		case n.exact:
			return ""
		}
		return "64 bits: exact up to 2^53 only."
	case schema.KindBytes:
		return "Base64."
	case schema.KindTime:
		return "A time, RFC 3339."
	case schema.KindDuration:
		return "A duration in nanoseconds."
	case schema.KindMessage:
		switch t.Name {
		case schema.Timestamp:
			return "A time, RFC 3339."
		case schema.Duration:
			return "A duration in seconds, such as 1.5s."
		}
	}
	return ""
}

// typ is the type of a value. stock says that it is within a message whose JSON is that of protojson.
func (n *typeNames) typ(t *schema.Type, stock bool) string {
	plain, nullable := n.plain(t, stock)
	if !stock && (t.Optional || nullable) && plain != n.unknown {
		return n.orNull(plain)
	}
	return plain
}

func (n *typeNames) orNull(name string) string { return name + " | " + n.null }

// plain is typ without null; nullable says that null is a value all the same.
func (n *typeNames) plain(t *schema.Type, stock bool) (plain string, nullable bool) {
	switch t.JSON {
	case schema.JSONText:
		return n.text, false
	case schema.JSONAny, schema.JSONNone:
		return n.unknown, false
	case schema.JSONNumber:
		return n.number, false
	case schema.JSONInteger:
		return n.integer, false
	case schema.JSONBytes:
		return n.text, true
	}
	switch t.Kind {
	case schema.KindBool:
		return n.boolean, false
	case schema.KindInt64, schema.KindUint64:
		if stock {
			return n.text, false
		}
		return n.integer, false
	case schema.KindFloat32, schema.KindFloat64:
		return n.number, false
	case schema.KindString, schema.KindTime:
		return n.text, false
	case schema.KindBytes:
		return n.text, true
	case schema.KindAny:
		return n.unknown, false
	case schema.KindEnum:
		if t.Name == schema.NullValue {
			return n.null, false
		}
		return n.names[t.Name], false
	case schema.KindMessage:
		if s := schema.WellKnown(t.Name); s != nil {
			return n.wellKnown(s), false
		}
		return n.names[t.Name], false
	case schema.KindList, schema.KindArray:
		return n.list(n.typ(t.Elem, stock)), t.Kind == schema.KindList
	case schema.KindMap:
		return n.object(n.typ(t.Elem, stock)), true
	}
	return n.integer, false
}

// wellKnown is the type of a message that protojson encodes in a form of its own.
func (n *typeNames) wellKnown(s *schema.Schema) string {
	name := n.unknown
	switch s.Type {
	case "string":
		name = n.text
	case "integer":
		name = n.integer
	case "number":
		name = n.number
	case "boolean":
		name = n.boolean
	case "array":
		name = n.list(n.unknown)
	case "object":
		name = n.object(n.unknown)
		if s.AdditionalProperties == nil {
			name = n.object(n.never)
		}
	}
	if s.Nullable {
		return n.orNull(name)
	}
	return name
}
