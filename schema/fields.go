package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weftrpc/weft/codec/protobuf/descriptors"

	"github.com/weftrpc/weft/schema/internal/naming"
)

// member is a field of a struct, or of a struct embedded there, as one wire sees it.
type member struct {
	GoField
	path    []int  // the indices on the way to it
	name    string // on the wire
	tagged  bool   // the name is that of a tag
	omitted bool
	text    bool // JSON has it as a string
}

// rule says what one wire makes of a field: the name by its tag, and whether the fields of an embedded struct
// belong to the outer one.
type rule func(f *GoField) (m member, flat, ok bool)

// asJSON is the rule of encoding/json.
func asJSON(f *GoField) (m member, flat, ok bool) {
	if f.Tag.Get("json") == "-" || kept(f, "json") {
		return m, false, false
	}
	name, options := tagged(f.Tag, "json")
	m = member{GoField: *f, name: name, tagged: name != "", text: strings.Contains(options, ",string,")}
	m.omitted = strings.Contains(options, ",omitempty,") || strings.Contains(options, ",omitzero,")
	if f.Embedded && name == "" && isStruct(f.Type) {
		return m, true, true
	}
	return m, false, f.Exported || f.Embedded && isStruct(f.Type)
}

// asMessagePack is the rule of codec/msgpack.
func asMessagePack(f *GoField) (m member, flat, ok bool) {
	name, _ := tagged(f.Tag, "msgpack")
	if !f.Exported || name == "-" || kept(f, "msgpack") {
		return m, false, false
	}
	return member{GoField: *f, name: name, tagged: name != ""}, f.Embedded && name == "" && isStruct(f.Type), true
}

// kept reports whether the tag of weft keeps a field on its side, and none of the codec gives it a name.
func kept(f *GoField, key string) bool {
	name, _ := tagged(f.Tag, key)
	return name == "" && f.Tag.Get("weft") == "-"
}

// isStruct reports whether a type is a struct or points to one.
func isStruct(t GoType) bool {
	f := t.Facts()
	if f.Kind == reflect.Pointer {
		f = t.Elem().Facts()
	}
	return f.Kind == reflect.Struct
}

// members lists the fields of a struct as one wire sees them: of several with one name the least deep counts, among
// equals the one with a tag, and otherwise none.
func members(t GoType, by rule) []member {
	var all []member
	collect(t, by, nil, map[any]bool{}, &all)
	var shown []member
	for i, m := range all {
		if slices.ContainsFunc(all[:i], func(o member) bool { return o.name == m.name }) {
			continue // decided at the first of that name
		}
		var best []member
		for _, o := range all[i:] {
			switch {
			case o.name != m.name:
			case len(best) == 0 || o.better(best[0]):
				best = []member{o}
			case !best[0].better(o):
				best = append(best, o)
			}
		}
		if len(best) == 1 {
			shown = append(shown, best[0])
		}
	}
	return shown
}

// better reports whether a member hides another one of its name.
func (m member) better(o member) bool {
	return len(m.path) < len(o.path) || len(m.path) == len(o.path) && m.tagged && !o.tagged
}

func collect(t GoType, by rule, path []int, around map[any]bool, all *[]member) {
	id := t.Facts().ID
	if around[id] {
		return
	}
	around[id] = true
	defer delete(around, id)
	for i, f := range t.Fields() {
		m, flat, ok := by(&f)
		if !ok {
			continue
		}
		m.path = append(slices.Clip(path), i)
		if flat {
			inner := f.Type
			if inner.Facts().Kind == reflect.Pointer {
				inner = inner.Elem()
			}
			collect(inner, by, m.path, around, all)
			continue
		}
		if m.name == "" {
			m.name = f.Name
		}
		*all = append(*all, m)
	}
}

// fill completes the message of a struct.
func (r *reader) fill(m *Message, t GoType, at place) {
	of := make(map[string]*Field)
	paths := make(map[*Field][]int)
	field := func(one *member) *Field {
		key := fmt.Sprint(one.path)
		f := of[key]
		if f == nil {
			f = &Field{Go: one.Name, Doc: naming.Clean(orText(one.Tag.Get("doc"), one.GoField.Doc))}
			f.Type = r.goType(one.Type, place{at.path, at.name + "_" + one.Name})
			of[key], paths[f] = f, one.path
			m.Fields = append(m.Fields, f)
		}
		return f
	}
	for _, one := range members(t, asJSON) {
		f := field(&one)
		f.Name, f.Omitted = one.name, one.omitted
		if one.text && isScalar(f.Type.Kind) && f.Type.JSON == "" {
			text := *f.Type
			text.JSON = JSONText
			f.Type = &text
		}
	}
	for _, one := range members(t, asMessagePack) {
		field(&one).MessagePack = one.name
	}
	m.NoJSON, m.NoMessagePack = refusedByJSON(t, make(map[any]bool)), refusedByMessagePack(t)
	with, err := numbers(m, t)
	if err != nil {
		m.NoProto, with = err.Error(), nil
	}
	slices.SortFunc(with, func(a, b numberedMember) int { return slices.Compare(a.path, b.path) })
	var names []string
	for _, n := range with {
		f := field(&n.member)
		f.Number = n.number
		if n.encoding != "" {
			f.Type = encoded(f.Type, n.encoding)
		}
		f.Proto = descriptors.FieldName(n.name, f.Go, names)
		names = append(names, f.Proto)
	}
	slices.SortFunc(m.Fields, func(a, b *Field) int { return slices.Compare(paths[a], paths[b]) })
}

// orText is text, or other if that is empty.
func orText(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// isScalar reports whether a kind is a number or a bool.
func isScalar(k Kind) bool { return k == KindBool || isNumber(k) }

func isNumber(k Kind) bool { return isInteger(k) || k == KindFloat32 || k == KindFloat64 }

func isInteger(k Kind) bool {
	return strings.HasPrefix(string(k), "int") || strings.HasPrefix(string(k), "uint")
}

// encoded is a type with an encoding, which behind "[]" is that of its elements.
func encoded(t *Type, encoding string) *Type {
	c := *t
	if of, elements := strings.CutPrefix(encoding, "[]"); elements {
		c.Elem = encoded(t.Elem, of)
	} else if c.Proto = encoding; t.Kind == KindBytes {
		c.Proto = "" // as all are
	}
	return &c
}
