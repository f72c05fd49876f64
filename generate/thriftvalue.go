package generate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weftrpc/weft/generate/internal/names"
	"github.com/weftrpc/weft/generate/internal/thriftidl"
)

// value is a value in Go, of the type that typ returns.
func (s *thriftSource) value(v *thriftidl.Value, t *thriftidl.Type) string {
	u, v := t.Underlying(), v.Final()
	switch {
	case u.Enum != nil:
		return s.enumValue(v, t, u)
	case t.IsStruct():
		return s.typ(t) + "{" + s.structFields(v, u.Struct) + "}"
	}
	n := v.Int
	if v.Enum != nil {
		n = int64(v.Enum.Number)
	}
	switch u.Kind {
	case thriftidl.Bool:
		return strconv.FormatBool(n == 1)
	case thriftidl.Double:
		if v.Kind == thriftidl.DoubleValue {
			return strconv.FormatFloat(v.Double, 'g', -1, 64)
		}
		return strconv.FormatInt(n, 10)
	case thriftidl.String:
		return strconv.Quote(v.Text)
	case thriftidl.Binary:
		return "[]byte(" + strconv.Quote(v.Text) + ")"
	case thriftidl.UUID:
		id, _ := v.UUID()
		parts := make([]string, len(id))
		for i, c := range id {
			parts[i] = fmt.Sprintf("0x%02x", c)
		}
		return s.typ(t) + "{" + strings.Join(parts, ", ") + "}"
	case thriftidl.List, thriftidl.Set:
		parts := make([]string, len(v.List))
		for i, e := range v.List {
			parts[i] = s.value(e, u.Elem)
		}
		return s.typ(t) + "{" + strings.Join(parts, ", ") + "}"
	case thriftidl.Map:
		parts := make([]string, len(v.Map))
		for i, e := range v.Map {
			key := s.value(e.Key, u.Key)
			if u.Key.Underlying().Kind == thriftidl.Binary {
				key = strconv.Quote(e.Key.Final().Text)
			}
			parts[i] = key + ": " + s.value(e.Value, u.Elem)
		}
		return s.typ(t) + "{" + strings.Join(parts, ", ") + "}"
	}
	return strconv.FormatInt(n, 10)
}

// enumValue is a value of an enumeration: the first with its number.
func (s *thriftSource) enumValue(v *thriftidl.Value, t, u *thriftidl.Type) string {
	n := v.Int
	if v.Enum != nil {
		n = int64(v.Enum.Number)
	}
	for _, known := range u.Enum.Values {
		if int64(known.Number) == n && (v.Enum == nil || v.Enum.Name == known.Name) {
			return s.qualified(u.Document, names.Exported(u.Enum.Name)+"_"+known.Name, v.Pos)
		}
	}
	return fmt.Sprintf("%s(%d)", s.typ(t), n) // the value is that of another enumeration
}

// structFields are the fields of a literal of a struct.
func (s *thriftSource) structFields(v *thriftidl.Value, x *thriftidl.Struct) string {
	var parts []string
	for _, e := range v.Map {
		for _, f := range x.Fields {
			if f.Name == e.Key.Final().Text {
				parts = append(parts, fieldName(f, x.Kind)+": "+s.fieldValue(e.Value, f, x.Kind))
			}
		}
	}
	return strings.Join(parts, ", ")
}

// fieldValue is a value of the type that a field has in Go.
func (s *thriftSource) fieldValue(v *thriftidl.Value, f *thriftidl.Field, kind thriftidl.StructKind) string {
	switch text := s.value(v, f.Type); {
	case f.Type.IsStruct():
		return "&" + text
	case f.Type.IsScalar() && absent(f, kind):
		return "new(" + s.convert(text, f.Type) + ")"
	default:
		return text
	}
}

// convert gives a constant its type.
func (s *thriftSource) convert(text string, t *thriftidl.Type) string {
	switch t.Underlying().Kind {
	case thriftidl.I8, thriftidl.I16, thriftidl.I32, thriftidl.I64, thriftidl.Double:
		return s.typ(t) + "(" + text + ")"
	}
	return text
}

// zero is the zero value of a result.
func (s *thriftSource) zero(t *thriftidl.Type) string {
	switch u := t.Underlying(); {
	case u.Kind == thriftidl.Bool:
		return "false"
	case u.Kind == thriftidl.String:
		return `""`
	case u.Kind == thriftidl.UUID:
		return s.typ(t) + "{}"
	case t.IsScalar():
		return "0"
	}
	return "nil"
}

// constant writes a constant: one of Go, or a function where Go has none of its type.
func (p *thriftPrinter) constant(c *thriftidl.Const) {
	name, typ := names.Exported(c.Name), p.s.typ(c.Type)
	text := p.s.value(c.Value, c.Type)
	p.line("")
	if c.Type.IsScalar() && c.Type.Underlying().Kind != thriftidl.UUID {
		p.doc(orElse(c.Comment(), fmt.Sprintf("%s is the constant %s.", name, c.Name)))
		p.line("const %s %s = %s", name, typ, text)
		return
	}
	p.doc(orElse(c.Comment(), fmt.Sprintf("%s returns the constant %s.", name, c.Name)))
	if c.Type.IsStruct() {
		typ, text = "*"+typ, "&"+text
	}
	p.line("func %s() %s { return %s }", name, typ, text)
}
