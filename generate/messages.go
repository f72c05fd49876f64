package generate

import "fmt"

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
		p.line("%s %s `weft:%q`", f.name, f.form.typ, tag)
	}
	p.line("}\n")
}

// option returns what the tag of a field says behind its number.
func (f *form) option() string {
	for f.elem != nil && f.kind >= formPointer {
		f = f.elem
	}
	return f.tag
}
