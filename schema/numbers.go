package schema

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/weftrpc/weft/codec/protobuf/descriptors"
)

// numberedMember is a field with a number, as codec/protobuf has it.
type numberedMember struct {
	member
	number   int32
	encoding string
}

// numbers lists the fields of a struct that travel by Protocol Buffers. The error says why the struct is no message. What
// the structs within are is not looked at; see reader.settle.
func numbers(m *Message, t GoType) ([]numberedMember, error) {
	facts := t.Facts()
	if facts.Embeds {
		return nil, errors.New("it embeds a generated message, whose methods leave out its other fields")
	}
	if facts.Foreign {
		return nil, errors.New("it is a message with code of its own, which has no descriptor here")
	}
	if own(t) == "Weft" {
		return nil, errors.New("it travels as bytes, by its method MarshalWeft, and bytes are no message")
	}
	fields := t.Fields()
	if slices.ContainsFunc(fields, func(f GoField) bool { return hasNumber(&f) }) {
		return declared(fields)
	}
	m.Hashed = len(fields) > 0
	all, err := hashed(t, nil)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b numberedMember) int { return len(a.path) - len(b.path) })
	var out []numberedMember
	for _, n := range all {
		if k := slices.IndexFunc(out, func(o numberedMember) bool { return o.name == n.name }); k >= 0 {
			if len(out[k].path) == len(n.path) {
				return nil, fmt.Errorf("two fields are called %q", n.name)
			}
			continue // hidden, as in Go
		}
		n.number = descriptors.Number(n.name)
		if k := slices.IndexFunc(out, func(o numberedMember) bool { return o.number == n.number }); k >= 0 {
			return nil, fmt.Errorf("the names of the fields %s and %s have one hash", out[k].name, n.name)
		}
		var err error
		if n.encoding, err = protoForm(n.Type, ""); err != nil {
			return nil, fmt.Errorf("the field %s: %w", n.Name, err)
		}
		out = append(out, n)
	}
	if len(fields) > 0 && !anyExported(fields) {
		return nil, errors.New("it has no exported field")
	}
	return out, nil
}

// hasNumber reports whether the field has a number, or a tag where that should be.
func hasNumber(f *GoField) bool {
	tag := f.Tag.Get("weft")
	return tag != "" && tag != "-"
}

// declared lists the fields of a struct with numbers.
func declared(fields []GoField) ([]numberedMember, error) {
	var out []numberedMember
	for i, f := range fields {
		tag := f.Tag.Get("weft")
		if tag == "-" {
			continue
		}
		if !f.Exported {
			if inner := f.Type; f.Embedded && inner.Facts().Kind == reflect.Struct && len(inner.Fields()) > 0 {
				return nil, fmt.Errorf("the type of the embedded field %s is not exported", f.Name)
			}
			continue
		}
		number, options, _ := strings.Cut(tag, ",")
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil || n < 1 || n >= 1<<29 || n >= 19000 && n < 20000 {
			return nil, fmt.Errorf("the field %s has no number", f.Name)
		}
		encoding, err := protoForm(f.Type, options)
		if err != nil {
			return nil, fmt.Errorf("the field %s: %w", f.Name, err)
		}
		name, _ := tagged(f.Tag, "json")
		if name == "" || f.Tag.Get("json") == "-" {
			name = f.Name
		}
		one := numberedMember{member{GoField: f, path: []int{i}, name: name}, int32(n), encoding}
		if k := slices.IndexFunc(out, func(o numberedMember) bool { return o.number == one.number }); k >= 0 {
			return nil, fmt.Errorf("the fields %s and %s have one number", out[k].Name, f.Name)
		}
		out = append(out, one)
	}
	return out, nil
}

