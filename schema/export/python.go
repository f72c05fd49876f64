package export

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrpc/weft/schema"
	"github.com/weftrpc/weft/schema/internal/naming"
)

// python writes the messages as they are in JSON, as TypedDicts, and a Protocol for each service. It needs Python 3.11.
func python(m *schema.Model) *Result {
	w := &pythonWriter{typeNames: namesIn(pythonTypes(), m)}
	fmt.Fprintf(&w.b, "# %s\n\nfrom __future__ import annotations\n\nimport typing\n", header)
	w.declare(m, w)
	return &Result{Files: []File{{"schema.py", []byte(w.b.String())}}, LeftOut: withoutJSON(m)}
}

// pythonTypes are the types of Python.
func pythonTypes() language {
	return language{
		text: "str", integer: "int", number: "float", boolean: "bool", null: "None", unknown: "typing.Any", never: "typing.NoReturn",
		list:   func(elem string) string { return "list[" + elem + "]" },
		object: func(elem string) string { return "dict[str, " + elem + "]" },
		exact:  true,
		word:   isPythonWord,
	}
}

// isPythonWord reports whether a name is a keyword, or one that the output uses.
func isPythonWord(name string) bool {
	return slices.Contains([]string{"False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
		"else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return",
		"try", "while", "with", "yield", "typing", "annotations", "int", "float", "str", "bool", "list", "dict", "object", "type", "match", "case"}, name)
}

// pythonWriter implements declarations.
type pythonWriter struct {
	typeNames
	b strings.Builder
}

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
	w.b.WriteString("\n")
	w.doc("", e.Doc)
	value := quote(w.never)
	if values := literals(e); len(values) > 0 {
		value = "typing.Literal[" + strings.Join(values, ", ") + "]"
	}
	fmt.Fprintf(&w.b, "%s: typing.TypeAlias = %s\n", w.names[e.Name], value)
}

// message writes a class, or, where the name of a field could not stand in one or would hide a type there, a call.
func (w *pythonWriter) message(m *schema.Message) {
	fields := inJSON(m)
	plain := true
	for _, f := range fields {
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
		w.doc("    ", w.fieldRemarks(m, f)...)
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
	hidden, names := make(map[string]string), pythonNames(s.Methods)
	w.b.WriteString("\n\n")
	for _, m := range s.Methods {
		if own := names[m]; w.isType(own) {
			hidden[own] = "_type_" + own
			fmt.Fprintf(&w.b, "%s: typing.TypeAlias = %s\n", hidden[own], quote(own))
		}
	}
	in := typeNames{w.language, make(map[string]string)}
	for full, short := range w.names {
		in.names[full] = cmp.Or(hidden[short], short)
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
		w.doc("    ", methodRemarks(m)...)
		request, reply := "request: "+in.typ(m.Request, false), in.typ(m.Reply, false)
		if m.Sends() {
			request = "requests: typing.Iterable[" + in.typ(m.Request, false) + "]"
		}
		if m.Receives() {
			reply = "typing.Iterator[" + reply + "]"
		}
		fmt.Fprintf(&w.b, "    def %s(self, %s, /) -> %s: ...\n", names[m], request, reply)
	}
	if len(s.Methods) == 0 {
		w.b.WriteString("    pass\n")
	}
}

// pythonNames gives each method of a service a name of its own; those that can have their own names keep them.
func pythonNames(methods []*schema.Method) map[*schema.Method]string {
	names, used := make(map[*schema.Method]string), make(map[string]bool)
	for _, same := range []bool{true, false} {
		for _, m := range methods {
			name := pythonName(m.Name)
			if (name == m.Name) != same {
				continue
			}
			for used[name] {
				name += "_"
			}
			names[m], used[name] = name, true
		}
	}
	return names
}

// pythonName is the name of a method.
func pythonName(name string) string {
	name = naming.Identifier(name)
	if isPythonWord(name) {
		name += "_"
	}
	return name
}
