package descriptors

import (
	"reflect"
	"slices"
	"strings"

	"github.com/weftrpc/weft/codec/internal/tags"
)

// Number is the number that package protobuf gives a field of a struct without numbers, by the name that the field
// has in JSON.
func Number(json string) int32 { return int32(tags.NumberOf(json)) }

// FieldName is what a field is called in a .proto file, by its names in JSON and in Go. others are the names of the
// other fields of the message: protoc wants the names in JSON that it makes of them to differ.
func FieldName(json, goName string, others []string) string {
	taken := func(name string) bool {
		return slices.ContainsFunc(others, func(other string) bool { return JSONName(other) == JSONName(name) })
	}
	name := snake(json)
	if name == "" || taken(name) {
		name = identifier(goName)
	}
	for taken(name) {
		name += "2"
	}
	return name
}

// JSONName is the name in JSON that a field has by itself, by its name in a .proto file.
func JSONName(name string) string { return camel(name, false) }

// packageOf is the import path of the package that a type belongs to: for an instance of a generic type
// that of its first type argument with a package, since that package may import the generic one and not the
// other way round.
func packageOf(t reflect.Type) string {
	if _, args, ok := strings.Cut(t.Name(), "["); ok {
		for arg := range strings.FieldsFuncSeq(args, func(r rune) bool { return strings.ContainsRune("[],*", r) }) {
			if i := strings.LastIndexByte(arg, '.'); i > 0 {
				return arg[:i]
			}
		}
	}
	return t.PkgPath()
}

// orMain is the path of a package, or that of the package for types that have none.
func orMain(path string) string {
	if path == "" {
		return "main"
	}
	return path
}

// nameOf is the name of a type, without the packages of type arguments; place for one without a name.
func nameOf(t reflect.Type, place string) string {
	name := t.Name()
	if name == "" {
		return identifier(nameOrPlace("", place))
	}
	generic, args, ok := strings.Cut(name, "[")
	if !ok {
		return identifier(name)
	}
	for arg := range strings.FieldsFuncSeq(args, func(r rune) bool { return strings.ContainsRune("[],*", r) }) {
		generic += "_" + arg[strings.LastIndexAny(arg, "./")+1:]
	}
	return identifier(generic)
}

func nameOrPlace(name, place string) string {
	switch {
	case name != "":
		return name
	case place != "":
		return place
	}
	return "Message"
}

// identifier makes a name that .proto files can have.
func identifier(name string) string {
	b := []byte(name)
	for i, c := range b {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			b[i] = '_'
		}
	}
	if len(b) == 0 || b[0] >= '0' && b[0] <= '9' {
		return "_" + string(b)
	}
	return string(b)
}

// identifiers is the package of an import path.
func identifiers(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = identifier(p)
	}
	return strings.Join(parts, ".")
}

// snake is a name in lower case with underscores; "" if it is no identifier. "UserID" is "user_id".
func snake(name string) string {
	if name == "" || identifier(name) != name {
		return ""
	}
	var b []byte
	upper := func(i int) bool { return i < len(name) && name[i] >= 'A' && name[i] <= 'Z' }
	lower := func(i int) bool { return i < len(name) && name[i] >= 'a' && name[i] <= 'z' }
	for i := range len(name) {
		c := name[i]
		if upper(i) {
			if i > 0 && name[i-1] != '_' && (!upper(i-1) || lower(i+1)) {
				b = append(b, '_')
			}
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return string(b)
}

// camel is a name in lower case with underscores without these: letters behind them are upper case, and the first one
// if up is true, as in the names of a map's entries.
func camel(name string, up bool) string {
	var b []byte
	for i := range len(name) {
		c := name[i]
		if c == '_' {
			up = true
			continue
		}
		if up && c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		up = false
		b = append(b, c)
	}
	return string(b)
}