// hashed lists the fields of a struct without numbers, and those of structs that it embeds.
func hashed(t GoType, path []int) ([]numberedMember, error) {
	var all []numberedMember
	for i, f := range t.Fields() {
		name, _ := tagged(f.Tag, "json")
		if f.Tag.Get("json") == "-" || f.Tag.Get("weft") == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		to := append(slices.Clip(path), i)
		embedded := f.Embedded && f.Tag.Get("json") == ""
		inner := f.Type.Facts()
		switch {
		case !f.Exported && !embedded:
		case embedded && isPlain(f.Type) && own(f.Type) == "":
			within, err := hashed(f.Type, to)
			if err != nil {
				return nil, err
			}
			all = append(all, within...)
		case embedded && inner.Kind == reflect.Pointer && isPlain(f.Type.Elem()):
			return nil, fmt.Errorf("the field %s is an embedded pointer", f.Name)
		case f.Exported:
			all = append(all, numberedMember{member: member{GoField: f, path: to, name: name}})
		}
	}
	return all, nil
}

// isPlain reports whether a type is a struct without numbers that can be a message.
func isPlain(t GoType) bool {
	f := t.Facts()
	return f.Kind == reflect.Struct && !f.is("time", "Time") && !f.Foreign && !slices.ContainsFunc(t.Fields(), func(f GoField) bool { return hasNumber(&f) })
}

// own is the end of the names of the methods by which values of a type encode themselves: "Weft", "Binary" or "Text"; or "". The rules
// are those of package codec.
func own(t GoType) string {
	f := t.Facts()
	if f.is("time", "Time") {
		return ""
	}
	for _, name := range []string{"Weft", "Binary", "Text"} {
		pair := []string{"Marshal" + name, "Unmarshal" + name}
		switch {
		case !slices.Contains(f.Methods, pair[0]) || !slices.Contains(f.Methods, pair[1]):
		case f.Kind != reflect.Struct:
			if name != "Text" {
				return name
			}
		case !slices.ContainsFunc(t.Fields(), func(f GoField) bool { return f.Embedded && hasOne(f.Type, pair) }):
			return name
		}
	}
	return ""
}

// hasOne reports whether an embedded type has one of the methods.
func hasOne(t GoType, methods []string) bool {
	f := t.Facts()
	if f.Kind == reflect.Pointer {
		f = t.Elem().Facts()
	}
	return slices.ContainsFunc(methods, func(name string) bool { return slices.Contains(f.Methods, name) })
}

// ownForm is what a value that encodes itself is in Protocol Buffers; "": it does not.
func ownForm(t GoType) string {
	switch form := own(t); {
	case form == "" || form != "Weft" && slices.ContainsFunc(t.Fields(), func(f GoField) bool { return hasNumber(&f) }):
		return ""
	case form == "Text":
		return ProtoString
	}
	return ProtoBytes
}

// protoForm checks that a field of a type has a form in Protocol Buffers, and returns the encoding that options of
// its tag give to numbers, or what the type travels as. Behind "[]" it is that of the elements.
func protoForm(t GoType, options string) (encoding string, err error) {
	f := t.Facts()
	switch f.Kind {
	case reflect.Pointer:
		return singleForm(t.Elem(), options)
	case reflect.Slice, reflect.Array:
		if e := t.Elem().Facts(); !isByte(&e) && ownForm(t) == "" {
			return ofElements(singleForm(elementOf(t), options))
		}
	case reflect.Map:
		if ownForm(t) != "" {
			break
		}
		key := t.Key().Facts()
		if _, err := singleForm(t.Key(), ""); err != nil {
			return "", err
		}
		if ownForm(t.Key()) != "" || key.is("time", "Duration") || key.Kind == reflect.Struct || key.Kind == reflect.Array || key.Kind == reflect.Interface || key.Kind == reflect.Float32 || key.Kind == reflect.Float64 {
			return "", fmt.Errorf("%s cannot be the key of a map in Protocol Buffers", describe(&key))
		}
		return ofElements(singleForm(elementOf(t), options))
	}
	return singleForm(t, options)
}

// ofElements makes the encoding that of elements.
func ofElements(encoding string, err error) (string, error) {
	if encoding != "" {
		encoding = "[]" + encoding
	}
	return encoding, err
}

