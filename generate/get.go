package generate

import (
	"fmt"
	"slices"

	"github.com/weftrpc/weft/generate/internal/wiretag"
)

// gets writes what reads the fields of a message. Numbers and texts in their usual form are read by the code itself, from s, at i. Other forms of
// them, and what stands in the last bytes, are read by a method of its own, which goes on with the fields behind as long as it has to.
func (p *printer) gets(r *record) {
	all := parts(r.fields, (*field).swift)
	swift := slices.DeleteFunc(slices.Clone(r.fields), func(f *field) bool { return !f.swift() })
	if slices.ContainsFunc(r.fields, func(f *field) bool { return !f.swift() && f.form.kind != formMap }) { // a map is not read
		p.line("b := r.Body[:end:end]")
	}
	if len(swift) == 0 {
		for _, f := range r.fields {
			p.get(f)
		}
		p.line("return i\n}\n")
		return
	}
	p.line("s := r.Alias[:end]")
	if slices.ContainsFunc(swift, (*field).isText) {
		p.line("own := !r.Reuse")
	}
	p.line("for k := 0; ; {\nswitch k {")
	for k, fields := range all {
		p.line("case %d:", k)
		if fields[0].swift() {
			p.getSwift(fields[0], fmt.Sprintf("k = %d\nbreak", k))
		} else {
			for _, f := range fields {
				p.get(f)
			}
		}
		p.line("fallthrough")
	}
	p.line("default:\nreturn i\n}\ni, k = m.restWeft(r, s, i, k)\n}\n}\n")
	p.line("// restWeft reads the number or the text with the index k, for DecodeWeft, and those behind it that are near the end of s.")
	p.line("func (m *%s) restWeft(r *generated.Reader, s string, i, k int) (at, next int) {\nswitch k {", r.name)
	for k, fields := range all {
		if !fields[0].swift() {
			p.line("case %[1]d:\nreturn i, %[1]d", k)
			continue
		}
		p.line("case %d:\nif i = %s; i <= len(s)-8 {\nreturn i, %d\n}\nfallthrough", k, fields[0].readRest(), k+1)
	}
	p.line("default:\nreturn i, %d\n}\n}\n", len(all))
}

// swift reports whether the code of the message itself reads such a field.
func (f *field) swift() bool {
	switch f.form.kind {
	case formInt, formUint:
		return f.form.bits >= 32 && len(f.tag()) <= 4
	case formBool, formText:
		return len(f.tag()) <= 4
	}
	return false
}

// getSwift writes what reads a swift field, or sets it to zero. In other forms than the usual one it ends with miss.
func (p *printer) getSwift(f *field, miss string) {
	x, t := "m."+f.name, f.tag()
	switch form := f.form; form.kind {
	case formText:
		p.line("%s", t.ReadText(x, form.convert("v"), miss))
	case formBool:
		p.line("%s", t.ReadBool(x, miss))
	default:
		p.line("%s", t.ReadInt(x, form.typ, form.bits == 64, miss))
	}
}

// readRest is the call that reads a swift field in any form, and returns where it ends.
func (f *field) readRest() string {
	t := f.tag()
	args := fmt.Sprintf("s, i, %s, %d, &m.%s)", t.Word(), len(t), f.name)
	switch f.form.kind {
	case formText:
		return "generated.TextField(r, " + args
	case formBool:
		return "generated.BoolField(" + args
	}
	return "generated.IntField(" + args
}

// get writes what reads a field that is not swift: all values of it that follow at i, or the zero value.
func (p *printer) get(f *field) {
	x, t := "m."+f.name, f.tag()
	switch form := f.form; form.kind {
	case formMap:
		p.line("%[1]s = generated.Empty(%[1]s)", x)
	case formStruct:
		p.line("if %s {", t.At())
		p.line(`if from, to := generated.Span(b, i+%[1]d); to >= 0 && %[2]s.DecodeWeft(r, from, to, depth-1) == to {
			i = to
		} else {
			%[2]s = %[3]s{}
		}
	} else {
		%[2]s.DecodeWeft(r, 0, 0, 1)
	}`, len(t), x, form.typ)
	case formPointer:
		p.getPointer(t, form, x)
	case formList:
		p.getList(t, form, x)
	case formArray:
		p.getArray(t, form, x)
	case formOwn, formOctets:
		p.line("%s = *new(%s)\nif %s {", x, form.typ, t.At())
		p.line("if j := %s; j >= 0 {\ni = j\n} else {\n%s = *new(%s)\n}\n}", form.readInto(fmt.Sprintf("i+%d", len(t)), x), x, form.typ)
	default:
		p.getPlain(t, form, x)
	}
}

