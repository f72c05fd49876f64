package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftrpc/weft/schema"
	"github.com/weftrpc/weft/schema/internal/naming"
)

// python writes the messages as they are in JSON, as TypedDicts, and a Protocol for each service. It needs Python 3.11.
func python(m *schema.Model) *Result {
	w := &pythonWriter{scriptWriter: scriptWriter{model: m}}
	w.names = shortNames(m, isPythonWord)
	fmt.Fprintf(&w.b, "# %s\n\nfrom __future__ import annotations\n\nimport typing\n", header)
	for _, e := range m.Enums {
		w.enum(e)
	}
	for _, one := range m.Messages {
		w.message(one)
	}
	used := make(map[string]bool)
	for _, name := range w.names {
		used[name] = true
	}
	for _, s := range m.Services {
		name := serviceName(s.Name, used)
		for isPythonWord(name) {
			name += "_"
		}
		w.service(s, name)
	}
	return &Result{Files: []File{{"schema.py", []byte(w.b.String())}}, LeftOut: withoutJSON(m)}
}

// isPythonWord reports whether a name is a keyword, or one that the output uses.
func isPythonWord(name string) bool {
	return slices.Contains([]string{"False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
		"else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return",
		"try", "while", "with", "yield", "typing", "annotations", "int", "float", "str", "bool", "list", "dict", "object", "type", "match", "case"}, name)
}

type pythonWriter struct{ scriptWriter }

// doc writes comments.
func (w *pythonWriter) doc(indent string, texts ...string) {
	text := paragraphs(texts...)
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		w.b.WriteString(strings.TrimRight(indent+"# "+line, " ") + "\n")
	}
}

func (w *pythonWriter) enum(e *schema.Enum) {
	var values []string
	for _, v := range e.Values {
		values = append(values, quote(v.Name))
	}
	w.b.WriteString("\n")
	w.doc("", e.Doc)
	if len(values) == 0 {
		fmt.Fprintf(&w.b, "%s: typing.TypeAlias = \"typing.NoReturn\"\n", w.names[e.Name])
		return
	}
	fmt.Fprintf(&w.b, "%s: typing.TypeAlias = typing.Literal[%s]\n", w.names[e.Name], strings.Join(values, ", "))
}

// message writes a class, or, where the name of a field could not stand in one or would hide a type there, a call.
func (w *pythonWriter) message(m *schema.Message) {
	var fields []*schema.Field
	plain := true
	for _, f := range m.Fields {
		if f.Name == "" {
			continue
		}
		fields = append(fields, f)
		plain = plain && naming.IsIdentifier(f.Name) && !isPythonWord(f.Name) && !strings.HasPrefix(f.Name, "__") && !w.isType(f.Name)
	}
	w.b.WriteString("\n\n")
	w.doc("", m.Doc)
	name := w.names[m.Name]
	if plain {
		fmt.Fprintf(&w.b, "class %s(typing.TypedDict):\n", name)
	} else {
		fmt.Fprintf(&w.b, "%s = typing.TypedDict(%s, {\n", name, quote(name))
	}
	for _, f := range fields {
		oneof := ""
		if f.Oneof != "" {
			oneof = "At most one field of " + f.Oneof + " is set."
		}
		w.doc("    ", f.Doc, pythonRemark(f.Type, m.Stock()), oneof)
		typ := w.typ(f.Type, m.Stock())
		if f.Omitted {
			typ = "typing.NotRequired[" + typ + "]"
		}
		if plain {
			fmt.Fprintf(&w.b, "    %s: %s\n", f.Name, typ)
		} else {
			fmt.Fprintf(&w.b, "    %s: %s,\n", quote(f.Name), quote(typ))
		}
	}
	switch {
	case !plain:
		w.b.WriteString("})\n")
	case len(fields) == 0:
		w.b.WriteString("    pass\n")
	}
}

// pythonRemark is jsonRemark for a language whose integers are exact.
func pythonRemark(t *schema.Type, stock bool) string {
	if !stock && (t.Kind == schema.KindInt64 || t.Kind == schema.KindUint64) {
		return ""
	}
	return jsonRemark(t, stock)
}

// isType reports whether a name is that of a message or an enumeration.
func (w *pythonWriter) isType(name string) bool {
	for _, known := range w.names {
		if known == name {
			return true
		}
	}
	return false
}

