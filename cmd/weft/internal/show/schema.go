package show

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// document is a JSON Schema, with the definitions that it refers to.
type document struct {
	node
	Defs map[string]*node `json:"$defs"`
}

// node is a part of a JSON Schema. The type is a name, or a list of names of which one is "null".
type node struct {
	Ref         string     `json:"$ref"`
	Type        any        `json:"type"`
	Format      string     `json:"format"`
	Encoding    string     `json:"contentEncoding"`
	Description string     `json:"description"`
	Enum        []string   `json:"enum"`
	Items       *node      `json:"items"`
	Properties  properties `json:"properties"`
	Minimum     *float64   `json:"minimum"`
	Values      *node      `json:"additionalProperties"`
	AnyOf       []*node    `json:"anyOf"`
}

const definitions = "#/$defs/"

func parseSchema(text string) (*document, error) {
	d := new(document)
	if text == "" {
		return d, nil // of any value
	}
	if err := json.Unmarshal([]byte(text), d); err != nil {
		return nil, fmt.Errorf("the server sent a schema that cannot be read: %w", err)
	}
	return d, nil
}

// kind is the type of a value, without "null".
func (n *node) kind() (kind string, nullable bool) {
	switch t := n.Type.(type) {
	case string:
		return t, false
	case []any:
		for _, one := range t {
			if one == "null" {
				nullable = true
			} else if name, ok := one.(string); ok {
				kind = name
			}
		}
	}
	return kind, nullable
}

// quoted reports whether a value is a number in quotes, as JSON of Protocol Buffers has those of 64 bits.
func (n *node) quoted() bool {
	kind, _ := n.kind()
	return kind == "string" && (n.Format == "int64" || n.Format == "uint64")
}

// only is the one alternative that is not null, of a node with alternatives.
func (n *node) only() *node {
	var found *node
	for _, one := range n.AnyOf {
		if kind, _ := one.kind(); kind != "null" {
			found = one
		}
	}
	return found
}

func (d *document) goType() string { return d.typeOf(&d.node) }

// typeOf is the type in Go of a node.
func (d *document) typeOf(n *node) string {
	if one := n.only(); one != nil {
		return "*" + d.typeOf(one)
	}
	if name, ok := strings.CutPrefix(n.Ref, definitions); ok {
		return goName(name[strings.LastIndexByte(name, '.')+1:])
	}
	kind, _ := n.kind()
	switch kind {
	case "boolean":
		return "bool"
	case "integer":
		switch {
		case n.Format == "int32":
			return "int32"
		case n.Format == "" && n.Minimum != nil && *n.Minimum == 0:
			return "uint64"
		}
		return "int64"
	case "number":
		if n.Format == "float" {
			return "float32"
		}
		return "float64"
	case "string":
		switch {
		case n.quoted():
			return n.Format
		case n.Encoding == "base64":
			return "[]byte"
		case n.Format == "date-time":
			return "time.Time"
		}
		return "string"
	case "array":
		if n.Items == nil {
			return "[]any"
		}
		return "[]" + d.typeOf(n.Items)
	case "object":
		if n.Values != nil {
			return "map[string]" + d.typeOf(n.Values)
		}
		if len(n.Properties.names) > 0 {
			return d.structOf(n, "")
		}
		return "struct{}"
	}
	return "any"
}

// structOf is a struct, with a line for each field.
func (d *document) structOf(n *node, indent string) string {
	var b strings.Builder
	b.WriteString("struct {\n")
	for _, name := range n.Properties.names {
		f := n.Properties.nodes[name]
		tag := name
		if f.quoted() {
			tag += ",string"
		}
		fmt.Fprintf(&b, "%s\t%s %s `json:%q`", indent, goName(name), d.typeOf(f), tag)
		doc := f.Description
		if len(f.Enum) > 0 {
			doc = strings.TrimSpace(doc + " one of " + strings.Join(f.Enum, ", "))
		}
		if doc != "" {
			b.WriteString(" // " + strings.ReplaceAll(doc, "\n", " "))
		}
		b.WriteString("\n")
	}
	b.WriteString(indent + "}")
	return b.String()
}

// goStructs writes the definitions that were not written yet.
func (d *document) goStructs(b *strings.Builder, written map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(d.Defs)) {
		if n := d.Defs[name]; !written[name] {
			written[name] = true
			own := goName(name[strings.LastIndexByte(name, '.')+1:])
			if len(n.Properties.names) > 0 {
				fmt.Fprintf(b, "\n  type %s %s\n", own, d.structOf(n, "  "))
			} else {
				fmt.Fprintf(b, "\n  type %s %s\n", own, d.typeOf(n))
			}
		}
	}
}

// goName is the name of an exported field for a name in JSON.
func goName(name string) string {
	var b strings.Builder
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		first, size := utf8.DecodeRuneInString(part)
		b.WriteRune(unicode.ToUpper(first))
		b.WriteString(part[size:])
	}
	return b.String()
}

// maxDepth ends the template of a type that contains itself.
const maxDepth = 4

// sample is a value of the schema, to be filled in.
func (d *document) sample() any { return d.sampleOf(&d.node, 0) }

func (d *document) sampleOf(n *node, depth int) any {
	if one := n.only(); one != nil {
		n = one
	}
	if name, ok := strings.CutPrefix(n.Ref, definitions); ok {
		if depth >= maxDepth || d.Defs[name] == nil {
			return nil
		}
		return d.sampleOf(d.Defs[name], depth+1)
	}
	kind, _ := n.kind()
	switch kind {
	case "boolean":
		return false
	case "integer", "number":
		return 0
	case "string":
		switch {
		case len(n.Enum) > 0:
			return n.Enum[0]
		case n.Format == "date-time":
			return "2006-01-02T15:04:05Z"
		case n.quoted():
			return "0"
		}
		return ""
	case "array":
		if one := n.Items; one != nil && depth < maxDepth {
			return []any{d.sampleOf(one, depth+1)}
		}
		return []any{}
	case "object":
		value := new(template)
		for _, name := range n.Properties.names {
			value.add(name, d.sampleOf(n.Properties.nodes[name], depth))
		}
		if n.Values != nil && depth < maxDepth {
			value.add("key", d.sampleOf(n.Values, depth+1))
		}
		return value
	}
	return nil
}
