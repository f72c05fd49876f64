package generate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrpc/weft/generate/internal/names"
	"github.com/weftrpc/weft/generate/internal/wiretag"
)

// code writes the methods of a struct that encode and decode it; see codec/generated.
func (p *printer) code(r *record) {
	if k := slices.IndexFunc(r.fields, func(f *field) bool { return f.left != "" }); k >= 0 {
		p.line("// There is no code for %s, because of its field %s.\n", r.name, r.fields[k].name)
		return
	}
	for _, s := range []string{"encoding/binary", "math", "slices", "time"} {
		p.f.imports.Std(s)
	}
	p.f.imports.Use(names.Generated, "generated")
	slices.SortFunc(r.fields, func(a, b *field) int { return cmp.Compare(a.number, b.number) }) // the struct, as declared, is written
	p.line(`
var _ generated.Message = (*%[1]s)(nil)

// FieldsWeft describes the fields that AppendWeft and DecodeWeft are for.
func (*%[1]s) FieldsWeft() string {
	return %[2]q
}

// AppendWeft appends the encoding of the message, for codec/protobuf.
func (m *%[1]s) AppendWeft(b []byte, depth int) (_ []byte, ok bool) {
	if depth == 0 {
		return b, false
	}`, r.name, r.describe())
	p.puts(r)
	p.line(`// DecodeWeft reads the message, for codec/protobuf.
func (m *%s) DecodeWeft(r *generated.Reader, i, end, depth int) int {
	if depth == 0 {
		return -1
	}`, r.name)
	for _, o := range r.others {
		p.line("generated.Zero(&m.%s)", o)
	}
	p.gets(r)
}

// notes say for which structs there is no code, and because of which fields.
func (f *file) notes() (all []string) {
	for _, r := range f.coded {
		for _, f := range r.fields {
			if f.left != "" {
				all = append(all, fmt.Sprintf("%s: no code for %s: its field %s holds %s", f.pos, r.name, f.name, f.left))
			}
		}
	}
	return all
}

// describe returns what FieldsWeft returns, in the words of codec/protobuf.
func (r *record) describe() string {
	var parts, others []string
	for _, f := range r.fields {
		parts = append(parts, fmt.Sprintf("%d %s %s", f.number, f.name, f.form.describe()))
	}
	for _, o := range r.others {
		others = append(others, "- "+o)
	}
	slices.Sort(others)
	return r.name + "{" + strings.Join(append(parts, others...), "; ") + "}"
}

func (f *form) describe() string {
	word := [...]string{formBool: "bool", formInt: "int", formZigzag: "zigzag", formUint: "uint", formFixed: "fixed", formFloat: "float", formText: "string", formBytes: "bytes",
		formTime: "time", formDuration: "duration", formAny: "any", formMap: "map"}[f.kind]
	switch f.kind {
	case formInt, formZigzag, formUint, formFixed, formFloat:
		return fmt.Sprint(word, f.bits)
	case formStruct:
		return "struct " + f.name
	case formOwn:
		return "own " + f.own
	case formOctets:
		return fmt.Sprintf("[%d]bytes", f.length)
	case formPointer:
		return "*" + f.elem.describe()
	case formList:
		return "[]" + f.elem.describe()
	case formArray:
		return fmt.Sprintf("[%d]%s", f.length, f.elem.describe())
	}
	return word
}

// wire returns how a value is put on the wire.
func (f *form) wire() uint64 {
	switch f.kind {
	case formBool, formInt, formZigzag, formUint:
		return 0
	case formFixed, formFloat:
		if f.bits == 32 {
			return 5
		}
		return 1
	case formPointer:
		return f.elem.wire()
	}
	return 2
}

// tag is the tag of the field, as it is encoded.
func (f *field) tag() wiretag.Tag { return wiretag.New(f.number, f.form.wire()) }
