package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// Document is a text in Thrift's language. It collects the structs that its methods use, each before
// the first that uses it where that is possible.
type Document struct {
	Set     *Set
	names   map[*Record]string
	used    map[string]bool
	thrown  map[*Record]bool // declared as exceptions
	structs []string
}

// NewDocument returns an empty document.
func NewDocument(s *Set) *Document {
	return &Document{Set: s, names: make(map[*Record]string), used: make(map[string]bool), thrown: make(map[*Record]bool)}
}

// Structs are the declarations of the structs.
func (d *Document) Structs() []string { return d.structs }

// typeName is what a type is called, after the structs in it were declared.
func (d *Document) typeName(n *Node) (string, error) {
	switch n.op {
	case opKey, opBytes, opOctets:
		return "binary", nil
	case opPointer:
		return d.typeName(n.elem)
	case opStruct, opForeign:
		if n.record == nil {
			return "", fmt.Errorf("the fields of %s are not known", n.typ)
		}
		return d.declare(n.record)
	case opList, opArray:
		elem, err := d.typeName(n.elem)
		return fmt.Sprintf("%s<%s>", n.wire, elem), err
	case opMap:
		key, err := d.typeName(n.key)
		if err != nil || n.wire == protocol.Set {
			return "set<" + key + ">", err
		}
		value, err := d.typeName(n.elem)
		return "map<" + key + "," + value + ">", err
	}
	return n.wire.String(), nil
}

// declare declares a struct and returns its name.
func (d *Document) declare(r *Record) (string, error) {
	if name, ok := d.names[r]; ok {
		return name, nil
	}
	// Plans of one type that were made for different methods are different records.
	for other, name := range d.names {
		if other.typ == r.typ {
			return name, nil
		}
	}
	name := d.free(r.Name)
	d.names[r] = name
	var b strings.Builder
	kind := "struct"
	switch {
	case d.thrown[r]:
		kind = "exception"
	case r.Union:
		kind = "union"
	}
	fmt.Fprintf(&b, "%s %s {\n", kind, name)
	for i := range r.Fields {
		f := &r.Fields[i]
		text, err := d.field(f)
		if err != nil {
			return "", err
		}
		need := ""
		switch {
		case r.Union:
		case f.Required:
			need = "required "
		case f.Optional, f.Node.op == opPointer && f.Node.elem.op != opStruct && f.Node.elem.op != opForeign:
			need = "optional "
		}
		fmt.Fprintf(&b, "  %d: %s%s\n", f.ID, need, text)
	}
	b.WriteString("}\n")
	d.structs = append(d.structs, b.String())
	return name, nil
}

func (d *Document) field(f *Field) (string, error) {
	t, err := d.typeName(f.Node)
	if err != nil {
		return "", err
	}
	return t + " " + Safe(f.Name), nil
}

// free returns a name that no other struct has.
func (d *Document) free(name string) string {
	if i := strings.IndexByte(name, '['); i >= 0 {
		name = name[:i] // of a generic type
	}
	if name == "" {
		name = "Struct"
	}
	base := Safe(name)
	for n := 2; d.used[strings.ToLower(name)] || name != base && n == 2; n++ {
		name = base
		if d.used[strings.ToLower(name)] {
			name = fmt.Sprintf("%s%d", base, n)
		}
	}
	d.used[strings.ToLower(name)] = true
	return name
}

// Throws is an exception that a method declares.
type Throws struct {
	ID   int16
	Name string
	Type reflect.Type
}

