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
	path    string // in Go, from the struct on
	typ     reflect.Type
	at      memory.Offset // in the struct, or in the last of via
	via     []hop
	parents []parent
	omit    bool
	depth   int // how many structs it is in
}

// collect lists the fields of the struct t that travel: fields of embedded structs belong to the outer one, and of several with one name
// the least deep counts. tied are some that are equally deep: of them encoding/json would send one, or none.
func collect(t reflect.Type) (shown, tied []member) {
	return visible(collectAt(t, member{depth: 1}))
}

// tagOf returns what the tags of a field say: its name, or "" for the one that it has in Go, the options behind it, and whether the field does not
// travel. A field that `weft:"-"` keeps out of Protocol Buffers travels here only if a tag of this codec gives it a name.
func tagOf(f reflect.StructField) (name, options string, out bool) {
	name, options, _ = strings.Cut(f.Tag.Get("msgpack"), ",")
	return name, options, name == "-" || name == "" && f.Tag.Get("weft") == "-"
}

// collectAt lists those of t, which is embedded at the place that outer names, also those that others hide: which ones do is known only when
// the whole struct is, since two that hide one another hide deeper ones elsewhere too.
func collectAt(t reflect.Type, outer member) []member {
	var own, embedded []member
	for f := range t.Fields() {
		name, options, out := tagOf(f)
		if !f.IsExported() || out {
			continue
		}
		m := outer
		m.name, m.path, m.typ, m.at = name, outer.path+"."+f.Name, f.Type, memory.Join(outer.at, f)
		m.omit = slices.Contains(strings.Split(options, ","), "omitempty")
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
func visible(all []member) (shown, tied []member) {
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
		if shown = append(shown, same[0]); len(same) > 1 {
			tied = same
		}
	}
	return shown, tied
}

// base returns t, or what it points to.
func base(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