// getPlain reads a value that stands for itself.
func (p *printer) getPlain(t wiretag.Tag, form *form, x string) {
	p.line("%s = %s", x, form.zero())
	p.line("if %s {", t.At())
	p.line("if v, j := %s; j >= 0 {\n%s, i = %s, j\n}\n}", form.read(fmt.Sprintf("i+%d", len(t))), x, form.convert("v"))
}

func (p *printer) getPointer(t wiretag.Tag, form *form, x string) {
	elem := form.elem
	if elem.into() {
		p.line(`if !(%[1]s) || !generated.Make(r, &%[2]s) {
		%[2]s = nil
	} else {
		*%[2]s = *new(%[3]s)
		if j := %[4]s; j >= 0 {
			i = j
		} else {
			%[2]s = nil
		}
	}`, t.At(), x, elem.typ, elem.readInto(fmt.Sprintf("i+%d", len(t)), "*"+x))
		return
	}
	p.line("if !(%s) {\n%s = nil", t.At(), x)
	if elem.kind == formStruct {
		p.line(`} else if from, to := generated.Span(b, i+%[2]d); to >= 0 && generated.Make(r, &%[1]s) && %[1]s.DecodeWeft(r, from, to, depth-1) == to {
		i = to
	} else {
		%[1]s = nil
	}`, x, len(t))
		return
	}
	p.line("} else if v, j := %s; j >= 0 {", elem.read(fmt.Sprintf("i+%d", len(t))))
	if elem.kind == formBytes {
		p.line("if v == nil {\nv = []byte{}\n}") // as the plan has it
	}
	p.line(`if %[1]s == nil {
			%[1]s = new(%[2]s)
		}
		*%[1]s, i = %[3]s, j
	} else {
		%[1]s = nil
	}`, x, elem.typ, elem.convert("v"))
}

func (p *printer) getList(t wiretag.Tag, form *form, x string) {
	elem := form.elem
	p.line("%[1]s = %[1]s[:0]", x)
	if elem.packs() {
		size := 0
		if elem.wire() != 0 {
			size = elem.bits / 8
		}
		p.line("if %s {", t.At())
		p.line("if v, j := generated.Packed(%s, b, i+%d, %d, %s); j >= 0 {\n%s, i = v, j\n}\n}", x, len(t), size, elem.reader(), x)
		return
	}
	p.line("if %s {", t.At())
	if elem.kind == formStruct || elem.into() {
		p.line("%[1]s = generated.Grow(r, %[1]s, generated.Count(b, i, %[2]q))", x, string(t))
	} else {
		p.line("%[1]s = slices.Grow(%[1]s, generated.Count(b, i, %[2]q))", x, string(t))
	}
	p.line("for %s {", t.At())
	switch elem.kind {
	case formStruct:
		p.line(`from, to := generated.Span(b, i+%[1]d)
		n := len(%[2]s)
		if to < 0 || n == cap(%[2]s) {
			break
		}
		%[2]s = %[2]s[:n+1]
		if %[2]s[n].DecodeWeft(r, from, to, depth-1) != to {
			%[2]s[n] = %[3]s{}
			%[2]s = %[2]s[:n]
			break
		}
		i = to`, len(t), x, elem.typ)
	case formPointer:
		p.line(`from, to := generated.Span(b, i+%[1]d)
		n := len(%[2]s)
		if to < 0 || n == cap(%[2]s) {
			break
		}
		e := %[2]s[:n+1][n]
		if !generated.Make(r, &e) || e.DecodeWeft(r, from, to, depth-1) != to {
			%[2]s[:n+1][n] = nil
			break
		}
		%[2]s, i = append(%[2]s, e), to`, len(t), x)
	case formOwn, formOctets:
		p.line(`n := len(%[1]s)
		if n == cap(%[1]s) {
			break
		}
		%[1]s = append(%[1]s, *new(%[2]s))
		j := %[3]s
		if j < 0 {
			%[1]s = %[1]s[:n]
			break
		}
		i = j`, x, elem.typ, elem.readInto(fmt.Sprintf("i+%d", len(t)), x+"[n]"))
	default:
		p.line("v, j := %s\nif j < 0 {\nbreak\n}\n%[2]s, i = append(%[2]s, %[3]s), j", elem.read(fmt.Sprintf("i+%d", len(t))), x, elem.convert("v"))
	}
	p.line("}\n}")
}

