package export

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrpc/weft/schema"
	"github.com/weftrpc/weft/schema/internal/naming"
)

// header is the first line of files that are written, behind the sign of a comment.
const header = "Written by weft schema. Do not edit."

// typeScript writes the messages as they are in JSON, and a type for each service, whose methods a client can have.
func typeScript(m *schema.Model) *Result {
	w := &scriptWriter{model: m}
	w.names = shortNames(m, func(name string) bool {
		return slices.Contains([]string{"any", "unknown", "never", "object", "string", "number", "boolean", "bigint", "symbol", "undefined", "null", "void",
			"Promise", "AsyncIterable", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do", "else", "enum",
			"export", "extends", "false", "finally", "for", "function", "if", "import", "in", "instanceof", "new", "return", "super", "switch", "this",
			"throw", "true", "try", "typeof", "var", "while", "with", "implements", "interface", "let", "package", "private", "protected", "public",
			"static", "yield", "await", "type", "declare", "namespace", "module", "abstract", "as", "async", "is", "keyof", "of", "readonly", "require",
			"unique", "infer", "global"}, name)
	})
	fmt.Fprintf(&w.b, "// %s\n", header)
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
		w.service(s, serviceName(s.Name, used))
	}
	return &Result{Files: []File{{"schema.ts", []byte(w.b.String())}}, LeftOut: withoutJSON(m)}
}

// serviceName is a name for a service that nothing else has.
func serviceName(full string, used map[string]bool) string {
	name := naming.Identifier(full[strings.LastIndexByte(full, '.')+1:])
	if used[name] {
		name += "Service"
	}
	if used[name] {
		name = naming.Identifier(full)
	}
	for used[name] {
		name += "_"
	}
	used[name] = true
	return name
}

type scriptWriter struct {
	b     strings.Builder
	model *schema.Model
	names map[string]string
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

// paragraphs joins the texts that are not empty.
func paragraphs(texts ...string) string {
	var all []string
	for _, text := range texts {
		if text = naming.Clean(text); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}

func (w *scriptWriter) enum(e *schema.Enum) {
	var values []string
	for _, v := range e.Values {
		values = append(values, quote(v.Name))
	}
	if len(values) == 0 {
		values = []string{"never"}
	}
	w.b.WriteString("\n")
	w.doc("", e.Doc)
	fmt.Fprintf(&w.b, "export type %s = %s;\n", w.names[e.Name], strings.Join(values, " | "))
}

func (w *scriptWriter) message(m *schema.Message) {
	w.b.WriteString("\n")
	w.doc("", m.Doc)
	fmt.Fprintf(&w.b, "export interface %s {\n", w.names[m.Name])
	for _, f := range m.Fields {
		if f.Name == "" {
			continue
		}
		oneof := ""
		if f.Oneof != "" {
			oneof = "At most one field of " + f.Oneof + " is set."
		}
		w.doc("  ", f.Doc, jsonRemark(f.Type, m.Stock()), oneof)
		name, absent := f.Name, ""
		if !naming.IsIdentifier(name) {
			name = quote(name)
		}
		if f.Omitted {
			absent = "?"
		}
		fmt.Fprintf(&w.b, "  %s%s: %s;\n", name, absent, w.typ(f.Type, m.Stock()))
	}
	w.b.WriteString("}\n")
}

// jsonRemark says what the type of a value in JSON does not.
func jsonRemark(t *schema.Type, stock bool) string {
	if t.JSON != "" {
		return ""
	}
	switch t.Kind {
	case schema.KindInt64, schema.KindUint64:
		if stock {
			return "64 bits, as text."
		}
		return "64 bits: exact up to 2^53 only."
	case schema.KindBytes:
		return "Base64."
	case schema.KindTime:
		return "A time, RFC 3339."
	case schema.KindDuration:
		return "A duration in nanoseconds."
	case schema.KindMessage:
		switch t.Name {
		case schema.Timestamp:
			return "A time, RFC 3339."
		case schema.Duration:
			return "A duration in seconds, such as 1.5s."
		}
	}
	return ""
}

// quote makes a literal, for TypeScript and Python.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		return `""` // a text can always be encoded
	}
	return string(b)
}

func (w *scriptWriter) service(s *schema.Service, name string) {
	w.b.WriteString("\n")
	w.doc("", s.Doc, "The service "+s.Name+".")
	fmt.Fprintf(&w.b, "export interface %s {\n", name)
	for _, m := range s.Methods {
		once := ""
		if m.Idempotent {
			once = "Idempotent: a call may be made again without another effect."
		}
		w.doc("  ", m.Doc, once)
		request, reply := "request: "+w.typ(m.Request, false), "Promise<"+w.typ(m.Reply, false)+">"
		if m.Sends() {
			request = "requests: AsyncIterable<" + w.typ(m.Request, false) + ">"
		}
		if m.Receives() {
			reply = "AsyncIterable<" + w.typ(m.Reply, false) + ">"
		}
		own := m.Name
		if !naming.IsIdentifier(own) {
			own = quote(own)
		}
		fmt.Fprintf(&w.b, "  %s(%s): %s;\n", own, request, reply)
	}
	w.b.WriteString("}\n")
}

// typ is the type of a value. stock says that it is within a message whose JSON is that of protojson.
func (w *scriptWriter) typ(t *schema.Type, stock bool) string {
	plain, nullable := w.plain(t, stock)
	if !stock && (t.Optional || nullable) && plain != "unknown" {
		return plain + " | null"
	}
	return plain
}

// plain is typ without null; nullable says that null is a value all the same.
func (w *scriptWriter) plain(t *schema.Type, stock bool) (plain string, nullable bool) {
	switch t.JSON {
	case schema.JSONText:
		return "string", false
	case schema.JSONAny, schema.JSONNone:
		return "unknown", false
	case schema.JSONNumber, schema.JSONInteger:
		return "number", false
	case schema.JSONBytes:
		return "string", true
	}
	switch t.Kind {
	case schema.KindBool:
		return "boolean", false
	case schema.KindInt64, schema.KindUint64:
		if stock {
			return "string", false
		}
		return "number", false
	case schema.KindString, schema.KindTime:
		return "string", false
	case schema.KindBytes:
		return "string", true
	case schema.KindDuration:
		return "number", false
	case schema.KindAny:
		return "unknown", false
	case schema.KindEnum:
		if t.Name == schema.NullValue {
			return "null", false
		}
		return w.names[t.Name], false
	case schema.KindMessage:
		if schema.WellKnown(t.Name) != nil {
			return knownScript(t.Name), false
		}
		return w.names[t.Name], false
	case schema.KindList, schema.KindArray:
		elem := w.typ(t.Elem, stock)
		if strings.Contains(elem, " ") {
			elem = "(" + elem + ")"
		}
		return elem + "[]", t.Kind == schema.KindList
	case schema.KindMap:
		return "{ [key: string]: " + w.typ(t.Elem, stock) + " }", true
	}
	return "number", false
}

// knownScript is the type of a message that protojson encodes in a form of its own.
func knownScript(name string) string {
	switch s := schema.WellKnown(name); s.Type {
	case "string":
		return orNull("string", s.Nullable)
	case "integer", "number":
		return orNull("number", s.Nullable)
	case "boolean":
		return orNull("boolean", s.Nullable)
	case "array":
		return "unknown[]"
	case "object":
		if s.AdditionalProperties == nil {
			return "{ [key: string]: never }"
		}
		return "{ [key: string]: unknown }"
	}
	return "unknown"
}

func orNull(name string, nullable bool) string {
	if nullable {
		return name + " | null"
	}
	return name
}
