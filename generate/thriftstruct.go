package generate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weftrpc/weft/generate/internal/names"
	"github.com/weftrpc/weft/generate/internal/thriftidl"
)

// thriftPrinter writes what a .thrift file defines.
type thriftPrinter struct {
	*printer
	s *thriftSource
}

// file writes all of it.
func (p *thriftPrinter) file() {
	s := p.s
	for _, e := range s.d.Enums {
		p.enum(s.enum(e))
		p.enumString(e)
	}
	for _, t := range s.d.Typedefs {
		p.line("")
		p.doc(orElse(t.Comment(), fmt.Sprintf("%s is the type %s.", names.Exported(t.Name), t.Type)))
		p.line("type %s = %s", names.Exported(t.Name), s.typ(t.Type))
	}
	for _, c := range s.d.Consts {
		p.constant(c)
	}
	for _, x := range s.d.Structs {
		p.structure(x)
	}
	for _, x := range s.d.Services {
		p.thriftService(x)
	}
}

func (s *thriftSource) enum(e *thriftidl.Enum) *enum {
	out := &enum{name: names.Exported(e.Name), doc: e.Comment()}
	for _, v := range e.Values {
		out.values = append(out.values, enumValue{out.name + "_" + v.Name, v.Comment(), v.Number})
	}
	return out
}

// enumString writes the method String of an enumeration.
func (p *thriftPrinter) enumString(e *thriftidl.Enum) {
	name := names.Exported(e.Name)
	p.line("\n// String is the name of the value.\nfunc (e %s) String() string {\nswitch e {", name)
	seen := make(map[int32]bool)
	for _, v := range e.Values {
		if !seen[v.Number] {
			p.line("case %s_%s:\nreturn %q", name, v.Name, v.Name)
		}
		seen[v.Number] = true
	}
	p.line("}\nreturn \"%s(\" + %s.Itoa(int(e)) + \")\"\n}", name, p.f.imports.Std("strconv"))
}

// structure writes a struct, a union or an exception.
func (p *thriftPrinter) structure(x *thriftidl.Struct) {
	name := names.Exported(x.Name)
	doc := orElse(x.Comment(), fmt.Sprintf("%s is the %s %s.", name, x.Kind, x.Name))
	if x.Kind == thriftidl.Union {
		doc += "\n\nExactly one of its fields is set."
	}
	p.line("")
	p.fields(name, doc, x.Fields, x.Kind)
	if x.HasDefaults() {
		p.line("\n// New%[1]s returns the struct %[1]s with the defaults of its fields.\nfunc New%[1]s() *%[1]s {\nreturn &%[1]s{", name)
		for _, f := range x.Fields {
			if f.Value != nil {
				p.line("%s: %s,", fieldName(f, x.Kind), p.s.fieldValue(f.Value, f, x.Kind))
			}
		}
		p.line("}\n}")
	}
	p.getters(name, x.Fields, x.Kind)
	if x.Kind == thriftidl.Exception {
		p.errorMethod(x)
	}
}

// fields writes a struct.
func (p *thriftPrinter) fields(name, doc string, all []*thriftidl.Field, kind thriftidl.StructKind) {
	p.doc(doc)
	p.line("type %s struct {", name)
	for _, f := range all {
		if doc := f.Comment(); doc != "" {
			p.doc(doc)
		}
		p.line("%s %s %s", fieldName(f, kind), p.s.fieldType(f, kind), p.s.tag(f, kind))
	}
	p.line("}")
}

// tag is the tag of a field: for Thrift, for JSON, and what the annotation go.tag has.
func (s *thriftSource) tag(f *thriftidl.Field, kind thriftidl.StructKind) string {
	tag := fmt.Sprintf("%s,%d", f.Name, f.ID)
	omit, whenAbsent := "", ",omitempty"
	if !strings.HasPrefix(s.fieldType(f, kind), "*") {
		whenAbsent = ",omitzero" // an empty binary, list, set or map that is set is in the JSON; nil is not set
	}
	switch {
	case kind == thriftidl.Union:
		tag, omit = tag+",union", whenAbsent
	case f.Need == thriftidl.Required:
		tag += ",required"
	case absent(f, kind):
		tag, omit = tag+",optional", whenAbsent
	}
	text := fmt.Sprintf("thrift:%q", tag)
	more, _ := f.Annotations.Get("go.tag")
	if !strings.Contains(" "+more, ` json:"`) {
		text += fmt.Sprintf(" json:%q", f.Name+omit)
	}
	if more != "" {
		text += " " + more
	}
	if strings.ContainsAny(text, "`\n") {
		return strconv.Quote(text)
	}
	return "`" + text + "`"
}

// getters writes methods that read fields which may be nil.
func (p *thriftPrinter) getters(name string, all []*thriftidl.Field, kind thriftidl.StructKind) {
	for _, f := range all {
		if !readable(f, kind) {
			continue
		}
		field, star, otherwise, says := fieldName(f, kind), "", p.s.zero(f.Type), "the zero value"
		if f.Type.IsScalar() {
			star = "*"
		}
		if f.Value != nil {
			otherwise, says = p.s.value(f.Value, f.Type), "its default"
			if f.Type.IsStruct() {
				otherwise = "&" + otherwise
			}
		}
		p.line(`
// Get%[1]s returns the field %[1]s, or %[6]s if that is nil.
func (m *%[2]s) Get%[1]s() %[3]s {
	if m != nil && m.%[1]s != nil {
		return %[4]sm.%[1]s
	}
	return %[5]s
}`, field, name, p.s.variable(f.Type), star, otherwise, says)
	}
}

// errorMethod writes the method Error of an exception.
func (p *thriftPrinter) errorMethod(x *thriftidl.Struct) {
	var format, args string
	for _, f := range x.Fields {
		if !f.Type.IsScalar() || absent(f, x.Kind) {
			continue
		}
		verb := "%v"
		if f.Type.Underlying().Kind == thriftidl.String {
			verb = "%q"
		}
		separator := ", "
		if format == "" {
			separator = ": "
		}
		format += separator + f.Name + " " + verb
		args += ", e." + fieldName(f, x.Kind)
	}
	p.line("\n// Error implements error.\nfunc (e *%s) Error() string {", names.Exported(x.Name))
	if format == "" {
		p.line("return %q\n}", x.Name)
		return
	}
	p.line("return %s.Sprintf(%q%s)\n}", p.f.imports.Std("fmt"), x.Name+format, args)
}