// elementOf is the element of a list or a map, or the struct that it points to.
func elementOf(t GoType) GoType {
	elem := t.Elem()
	if elem.Facts().Kind == reflect.Pointer && elem.Elem().Facts().Kind == reflect.Struct {
		return elem.Elem()
	}
	return elem
}

// describe is a type in the text of an error.
func describe(f *Facts) string {
	switch {
	case f.Name == "" && (f.Kind == reflect.Interface || f.Kind == reflect.Array):
		return "an " + f.Kind.String()
	case f.Name == "":
		return "a " + f.Kind.String()
	case f.Package == "":
		return "a " + f.Name
	}
	return "a " + f.Package + "." + f.Name
}

// singleForm is protoForm for a value that is no list, no map and no pointer.
func singleForm(t GoType, options string) (encoding string, err error) {
	f := t.Facts()
	encoding = ownForm(t)
	switch kind := f.Kind; {
	case encoding != "":
	case f.is("time", "Time"):
	case f.is("time", "Duration") && options == "":
	case kind == reflect.Bool, kind == reflect.String, kind == reflect.Float32, kind == reflect.Float64:
	case kind == reflect.Struct:
		if fields := t.Fields(); len(fields) > 0 && !anyExported(fields) {
			return "", fmt.Errorf("%s has no exported field", describe(&f))
		}
	case kind >= reflect.Int && kind <= reflect.Int64:
		wide := kind == reflect.Int || kind == reflect.Int32 || kind == reflect.Int64
		if options == "zigzag" || options == "fixed" && wide {
			return options, nil
		}
	case kind >= reflect.Uint && kind <= reflect.Uint64:
		wide := kind == reflect.Uint || kind == reflect.Uint32 || kind == reflect.Uint64
		if options == "fixed" && wide {
			return options, nil
		}
	case kind == reflect.Interface && f.Len == 0:
		encoding = Value
	default:
		if kind == reflect.Slice || kind == reflect.Array {
			if e := t.Elem().Facts(); isByte(&e) {
				encoding = ProtoBytes
				break
			}
		}
		return "", fmt.Errorf("%s has no form in Protocol Buffers", describe(&f))
	}
	if options != "" {
		return "", fmt.Errorf("the option %q of the tag does not fit %s", options, describe(&f))
	}
	return encoding, nil
}

// settle takes the form in Protocol Buffers from messages that contain others without one, and so for the other wires.
func (r *reader) settle() {
	byName := make(map[string]*Message)
	for _, m := range r.messages {
		byName[m.Name] = m
	}
	settleNames(r.messages, byName)
	for changed := true; changed; {
		changed = false
		for _, m := range r.messages {
			if m.NoProto != "" {
				continue
			}
			for _, f := range m.Fields {
				if why := within(byName, m, f); why != "" {
					m.NoProto, changed = fmt.Sprintf("the field %s: %s", f.Label(), why), true
					break
				}
			}
		}
	}
	for _, m := range r.messages {
		if m.NoProto != "" && !m.Stock() {
			for _, f := range m.Fields {
				f.Number, f.Proto = 0, ""
			}
			m.Hashed = false
		}
	}
}

// within says why a field of a message has no form in Protocol Buffers.
func within(byName map[string]*Message, m *Message, f *Field) (why string) {
	if f.Number == 0 {
		return ""
	}
	f.Type.Each(func(t *Type) {
		inner := byName[t.Name]
		switch {
		case why != "", t.Proto == ProtoBytes, t.Proto == ProtoString, t.Proto == Value:
		case m.Stock():
			if t.Kind == KindMessage && inner != nil && inner.NoProto != "" {
				why = t.Name + ": " + inner.NoProto
			}
		case t.Kind == KindAny:
			why = "it says by methods alone how it is encoded"
		case t.Kind != KindMessage || t.Name == empty:
		case inner == nil || inner.Stock():
			why = t.Name + " is a message with code of its own"
		case inner.NoProto != "":
			why = t.Name + ": " + inner.NoProto
		case !m.Hashed && inner.Hashed:
			why = t.Name + " has no numbers, and a struct with numbers contains it"
		}
	})
	return why
}