// Declare returns the declaration of a method, and declares the structs that it uses. parameter is the
// name of a request that is the one parameter.
func (d *Document) Declare(m *Method, request, reply reflect.Type, name, parameter string, oneway bool, throws []Throws) (string, error) {
	args, err := m.shapeOf(&m.args, request, m.argsPlace)
	if err != nil {
		return "", err
	}
	result, err := m.shapeOf(&m.result, reply, m.resultPlace)
	if err != nil {
		return "", err
	}
	params, err := d.parameters(args, parameter)
	if err != nil {
		return "", err
	}
	back, declared := "void", throws
	switch {
	case oneway:
		back = "oneway void"
	case result.place == field:
		back, err = d.typeName(result.node)
	case result.place == whole && result.node.record != nil:
		back, declared, err = d.result(result.node.record, throws)
	}
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%s %s(%s)", back, Safe(name), params)
	if oneway || len(declared) == 0 {
		return text, nil
	}
	var all []string
	for _, t := range declared {
		n, err := d.Set.Of(t.Type)
		if err == nil && n.record == nil {
			err = fmt.Errorf("a %s cannot be thrown: it is no struct", t.Type)
		}
		if err != nil {
			return "", err
		}
		d.thrown[n.record] = true
		typ, err := d.declare(n.record)
		if err != nil {
			return "", err
		}
		all = append(all, fmt.Sprintf("%d: %s %s", t.ID, typ, Safe(t.Name)))
	}
	return text + " throws (" + strings.Join(all, ", ") + ")", nil
}

func (d *Document) parameters(args *shape, parameter string) (string, error) {
	if args.place != whole {
		t, err := d.typeName(args.node)
		if parameter == "" {
			parameter = "request"
		}
		return "1: " + t + " " + Safe(parameter), err
	}
	var params []string
	if args.node.record == nil {
		return "", fmt.Errorf("the fields of %s are not known", args.typ)
	}
	for i := range args.node.record.Fields {
		f := &args.node.record.Fields[i]
		if f.ID == 0 {
			return "", fmt.Errorf("%s.%s has the number 0, which no parameter has", args.typ, f.Name)
		}
		text, err := d.field(f)
		if err != nil {
			return "", err
		}
		params = append(params, fmt.Sprintf("%d: %s", f.ID, text))
	}
	return strings.Join(params, ", "), nil
}

// result is what the struct of a result says: the type of the value, and exceptions.
func (d *Document) result(r *Record, throws []Throws) (back string, all []Throws, err error) {
	back, all = "void", throws
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.ID == success {
			if back, err = d.typeName(f.Node); err != nil {
				return back, all, err
			}
			continue
		}
		t := f.Node.typ
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if !slices.ContainsFunc(throws, func(t Throws) bool { return t.ID == f.ID }) {
			all = append(all, Throws{f.ID, f.Name, t})
		}
	}
	return back, all, nil
}

// Safe is a name as the Thrift compiler takes it: words of the languages that it knows get an
// underscore.
func Safe(name string) string {
	b := []byte(name)
	for i, c := range b {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9' || i == 0) {
			b[i] = '_'
		}
	}
	if strings.Contains(words, " "+string(b)+" ") {
		b = append(b, '_')
	}
	return string(b)
}

// Identifier reports whether a name is one in Thrift's language.
func Identifier(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9' || i == 0) {
			return false
		}
	}
	return name != ""
}

// words are what the compiler refuses, or takes for something else.
const words = " BEGIN END __CLASS__ __DIR__ __FILE__ __FUNCTION__ __LINE__ __METHOD__ __NAMESPACE__ abstract alias and args as assert " +
	"async begin binary bool break byte case catch class clone const continue cpp_include cpp_type declare def default del delete do double dynamic elif " +
	"else elseif elsif end enddeclare endfor endforeach endif endswitch endwhile ensure enum except exception exec extends false finally float " +
	"for foreach from function global goto i16 i32 i64 i8 if implements import in include inline instanceof interface is lambda list map " +
	"module namespace native new next nil not oneway optional or package pass print private protected public raise redo reference register required " +
	"rescue retry return self service set sizeof slist static string struct super switch synchronized then this throw throws transient " +
	"true try typedef undef union unless unsigned until use uuid var virtual void volatile when while with xor yield "
