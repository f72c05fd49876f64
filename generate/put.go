package generate

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/weftrpc/weft/generate/internal/wiretag"
)

// puts writes what appends the fields of a message to b. Runs of fields whose length is known but for a text are written
// into room that is made once for all of them: at p[i], which is b otherwise.
func (p *printer) puts(fields []*field) {
	declared, indexed := false, false
	for len(fields) > 0 {
		f := fields[0]
		if !f.quick() {
			if indexed {
				p.line("b = p[:i]")
				indexed = false
			}
			p.put(f)
			fields = fields[1:]
			continue
		}
		if !indexed {
			op := "="
			if !declared {
				op = ":="
			}
			p.line("p, i %s generated.Room(b, %d), len(b)", op, most(fields))
			declared, indexed = true, true
		}
		numbers, mask := window(fields)
		if numbers == 0 {
			fields = fields[1:]
			p.putText(f, most(fields))
			continue
		}
		p.line("{\nw, j := (*[%d]byte)(p[i:]), 0", mask+slack)
		for _, f := range fields[:numbers] {
			p.putQuick(f, mask)
		}
		p.line("i += j\n}")
		fields = fields[numbers:]
	}
	if indexed {
		p.line("return p[:i], true")
	} else {
		p.line("return b, true")
	}
}

// slack is how far a write of eight bytes may reach beyond what it is for.
const slack = 8

// window returns how many numbers that come first are put into one array, w, of mask+slack bytes. No index there is larger than
// mask: where it is masked the compiler sees that a write of eight bytes is within. They leave little of the array free, since
// a buffer without room for all of it would grow.
func window(fields []*field) (numbers, mask int) {
	n := 0
	for k, f := range fields {
		if !f.quick() || f.isText() || n+f.most() > 255 {
			break
		}
		n += f.most()
		if m := 1<<bits.Len(uint(n)|15) - 1; m-n <= 12 || k == 0 {
			numbers, mask = k+1, m
		}
	}
	return numbers, mask
}

// most returns how many bytes the quick fields that come first take at most, beside texts.
func most(fields []*field) int {
	n := 0
	for len(fields) > 0 && fields[0].quick() {
		if numbers, mask := window(fields); numbers > 0 {
			n, fields = n+mask+slack, fields[numbers:]
			continue
		}
		n, fields = n+fields[0].most(), fields[1:]
	}
	return n
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

// putText writes what puts a text at p[i], and room for behind more bytes after it.
func (p *printer) putText(f *field, behind int) {
	t := f.tag()
	p.line(`if n := len(%[1]s); n > 0 {
		if n < 128 {
			%[2]s
			i += %[3]d
		} else {
			i = generated.PutVarint(p, i, %[4]s, %[5]d, uint64(n))
		}
		if len(p)-i < %[6]s {
			p = generated.Room(p[:i], %[6]s)
		}
		i += copy(p[i:], %[1]s)
	}`, "m."+f.name, append(t[:len(t):len(t)], 0).Store("p[i:]", "n"), len(t)+1, t.Word(), len(t), strings.TrimSuffix(fmt.Sprintf("n+%d", behind), "+0"))
}

// putQuick writes what puts a number at w[j].
func (p *printer) putQuick(f *field, mask int) {
	x, t := "m."+f.name, f.tag()
	at, behind := fmt.Sprintf("w[j&%d:]", mask), fmt.Sprintf("w[(j+%d)&%d:]", len(t), mask)
	switch form := f.form; form.kind {
	case formBool:
		p.line("if %s {\n%s\nj += %d\n}", x, append(t[:len(t):len(t)], 1).Store(at), len(t)+1)
	case formFixed, formFloat:
		if form.kind == formFloat {
			x = fmt.Sprintf("math.Float%[1]dbits(float%[1]d(%[2]s))", form.bits, x)
		}
		p.line("if v := %s; v != 0 {\n%s\nbinary.LittleEndian.PutUint%[3]d(%[4]s, uint%[3]d(v))\nj += %[5]d\n}",
			x, t.Store(at), form.bits, behind, len(t)+form.bits/8)
	default:
		p.line(`if v := %[1]s; v != 0 {
		if v < 1<<28 {
			x, n := generated.Short4(uint32(v))
			binary.LittleEndian.PutUint64(%[5]s, %[2]s|x<<%[3]d)
			j += %[4]d + n
		} else {
			j = generated.PutVarint(w[:], j, %[2]s, %[4]d, v)
		}
	}`, form.varint(x), t.Word(), 8*len(t), len(t), at)
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