// getArray reads an array, all of it or nothing, as the plan does.
func (p *printer) getArray(t wiretag.Tag, form *form, x string) {
	elem, at := form.elem, fmt.Sprintf("i+%d", len(t))
	p.line("if !(%s) {\n%s = *new(%s)\n} else if generated.Begin(r, &%[2]s) {", t.At(), x, form.typ)
	if elem.packs() {
		size := 0
		if elem.wire() != 0 {
			size = elem.bits / 8
		}
		p.line("if v, j := generated.Packed(%[1]s[:0], b, %[2]s, %[3]d, %[4]s); j >= 0 && len(v) <= len(%[1]s) {\ni = j\n} else {\n%[1]s = *new(%[5]s)\n}\n}",
			x, at, size, elem.reader(), form.typ)
		return
	}
	p.line("first, n := i, 0\nfor ; n >= 0 && %s; n++ {\nif n == len(%s) {\nn = -2\nbreak\n}", t.At(), x)
	fail := "n = -2\nbreak"
	switch {
	case elem.kind == formStruct || elem.kind == formPointer:
		made := ""
		if elem.kind == formPointer {
			made = fmt.Sprintf("!generated.Make(r, &%s[n]) || ", x)
		}
		p.line("from, to := generated.Span(b, %s)\nif to < 0 || %s%s[n].DecodeWeft(r, from, to, depth-1) != to {\n%s\n}\ni = to", at, made, x, fail)
	case elem.into():
		p.line("j := %s\nif j < 0 {\n%s\n}\ni = j", elem.readInto(at, x+"[n]"), fail)
	default:
		p.line("v, j := %s\nif j < 0 {\n%s\n}\n%s[n], i = %s, j", elem.read(at), fail, x, elem.convert("v"))
	}
	p.line("}\nif n < 0 {\ni, %s = first, *new(%s)\n}\n}", x, form.typ)
}

// readInto is the call that reads a value into the variable x, and returns where it ends, or -1.
func (f *form) readInto(at, x string) string {
	if f.kind == formOctets {
		return fmt.Sprintf("r.Octets(b, %s, (%s)[:])", at, x)
	}
	return fmt.Sprintf("generated.Read%s(b, %s, %s)", f.own, at, address(x))
}

// read is the call that reads a value of a form at an index of b.
func (f *form) read(at string) string {
	switch f.kind {
	case formBool:
		return fmt.Sprintf("generated.Bool(b, %s)", at)
	case formInt, formUint:
		return fmt.Sprintf("generated.Int[%s](b, %s)", f.typ, at)
	case formZigzag:
		return fmt.Sprintf("generated.Zigzag[%s](b, %s)", f.typ, at)
	case formFixed, formFloat:
		if f.native {
			return fmt.Sprintf("%s(b, %s)", f.reader(), at)
		}
		return fmt.Sprintf("generated.Fixed%d(b, %s)", f.bits, at)
	case formText:
		return fmt.Sprintf("r.Text(b, %s)", at)
	case formBytes:
		return fmt.Sprintf("r.Bytes(b, %s)", at)
	case formTime:
		return fmt.Sprintf("generated.Time(b, %s)", at)
	case formAny:
		return fmt.Sprintf("r.Any(b, %s, depth-1)", at)
	}
	return fmt.Sprintf("generated.Duration(b, %s)", at)
}

// reader is the function that reads one number of a packed list.
func (f *form) reader() string {
	switch {
	case f.kind == formInt || f.kind == formUint:
		return fmt.Sprintf("generated.Int[%s]", f.typ)
	case f.kind == formZigzag:
		return fmt.Sprintf("generated.Zigzag[%s]", f.typ)
	case f.native:
		return fmt.Sprintf("generated.FixedInt[%s]", f.typ)
	case f.typ == "bool":
		return "generated.Bool"
	case f.kind == formFixed && f.typ == fmt.Sprint("uint", f.bits):
		return fmt.Sprint("generated.Fixed", f.bits)
	}
	return fmt.Sprintf("func(b []byte, i int) (%s, int) {\nv, j := %s\nreturn %s, j\n}", f.typ, f.read("i"), f.convert("v"))
}

// convert makes a value of what read returns.
func (f *form) convert(v string) string {
	switch f.kind {
	case formInt, formUint, formZigzag, formTime, formDuration, formAny:
		return v
	case formFloat:
		v = fmt.Sprintf("math.Float%dfrombits(%s)", f.bits, v)
		if f.typ == fmt.Sprint("float", f.bits) {
			return v
		}
	case formText:
		if f.typ == "string" {
			return v
		}
	case formBytes:
		if f.typ == "[]byte" {
			return v
		}
	case formBool:
		if f.typ == "bool" {
			return v
		}
	case formFixed:
		if f.native || f.typ == fmt.Sprint("uint", f.bits) {
			return v
		}
	}
	return fmt.Sprintf("%s(%s)", f.typ, v)
}

// zero is the zero value of a form that stands for itself.
func (f *form) zero() string {
	switch f.kind {
	case formBool:
		return "false"
	case formText:
		return `""`
	case formBytes, formAny:
		return "nil"
	case formTime:
		return "time.Time{}"
	}
	return "0"
}
