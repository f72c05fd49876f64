package generate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftrpc/weft/generate/internal/wiretag"
)

// puts writes what appends the fields of a message to b. Numbers and texts are written to p, which is b up to its capacity, at i. Where one
// is long, or p has no room for it, a method of its own appends it: so most of the code, which nearly all messages go through, is small.
func (p *printer) puts(r *record) {
	if !slices.ContainsFunc(r.fields, (*field).quick) {
		for _, f := range r.fields {
			p.put(f)
		}
		p.line("return b, true\n}\n")
		return
	}
	all := parts(r.fields, (*field).quick)
	p.line("p, i := generated.Room(b, %d), len(b)\nfor k := 0; ; k++ {\nswitch k {", most(r.fields))
	for k, fields := range all {
		p.line("case %d:", k)
		if fields[0].quick() {
			p.putQuick(fields[0], fmt.Sprintf("k = %d\nbreak", k))
		} else {
			p.line("b = p[:i]")
			for _, f := range fields {
				p.put(f)
			}
			p.line("p, i = b[:cap(b)], len(b)")
		}
		p.line("fallthrough")
	}
	p.line("default:\nreturn p[:i], true\n}\nb = m.putWeft(p[:i], k)\np, i = b[:cap(b)], len(b)\n}\n}\n")
	p.line("// putWeft appends a number or a text that is not zero, for AppendWeft.\nfunc (m *%s) putWeft(b []byte, k int) []byte {\nswitch k {", r.name)
	for k, fields := range all {
		if fields[0].quick() {
			p.line("case %d:\nreturn %s", k, fields[0].appended())
		}
	}
	p.line("}\nreturn b\n}\n")
}

// parts groups the fields of a message: each that is quick stands alone.
func parts(fields []*field, quick func(*field) bool) (all [][]*field) {
	for i, f := range fields {
		if i == 0 || quick(f) || quick(fields[i-1]) {
			all = append(all, nil)
		}
		last := len(all) - 1
		all[last] = append(all[last], f)
	}
	return all
}

// most returns for how many bytes there should be room, beside texts: all that the quick fields take, unless there are many.
func most(fields []*field) int {
	n := wiretag.Slack
	for _, f := range fields {
		if f.quick() {
			n += f.most()
		}
	}
	return min(n, 256)
}

// quick reports whether the field is a number or a text with a tag of at most four bytes.
func (f *field) quick() bool {
	return (f.form.packs() || f.isText()) && len(f.tag()) <= 4
}

func (f *field) isText() bool { return f.form.kind == formText || f.form.kind == formBytes }

// most returns how many bytes a quick field takes at most, beside a text.
func (f *field) most() int {
	n := len(f.tag())
	switch f.form.kind {
	case formBool:
		return n + 1
	case formFixed, formFloat:
		return n + f.form.bits/8
	case formUint, formZigzag:
		return n + (f.form.bits+6)/7
	}
	return n + 10
}

// putQuick writes what puts a quick field at p[i]; otherwise it ends with miss.
func (p *printer) putQuick(f *field, miss string) {
	x, t := "m."+f.name, f.tag()
	switch form := f.form; form.kind {
	case formText, formBytes:
		p.line("%s", t.PutText(x, miss))
	case formBool:
		p.line("%s", t.PutBool(x, miss))
	case formFixed, formFloat:
		p.line("%s", t.PutFixed(f.fixed(), form.bits, miss))
	default:
		p.line("%s", t.PutInt(form.varint(x), form.bits == 64, miss))
	}
}

// fixed is the number of a field with so many bytes, as it is encoded or one that is zero when that is.
func (f *field) fixed() string {
	x := "m." + f.name
	if f.form.kind == formFloat {
		x = fmt.Sprintf("math.Float%[1]dbits(float%[1]d(%[2]s))", f.form.bits, x)
	}
	return x
}

// appended is b with a quick field that is not zero.
func (f *field) appended() string {
	x, t := "m."+f.name, f.tag()
	switch form := f.form; form.kind {
	case formText, formBytes:
		return fmt.Sprintf("generated.AppendString(b, %s, %d, %s)", t.Word(), len(t), x)
	case formBool:
		return fmt.Sprintf("append(b, %s, 1)", t.Bytes())
	case formFixed, formFloat:
		return fmt.Sprintf("binary.LittleEndian.AppendUint%[1]d(append(b, %[2]s), uint%[1]d(%[3]s))", form.bits, t.Bytes(), f.fixed())
	default:
		return fmt.Sprintf("generated.AppendVarint(b, %s, %d, %s)", t.Word(), len(t), form.varint(x))
	}
}