func (w *pythonWriter) service(s *schema.Service, name string) {
	// In a class the name of a method would hide a type of that name.
	hidden := make(map[string]string)
	w.b.WriteString("\n\n")
	for _, m := range s.Methods {
		if own := pythonName(m.Name); w.isType(own) {
			hidden[own] = "_type_" + own
			fmt.Fprintf(&w.b, "%s: typing.TypeAlias = %s\n", hidden[own], quote(own))
		}
	}
	in := &pythonWriter{scriptWriter{model: w.model, names: make(map[string]string)}}
	for full, short := range w.names {
		in.names[full] = or(hidden[short], short)
	}
	if len(hidden) > 0 {
		w.b.WriteString("\n\n")
	}
	w.doc("", s.Doc, "The service "+s.Name+".")
	fmt.Fprintf(&w.b, "class %s(typing.Protocol):\n", name)
	for i, m := range s.Methods {
		if i > 0 {
			w.b.WriteString("\n")
		}
		once := ""
		if m.Idempotent {
			once = "Idempotent: a call may be made again without another effect."
		}
		w.doc("    ", m.Doc, once)
		request, reply := "request: "+in.typ(m.Request, false), in.typ(m.Reply, false)
		if m.Sends() {
			request = "requests: typing.Iterable[" + in.typ(m.Request, false) + "]"
		}
		if m.Receives() {
			reply = "typing.Iterator[" + reply + "]"
		}
		fmt.Fprintf(&w.b, "    def %s(self, %s, /) -> %s: ...\n", pythonName(m.Name), request, reply)
	}
	if len(s.Methods) == 0 {
		w.b.WriteString("    pass\n")
	}
}

// pythonName is the name of a method.
func pythonName(name string) string {
	name = naming.Identifier(name)
	if isPythonWord(name) {
		name += "_"
	}
	return name
}

// typ is the type of a value. stock says that it is within a message whose JSON is that of protojson.
func (w *pythonWriter) typ(t *schema.Type, stock bool) string {
	plain, nullable := w.plain(t, stock)
	if !stock && (t.Optional || nullable) && plain != "typing.Any" {
		return plain + " | None"
	}
	return plain
}

// plain is typ without None; nullable says that None is a value all the same.
func (w *pythonWriter) plain(t *schema.Type, stock bool) (plain string, nullable bool) {
	switch t.JSON {
	case schema.JSONText:
		return "str", false
	case schema.JSONAny, schema.JSONNone:
		return "typing.Any", false
	case schema.JSONNumber:
		return "float", false
	case schema.JSONInteger:
		return "int", false
	case schema.JSONBytes:
		return "str", true
	}
	switch t.Kind {
	case schema.KindBool:
		return "bool", false
	case schema.KindInt64, schema.KindUint64:
		if stock {
			return "str", false
		}
		return "int", false
	case schema.KindFloat32, schema.KindFloat64:
		return "float", false
	case schema.KindString, schema.KindTime:
		return "str", false
	case schema.KindBytes:
		return "str", true
	case schema.KindAny:
		return "typing.Any", false
	case schema.KindEnum:
		if t.Name == schema.NullValue {
			return "None", false
		}
		return w.names[t.Name], false
	case schema.KindMessage:
		if schema.WellKnown(t.Name) != nil {
			return knownPython(t.Name), false
		}
		return w.names[t.Name], false
	case schema.KindList, schema.KindArray:
		return "list[" + w.typ(t.Elem, stock) + "]", t.Kind == schema.KindList
	case schema.KindMap:
		return "dict[str, " + w.typ(t.Elem, stock) + "]", true
	}
	return "int", false
}

// knownPython is the type of a message that protojson encodes in a form of its own.
func knownPython(name string) string {
	s := schema.WellKnown(name)
	none := ""
	if s.Nullable {
		none = " | None"
	}
	switch s.Type {
	case "string":
		return "str" + none
	case "integer":
		return "int" + none
	case "number":
		return "float" + none
	case "boolean":
		return "bool" + none
	case "array":
		return "list[typing.Any]"
	case "object":
		return "dict[str, typing.Any]"
	}
	return "typing.Any"
}
