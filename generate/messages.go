package generate

import (
	"fmt"
	"strings"
	"unicode"
)

// enum writes an enumeration.
func (p *printer) enum(e *enum) {
	p.line("")
	p.doc(orElse(e.doc, fmt.Sprintf("%s is an enumeration.", e.name)))
	p.line("type %s int32\n", e.name)
	p.line("// The values of %s.\nconst (", e.name)
	for _, v := range e.values {
		if v.doc != "" {
			p.doc(v.doc)
		}
		p.line("%s %s = %d", v.name, e.name, v.number)
	}
	p.line(")\n")
}

// record writes a struct with numbered fields.
func (p *printer) record(r *record) {
	p.line("")
	p.doc(orElse(r.doc, fmt.Sprintf("%s is a message.", r.name)))
	p.line("type %s struct {", r.name)
	for _, f := range r.fields {
		if f.doc != "" {
			p.doc(f.doc)
		}
		tag := fmt.Sprint(f.number)
		if t := f.form.option(); t != "" {
			tag += "," + t
		}
		p.line("%s %s `weft:%q%s`", f.name, f.form.typ, tag, f.jsonTag())
	}
	p.line("}\n")
}

// jsonTag returns the tag by which a field has the name in JSON that Protocol Buffers give it, and is left out when it is zero. A name that a tag
// cannot have gives none.
func (f *field) jsonTag() string {
	strange := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' && r != '.' && r != '$'
	}
	if f.json == "" || strings.ContainsFunc(f.json, strange) {
		return ""
	}
	option := "omitempty"
	if f.form.kind == formTime {
		option = "omitzero" // no time.Time is empty
	}
	return fmt.Sprintf(" json:%q", f.json+","+option)
}

// option returns what the tag of a field says behind its number.
func (f *form) option() string {
	for f.elem != nil && f.kind >= formPointer {
		f = f.elem
	}
	return f.tag
}
