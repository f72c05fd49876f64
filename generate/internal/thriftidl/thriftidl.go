// Package thriftidl reads documents in Thrift's language for interfaces: the whole grammar of
// Apache Thrift's compiler, with comments kept as documentation. [Loader.Load] reads a document with those that it
// includes, resolves its names and checks it; what is wrong is an [Error] at a place in a file.
package thriftidl

import "fmt"

// Pos is a place in a file. Line and Column count from 1, the column in bytes.
type Pos struct {
	File         string
	Line, Column int
}

func (p Pos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// Error is what is wrong at a place.
type Error struct {
	Pos  Pos
	Text string
}

func (e *Error) Error() string { return e.Pos.String() + ": " + e.Text }

// errorf makes an Error.
func (p Pos) errorf(format string, args ...any) *Error {
	return &Error{p, fmt.Sprintf(format, args...)}
}

// Document is one file.
type Document struct {
	Path       string // as it was opened
	Name       string // by which the names in it are qualified: "shared" of shared.thrift
	Namespaces []*Namespace
	Includes   []*Include
	Typedefs   []*Typedef
	Consts     []*Const
	Enums      []*Enum
	Structs    []*Struct
	Services   []*Service

	names map[string]any // the definitions above
}

// Namespace says what the package of the generated code is called.
type Namespace struct {
	Pos            Pos
	Language, Name string // "*" is for all languages
	Annotations    Annotations
}

// Namespace returns the namespace for a language, or else that for all; "": there is none.
func (d *Document) Namespace(language string) string {
	all := ""
	for _, n := range d.Namespaces {
		switch n.Language {
		case language:
			return n.Name
		case "*":
			all = n.Name
		}
	}
	return all
}

// Include is a document that another one uses.
type Include struct {
	Pos      Pos
	Path     string // as the file has it
	Document *Document
}

// Head is what all definitions have, and their parts.
type Head struct {
	Pos         Pos // of the name
	Name        string
	Doc         string // the comment before it, or behind it on its line
	Annotations Annotations
}

// Annotations are pairs in parentheses behind what they annotate.
type Annotations []Annotation

// Annotation is one of them.
type Annotation struct {
	Pos         Pos
	Name, Value string // the value is "1" if there is none
}

// Get returns the value of an annotation.
func (a Annotations) Get(name string) (value string, ok bool) {
	for _, x := range a {
		if x.Name == name {
			value, ok = x.Value, true
		}
	}
	return value, ok
}

// Typedef gives a type another name.
type Typedef struct {
	Head
	Type *Type
}

// Const is a constant.
type Const struct {
	Head
	Type  *Type
	Value *Value
}

// Enum is an enumeration.
type Enum struct {
	Head
	Values []*EnumValue
}

// EnumValue is a value of an enumeration.
type EnumValue struct {
	Head
	Number int32
}

// StructKind tells structs, unions and exceptions.
type StructKind int

// The kinds.
const (
	Plain StructKind = iota
	Union
	Exception
)

func (k StructKind) String() string {
	return [...]string{"struct", "union", "exception"}[k]
}

// Struct is a struct, a union or an exception.
type Struct struct {
	Head
	Kind   StructKind
	Fields []*Field // as they stand
}

// Need says whether a field must be there.
type Need int

// The needs.
const (
	Default Need = iota // the field is always sent, and may be missing
	Required
	Optional
)

// Field is a field of a struct, a parameter of a function, or an exception that it throws.
type Field struct {
	Head
	ID    int16
	Need  Need
	Type  *Type
	Value *Value // the default; nil: there is none
}

// Service is a set of functions.
type Service struct {
	Head
	Extends   string // as the file has it; "": no other service
	Base      *Service
	Functions []*Function // without those of Base

	extendsPos Pos
}

// Function is a method of a service.
type Function struct {
	Head
	Oneway bool
	Result *Type // nil: void
	Params []*Field
	Throws []*Field
}

// Kind is the kind of a type.
type Kind int

// The kinds. What stands before String can be the key of a map in every language.
const (
	Bool Kind = iota
	I8
	I16
	I32
	I64
	Double
	String
	Binary
	UUID
	List
	Set
	Map
	Named // a definition
)

// kinds are the names of types that are built in.
func kinds() map[string]Kind {
	return map[string]Kind{"bool": Bool, "byte": I8, "i8": I8, "i16": I16, "i32": I32, "i64": I64, "double": Double, "string": String, "binary": Binary, "uuid": UUID}
}

// Type is a use of a type.
type Type struct {
	Pos         Pos
	Kind        Kind
	Name        string // of Named, as the file has it
	Key, Elem   *Type  // of containers; the key is that of a map
	Annotations Annotations

	// Of Named, one of these.
	Typedef *Typedef
	Enum    *Enum
	Struct  *Struct
	// Document has the definition.
	Document *Document
}

// Underlying is the type behind all typedefs.
func (t *Type) Underlying() *Type {
	for t.Typedef != nil {
		t = t.Typedef.Type
	}
	return t
}

func (t *Type) String() string {
	switch t.Kind {
	case Named:
		return t.Name
	case List:
		return "list<" + t.Elem.String() + ">"
	case Set:
		return "set<" + t.Elem.String() + ">"
	case Map:
		return "map<" + t.Key.String() + "," + t.Elem.String() + ">"
	}
	for name, k := range kinds() {
		if k == t.Kind && name != "byte" {
			return name
		}
	}
	return "?"
}

// ValueKind is the kind of a value.
type ValueKind int

// The kinds.
const (
	IntValue ValueKind = iota
	DoubleValue
	TextValue
	NameValue // of a constant or a value of an enumeration
	ListValue
	MapValue
)

// Value is the value of a constant, or a default.
type Value struct {
	Pos    Pos
	Kind   ValueKind
	Int    int64
	Double float64
	Text   string // also the name of a NameValue
	List   []*Value
	Map    []Pair

	// Const and Enum are what a name has been resolved to.
	Const *Const
	Enum  *EnumValue
}

// Pair is an entry of a map.
type Pair struct{ Key, Value *Value }

// Final is the value behind all names of constants.
func (v *Value) Final() *Value {
	for v.Const != nil {
		v = v.Const.Value
	}
	return v
}
