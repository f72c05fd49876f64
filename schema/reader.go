package schema

import (
	"fmt"
	"path"
	"reflect"
	"strconv"
	"strings"

	"github.com/weftrpc/weft/schema/internal/naming"
)

// reader makes types of the model of Go types and of descriptors, and keeps the messages that they name.
type reader struct {
	messages []*Message
	enums    []*Enum
	names    map[any]string    // of messages and enumerations, by Facts.ID or full name of the descriptor
	inFiles  map[string]string // full names of descriptors, by those in names
	taken    map[string]bool   // names
	around   map[any]bool      // the named types of pointers, lists and maps around a type, up to the next struct, by Facts.ID
	wrong    []error           // what no wire carries
}

func newReader() *reader {
	return &reader{names: make(map[any]string), inFiles: make(map[string]string), taken: make(map[string]bool), around: make(map[any]bool)}
}

// place names a struct that has no name of its own.
type place struct{ path, name string }

// goType is the type of the model for a type of Go. One that contains itself without a struct between, such as type tree map[string]tree, has
// no end in a model: within itself it is any value.
func (r *reader) goType(t GoType, at place) *Type {
	f := t.Facts()
	if f.Name != "" && (f.Kind == reflect.Pointer || f.Kind == reflect.Slice || f.Kind == reflect.Array || f.Kind == reflect.Map) {
		if r.around[f.ID] {
			return &Type{Kind: KindAny}
		}
		r.around[f.ID] = true
		defer delete(r.around, f.ID)
	}
	switch {
	case f.Message != nil:
		return r.descriptor(f.Message)
	case f.is("time", "Time"):
		return &Type{Kind: KindTime}
	case f.is("time", "Duration"):
		return &Type{Kind: KindDuration}
	case f.is("encoding/json", "Number"):
		return &Type{Kind: KindString, JSON: JSONNumber}
	case f.is("math/big", "Int"):
		return &Type{Kind: KindAny, JSON: JSONInteger}
	case f.Kind == reflect.Pointer:
		out := *r.goType(t.Elem(), at)
		out.Optional = true
		return &out
	case f.Kind == reflect.Struct:
		return r.goStruct(t, &f, at)
	}
	out := r.goValue(t, &f, at)
	switch {
	case f.Kind == reflect.Interface:
	case f.MarshalsJSON:
		out.JSON = JSONAny
	case f.MarshalsText:
		out.JSON = JSONText
	}
	return out
}

// goValue is goType for a type that is no struct and no pointer.
func (r *reader) goValue(t GoType, f *Facts, at place) *Type {
	switch f.Kind {
	case reflect.Int:
		return &Type{Kind: KindInt64}
	case reflect.Uint, reflect.Uintptr:
		return &Type{Kind: KindUint64}
	case reflect.Bool, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64, reflect.String:
		return &Type{Kind: Kind(f.Kind.String())}
	case reflect.Slice:
		elem := t.Elem()
		e := elem.Facts()
		if isByte(&e) {
			return &Type{Kind: KindBytes}
		}
		out := &Type{Kind: KindList, Elem: r.goType(elem, at)}
		if e.Kind == reflect.Uint8 && !e.MarshalsJSON && !e.MarshalsText {
			out.JSON = JSONBytes
		}
		return out
	case reflect.Array:
		return &Type{Kind: KindArray, Elem: r.goType(t.Elem(), at), Length: f.Len}
	case reflect.Map:
		out := &Type{Kind: KindMap, Key: r.goType(t.Key(), at), Elem: r.goType(t.Elem(), at)}
		key := t.Key().Facts()
		if !key.MarshalsText && key.Kind != reflect.String && (key.Kind < reflect.Int || key.Kind > reflect.Uintptr) {
			out.JSON = JSONNone
		}
		return out
	case reflect.Interface:
		return &Type{Kind: KindAny}
	}
	r.wrong = append(r.wrong, fmt.Errorf("%s is a %s, which no codec carries", orMessage(at.name), f.Kind))
	return &Type{Kind: KindAny, JSON: JSONNone}
}

// isByte reports whether a type is byte, and not a type made of it.
func isByte(f *Facts) bool { return f.Kind == reflect.Uint8 && f.Package == "" }

// goStruct is goType for a struct.
func (r *reader) goStruct(t GoType, f *Facts, at place) *Type {
	fields := t.Fields()
	if f.Name == "" && len(fields) == 0 {
		return &Type{Kind: KindMessage, Name: empty}
	}
	out := &Type{Kind: KindMessage}
	switch {
	case f.MarshalsJSON:
		out.JSON = JSONAny
	case f.MarshalsText:
		out.JSON = JSONText
	}
	if out.JSON != "" && !anyExported(fields) {
		// The methods alone say what it is.
		out.Kind = KindAny
		if f.MarshalsText {
			out.Kind = KindString
		}
		return out
	}
	if known, ok := r.names[f.ID]; ok {
		out.Name = known
		return out
	}
	own := place{packageOf(f), localName(f.Name)}
	if f.Name == "" {
		own = place{at.path, naming.Identifier(orMessage(at.name))}
	}
	m := &Message{Package: packageName(own.path), Go: own.path + "." + own.name, Doc: naming.Clean(f.Doc)}
	m.Name = r.free(join(m.Package, own.name))
	r.names[f.ID], r.messages = m.Name, append(r.messages, m)
	around := r.around
	r.around = make(map[any]bool)
	r.fill(m, t, place{own.path, m.Local()})
	r.around = around
	out.Name = m.Name
	return out
}

// anyExported reports whether a struct with these fields has an exported one, or embeds a struct that has.
func anyExported(fields []GoField) bool {
	for _, f := range fields {
		if f.Exported || f.Embedded && f.Type.Facts().Kind == reflect.Struct && anyExported(f.Type.Fields()) {
			return true
		}
	}
	return false
}

func orMessage(name string) string {
	if name == "" {
		return "Message"
	}
	return name
}

// packageOf is the import path of a named type: for an instance of a generic type that of its first type argument
// with a package, since that package may import the generic one and not the other way round.
func packageOf(f *Facts) string {
	if _, args, ok := strings.Cut(f.Name, "["); ok {
		for arg := range strings.FieldsFuncSeq(args, func(r rune) bool { return strings.ContainsRune("[],*", r) }) {
			if i := strings.LastIndexByte(arg, '.'); i > 0 {
				return arg[:i]
			}
		}
	}
	return f.Package
}

// localName is the name of a type without the packages of its type arguments.
func localName(name string) string {
	generic, args, ok := strings.Cut(name, "[")
	if !ok {
		return naming.Identifier(name)
	}
	for arg := range strings.FieldsFuncSeq(args, func(r rune) bool { return strings.ContainsRune("[],*", r) }) {
		generic += "_" + arg[strings.LastIndexAny(arg, "./")+1:]
	}
	return naming.Identifier(generic)
}

// packageName is what the last part of an import path is called in a model; the version behind it does not count.
func packageName(importPath string) string {
	base := path.Base(importPath)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" && strings.Contains(importPath, "/") {
		base = path.Base(path.Dir(importPath))
	}
	if importPath == "" {
		base = "main"
	}
	return naming.Identifier(base)
}

func join(pkg, name string) string {
	if pkg == "" {
		return name
	}
	return pkg + "." + name
}

// free is the name, or the name with a number if another type has it.
func (r *reader) free(name string) string {
	for n, try := 2, name; ; n++ {
		if !r.taken[try] {
			r.taken[try] = true
			return try
		}
		try = name + "_" + strconv.Itoa(n)
	}
}
