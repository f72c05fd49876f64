// Package export writes a model of package schema in other languages: as .proto files, as JSON Schema and OpenAPI, as
// types of TypeScript and Python. The same model gives the same text.
//
// JSON Schema, OpenAPI, TypeScript and Python describe the JSON of messages, as the doors for HTTP and JSON-RPC and the
// codec json have it; .proto files describe their form in Protocol Buffers, as the codec protobuf and the door for gRPC
// have it.
package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weftrpc/weft/schema"
)

// Format is a form in which a model can be written.
type Format string

// The formats.
const (
	JSON       Format = "json" // the model itself, for schema.Decode
	Proto      Format = "proto"
	JSONSchema Format = "jsonschema"
	OpenAPI    Format = "openapi"
	TypeScript Format = "typescript"
	Python     Format = "python"
)

// Formats lists the formats.
func Formats() []Format {
	return []Format{Proto, JSONSchema, OpenAPI, TypeScript, Python, JSON}
}

// File is a file that was written.
type File struct {
	Name    string // with slashes; of a single file it is only a proposal
	Content []byte
}

// Result is a model in one of the formats.
type Result struct {
	Files []File
	// LeftOut says, one a line, which methods, messages and fields the format cannot express, and why.
	LeftOut []string
}

// Write writes a model in a format. info is for OpenAPI.
func Write(m *schema.Model, format Format, info schema.Info) (*Result, error) {
	switch format {
	case JSON:
		text, err := m.Encode()
		return &Result{Files: []File{{"schema.json", text}}}, err
	case Proto:
		return writeProto(m)
	case JSONSchema:
		return document(m, "jsonschema.json", jsonSchema(m))
	case OpenAPI:
		return document(m, "openapi.json", openAPI(m, info))
	case TypeScript:
		return typeScript(m), nil
	case Python:
		return python(m), nil
	}
	var names []string
	for _, f := range Formats() {
		names = append(names, string(f))
	}
	return nil, fmt.Errorf("export: there is no format %q, only %s", format, strings.Join(names, ", "))
}

// document is an export of JSON.
func document(m *schema.Model, name string, value any) (*Result, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, errors.Join(errors.New("export: the document cannot be encoded"), err)
	}
	return &Result{Files: []File{{name, append(text, '\n')}}, LeftOut: withoutJSON(m)}, nil
}

// withoutJSON lists the messages and fields that JSON cannot have.
func withoutJSON(m *schema.Model) []string {
	var all []string
	for _, one := range m.Messages {
		if one.NoJSON != "" {
			all = append(all, fmt.Sprintf("%s: JSON refuses it: %s", one.Name, one.NoJSON))
		}
		for _, f := range one.Fields {
			f.Type.Each(func(t *schema.Type) {
				if t.JSON == schema.JSONNone && f.Name != "" {
					all = append(all, fmt.Sprintf("%s.%s: the keys of its map are neither strings nor integers, so that it has no form in JSON", one.Name, f.Label()))
				}
			})
		}
	}
	return all
}

// jsonSchema is a document whose definitions are the messages, and the request and the reply of each method under
// names such as "Arith.Mul.request".
func jsonSchema(m *schema.Model) any {
	set := m.Schemas("#/$defs/")
	defs := make(map[string]*schema.Schema)
	for _, s := range m.Services {
		for _, one := range s.Methods {
			name := s.Name + "." + one.Name
			defs[name+".request"] = described(set.Type(one.Request), "What a client sends to "+name+".")
			defs[name+".reply"] = described(set.Type(one.Reply), "What a client of "+name+" gets.")
		}
	}
	for name, s := range set.Definitions() {
		if defs[name] == nil {
			defs[name] = s
		}
	}
	return struct {
		Schema string                    `json:"$schema"`
		Defs   map[string]*schema.Schema `json:"$defs"`
	}{"https://json-schema.org/draft/2020-12/schema", defs}
}

// described is s with a description of its own.
func described(s *schema.Schema, text string) *schema.Schema {
	c := *s
	c.Description = text
	return &c
}
