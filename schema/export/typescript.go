package export

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrpc/weft/schema"
	"github.com/weftrpc/weft/schema/internal/naming"
)

// typeScript writes the messages as they are in JSON, and a type for each service, whose methods a client can have.
func typeScript(m *schema.Model) *Result {
	w := &scriptWriter{typeNames: namesIn(scriptTypes(), m)}
	fmt.Fprintf(&w.b, "// %s\n", header)
	w.declare(m, w)
	return &Result{Files: []File{{"schema.ts", []byte(w.b.String())}}, LeftOut: withoutJSON(m)}
}

// scriptTypes are the types of TypeScript.
func scriptTypes() language {
	return language{
		text: "string", integer: "number", number: "number", boolean: "boolean", null: "null", unknown: "unknown", never: "never",
		list: func(elem string) string {
			if strings.Contains(elem, " ") {
				elem = "(" + elem + ")"
			}
			return elem + "[]"
		},
		object: func(elem string) string { return "{ [key: string]: " + elem + " }" },
		word:   isScriptWord,
	}
}

// isScriptWord reports whether a name is a keyword, or one that the output uses.
func isScriptWord(name string) bool {
	return slices.Contains([]string{"any", "unknown", "never", "object", "string", "number", "boolean", "bigint", "symbol", "undefined", "null", "void",
		"Promise", "AsyncIterable", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do", "else", "enum",
		"export", "extends", "false", "finally", "for", "function", "if", "import", "in", "instanceof", "new", "return", "super", "switch", "this",
		"throw", "true", "try", "typeof", "var", "while", "with", "implements", "interface", "let", "package", "private", "protected", "public",
		"static", "yield", "await", "type", "declare", "namespace", "module", "abstract", "as", "async", "is", "keyof", "of", "readonly", "require",
		"unique", "infer", "global"}, name)
}

// scriptWriter implements declarations.
type scriptWriter struct {
	typeNames
	b strings.Builder
}

// doc writes comments.
func (w *scriptWriter) doc(indent string, texts ...string) {
	text := strings.ReplaceAll(paragraphs(texts...), "*/", "*\\/")
	switch {
	case text == "":
	case !strings.Contains(text, "\n"):
		fmt.Fprintf(&w.b, "%s/** %s */\n", indent, text)
	default:
		fmt.Fprintf(&w.b, "%s/**\n", indent)
		for line := range strings.SplitSeq(text, "\n") {
			w.b.WriteString(strings.TrimRight(indent+" * "+line, " ") + "\n")
		}
		fmt.Fprintf(&w.b, "%s */\n", indent)
	}
}

// member is the name of a field or a method.
func member(name string) string {
	if !naming.IsIdentifier(name) {
		return quote(name)
	}
	return name
}

func (w *scriptWriter) enum(e *schema.Enum) {
	w.b.WriteString("\n")
	w.doc("", e.Doc)
	fmt.Fprintf(&w.b, "export type %s = %s;\n", w.names[e.Name], cmp.Or(strings.Join(literals(e), " | "), w.never))
}

func (w *scriptWriter) message(m *schema.Message) {
	w.b.WriteString("\n")
	w.doc("", m.Doc)
	fmt.Fprintf(&w.b, "export interface %s {\n", w.names[m.Name])
	for _, f := range inJSON(m) {
		w.doc("  ", w.fieldRemarks(m, f)...)
		absent := ""
		if f.Omitted {
			absent = "?"
		}
		fmt.Fprintf(&w.b, "  %s%s: %s;\n", member(f.Name), absent, w.typ(f.Type, m.Stock()))
	}
	w.b.WriteString("}\n")
}

func (w *scriptWriter) service(s *schema.Service, name string) {
	w.b.WriteString("\n")
	w.doc("", s.Doc, "The service "+s.Name+".")
	fmt.Fprintf(&w.b, "export interface %s {\n", name)
	for _, m := range s.Methods {
		w.doc("  ", methodRemarks(m)...)
		request, reply := "request: "+w.typ(m.Request, false), "Promise<"+w.typ(m.Reply, false)+">"
		if m.Sends() {
			request = "requests: AsyncIterable<" + w.typ(m.Request, false) + ">"
		}
		if m.Receives() {
			reply = "AsyncIterable<" + w.typ(m.Reply, false) + ">"
		}
		name := member(m.Name)
		if name == "new" { // which would be a constructor
			name = quote(name)
		}
		fmt.Fprintf(&w.b, "  %s(%s): %s;\n", name, request, reply)
	}
	w.b.WriteString("}\n")
}