// put writes what appends a field to b.
func (p *printer) put(f *field) {
	x, t := "m."+f.name, f.tag()
	switch form := f.form; form.kind {
	case formPointer:
		p.line("if v := %s; v != nil {", x)
		if form.elem.kind == formStruct {
			p.putValue(t, form.elem, "v")
		} else {
			p.putValue(t, form.elem, "*v")
		}
		p.line("}")
	case formMap:
		p.line("if len(%s) > 0 {\nreturn b, false\n}", x)
	case formStruct, formOwn:
		p.line("{\nstart := len(b)")
		p.putValue(t, form, x)
		p.line("if len(b) == start+%d {\nb = b[:start]\n}\n}", len(t)+1)
	case formList, formArray:
		p.putList(t, form, x)
	case formOctets:
		p.putValue(t, form, x)
	case formAny:
		p.line("if v := %s; v != nil {", x)
		p.putValue(t, form, "v")
		p.line("}")
	case formTime:
		p.line("if v := %s; !v.IsZero() {", x)
		p.putValue(t, form, "v")
		p.line("}")
	case formFloat:
		p.line("if v := %s; math.Float%dbits(float%d(v)) != 0 {", x, form.bits, form.bits)
		p.putValue(t, form, "v")
		p.line("}")
	case formBool:
		p.line("if %s {\nb = append(b, %s, 1)\n}", x, t.Bytes())
	case formText, formBytes:
		p.line("if v := %s; len(v) > 0 {", x)
		p.putValue(t, form, "v")
		p.line("}")
	default:
		p.line("if v := %s; v != 0 {", x)
		p.putValue(t, form, "v")
		p.line("}")
	}
}

func (p *printer) putList(t wiretag.Tag, form *form, x string) {
	elem := form.elem
	if elem.packs() {
		p.line("if len(%s) > 0 {\nb = append(b, %s, 0)\nbody := len(b)\nfor _, v := range %s {", x, t.Bytes(), x)
		p.putNumber(elem, "v")
		p.line("}\nb = generated.SetLength(b, body)\n}")
		return
	}
	if elem.kind == formStruct || elem.into() {
		p.line("for k := range %s {", x)
		p.putValue(t, elem, x+"[k]")
		p.line("}")
		return
	}
	p.line("for _, v := range %s {", x)
	if elem.kind == formPointer {
		p.line("if v == nil {\nreturn b, false\n}")
		elem = elem.elem
	}
	p.putValue(t, elem, "v")
	p.line("}")
}

// putValue writes what appends one value with its tag.
func (p *printer) putValue(t wiretag.Tag, form *form, x string) {
	switch form.kind {
	case formBool, formFixed, formFloat:
		p.line("b = append(b, %s)", t.Bytes())
		p.putNumber(form, x)
	case formInt, formZigzag, formUint:
		p.line("b = generated.AppendVarint(b, %s, %d, %s)", t.Word(), len(t), form.varint(x))
	case formText, formBytes:
		p.line(`if n := len(%[1]s); n < 128 {
			b = append(b, %[2]s, byte(n))
		} else {
			b = generated.AppendVarint(b, %[3]s, %[4]d, uint64(n))
		}
		b = append(b, %[1]s...)`, x, t.Bytes(), t.Word(), len(t))
	case formStruct:
		p.putMessage(t, x+".AppendWeft(b, depth-1)")
	case formOwn:
		p.putMessage(t, fmt.Sprintf("generated.Append%s(b, %s)", form.own, address(x)))
	case formAny:
		p.putMessage(t, fmt.Sprintf("generated.AppendAny(b, %s, depth-1)", x))
	case formTime:
		p.putMessage(t, fmt.Sprintf("generated.AppendTime(b, %s)", x))
	case formOctets:
		p.line("b = append(binary.AppendUvarint(append(b, %s), %d), (%s)[:]...)", t.Bytes(), form.length, x)
	case formDuration:
		p.line(`b = append(b, %[1]s, 0)
		body := len(b)
		b = generated.AppendSeconds(b, int64(%[2]s)/1e9, int64(%[2]s)%%1e9)
		b = generated.SetLength(b, body)`, t.Bytes(), x)
	}
}

// putMessage writes what appends a value that a call appends, or cannot, behind its length.
func (p *printer) putMessage(t wiretag.Tag, call string) {
	p.line(`b = append(b, %s, 0)
	body, ok := len(b), false
	if b, ok = %s; !ok {
		return b, false
	}
	b = generated.SetLength(b, body)`, t.Bytes(), call)
}

// address is the address of a variable, or the pointer that has it.
func address(x string) string {
	if p, ok := strings.CutPrefix(x, "*"); ok {
		return p
	}
	return "&" + x
}

// varint is the number that an integer is encoded as.
func (f *form) varint(x string) string {
	switch {
	case f.kind == formZigzag:
		return fmt.Sprintf("generated.Zag(int64(%s))", x)
	case f.typ == "uint64":
		return x
	}
	return fmt.Sprintf("uint64(%s)", x)
}

// putNumber writes what appends a number without a tag.
func (p *printer) putNumber(form *form, x string) {
	switch form.kind {
	case formBool:
		p.line("if %s {\nb = append(b, 1)\n} else {\nb = append(b, 0)\n}", x)
	case formFixed:
		p.line("b = binary.LittleEndian.AppendUint%d(b, uint%d(%s))", form.bits, form.bits, x)
	case formFloat:
		p.line("b = binary.LittleEndian.AppendUint%[1]d(b, math.Float%[1]dbits(float%[1]d(%[2]s)))", form.bits, x)
	default:
		p.line("b = binary.AppendUvarint(b, %s)", form.varint(x))
	}
}
