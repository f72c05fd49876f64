package msgpack

import (
	"reflect"
	"slices"
	"strings"

	"github.com/weftrpc/weft/codec/internal/memory"
)

// member is a field of a struct or of a struct embedded there, as it travels.
type member struct {
	name    string
	typ     reflect.Type
	at      memory.Offset // in the struct, or in the last of via
	via     []hop
	parents []parent
	omit    bool
	tagged  bool
	depth   int // how many structs it is in
}

// collect lists the fields of the struct t that travel, by the rules of encoding/json:
// fields of embedded structs belong to the outer one; of several with one name
// the least deep counts, among equals the one with a tag, and otherwise none.
func collect(t reflect.Type) []member {
	return visible(collectAt(t, member{depth: 1}))
}

// collectAt lists those of t, which is embedded at the place that outer names, also those that others hide: which ones do is known only when
// the whole struct is, since two that hide one another hide deeper ones elsewhere too.
func collectAt(t reflect.Type, outer member) []member {
	var own, embedded []member
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("msgpack"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		m := outer
		m.name, m.typ, m.at = name, f.Type, memory.Join(outer.at, f)
		m.omit, m.tagged = slices.Contains(strings.Split(options, ","), "omitempty"), name != ""
		if !flattened(f, name) {
			if name == "" {
				m.name = f.Name
			}
			own = append(own, m)
			continue
		}
		if m.omit {
			m.parents = append(slices.Clip(m.parents), parent{m.via, m.at, f.Type})
		}
		m.depth++
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
			m.via = append(slices.Clip(m.via), hop{m.at, inner})
			m.at = *new(memory.Offset)
		}
		embedded = append(embedded, collectAt(inner, m)...)
	}
	return append(own, embedded...)
}

// flattened reports whether the fields of the field f, a struct, belong to the
// struct that f is in.
func flattened(f reflect.StructField, name string) bool {
	return f.Anonymous && name == "" && base(f.Type).Kind() == reflect.Struct
}

// visible leaves out the members that another of the same name hides.
func visible(all []member) []member {
	var shown []member
	for i, m := range all {
		if slices.ContainsFunc(all[:i], func(o member) bool { return o.name == m.name }) {
			continue // decided at the first of that name
		}
		least := m.depth
		var same []member
		for _, o := range all {
			if o.name == m.name {
				same = append(same, o)
				least = min(least, o.depth)
			}
		}
		same = slices.DeleteFunc(same, func(o member) bool { return o.depth > least })
		if len(same) > 1 {
			same = slices.DeleteFunc(same, func(o member) bool { return !o.tagged })
		}
		if len(same) == 1 {
			shown = append(shown, same[0])
		}
	}
	return shown
}

// base returns t, or what it points to.
func base(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
