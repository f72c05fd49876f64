package generate

import "fmt"

// put writes what appends a field.
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
	case formStruct:
		p.line("{\nstart := len(b)")
		p.putValue(t, form, x)
		p.line("if len(b) == start+%d {\nb = b[:start]\n}\n}", len(t)+1)
	case formList:
		p.putList(t, form, x)
	case formTime:
		p.line("if v := %s; !v.IsZero() {", x)
		p.putValue(t, form, "v")
		p.line("}")
	case formFloat:
		p.line("if v := %s; math.Float%dbits(float%d(v)) != 0 {", x, form.bits, form.bits)
		p.putValue(t, form, "v")
		p.line("}")
	case formBool:
		p.line("if %s {\nb = append(b, %s, 1)\n}", x, t.bytes())
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

func (p *printer) putList(t tag, form *form, x string) {
	elem := form.elem
	if elem.packs() {
		p.line("if len(%s) > 0 {\nb = append(b, %s, 0)\nbody := len(b)\nfor _, v := range %s {", x, t.bytes(), x)
		p.putNumber(elem, "v")
		p.line("}\nb = generated.SetLength(b, body)\n}")
		return
	}
	if elem.kind == formStruct {
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
func (p *printer) putValue(t tag, form *form, x string) {
	switch form.kind {
	case formBool, formFixed, formFloat:
		p.line("b = append(b, %s)", t.bytes())
		p.putNumber(form, x)
	case formInt, formZigzag, formUint:
		p.line("b = generated.AppendVarint(b, %s, %d, %s)", t.word(), len(t), form.varint(x))
	case formText, formBytes:
		p.line(`if n := len(%[1]s); n < 128 {
			b = append(b, %[2]s, byte(n))
		} else {
			b = generated.AppendVarint(b, %[3]s, %[4]d, uint64(n))
		}
		b = append(b, %[1]s...)`, x, t.bytes(), t.word(), len(t))
	case formStruct:
		p.line(`b = append(b, %s, 0)
		body, ok := len(b), false
		if b, ok = %s.AppendWeft(b, depth-1); !ok {
			return b, false
		}
		b = generated.SetLength(b, body)`, t.bytes(), x)
	case formTime:
		p.line(`b = append(b, %s, 0)
		body, ok := len(b), false
		if b, ok = generated.AppendTime(b, %s); !ok {
			return b, false
		}
		b = generated.SetLength(b, body)`, t.bytes(), x)
	case formDuration:
		p.line(`b = append(b, %[1]s, 0)
		body := len(b)
		b = generated.AppendSeconds(b, int64(%[2]s)/1e9, int64(%[2]s)%%1e9)
		b = generated.SetLength(b, body)`, t.bytes(), x)
	}
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
