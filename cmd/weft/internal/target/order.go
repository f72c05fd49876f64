package target

import (
	"encoding/json"
	"strings"

	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/schema"
)

// order puts the fields in the schemas of services into the order of their declaration, which a JSON Schema of weft
// does not have and the model has. Schemas without a model stay as they are.
func order(services []admin.ServiceInfo, model string) {
	m, err := schema.Decode([]byte(model))
	if model == "" || err != nil {
		return
	}
	fields := make(map[string][]string)
	for _, message := range m.Messages {
		for _, f := range message.Fields {
			if f.Name != "" {
				fields[message.Name] = append(fields[message.Name], f.Name)
			}
		}
	}
	for _, s := range services {
		for n := range s.Methods {
			one := &s.Methods[n]
			one.RequestSchema, one.ReplySchema = inOrder(one.RequestSchema, fields), inOrder(one.ReplySchema, fields)
		}
	}
}

// inOrder orders the fields of the definitions of a schema.
func inOrder(text string, fields map[string][]string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var document map[string]any
	if d.Decode(&document) != nil {
		return text
	}
	defs, _ := document["$defs"].(map[string]any)
	for name, def := range defs {
		object, _ := def.(map[string]any)
		properties, ok := object["properties"].(map[string]any)
		if !ok || len(fields[name]) != len(properties) {
			continue
		}
		list := new(fieldList)
		for _, field := range fields[name] {
			if s, known := properties[field].(map[string]any); known {
				*list = append(*list, schemaField{field, s})
			}
		}
		if len(*list) == len(properties) {
			object["properties"] = list
		}
	}
	ordered, err := json.Marshal(document)
	if err != nil {
		return text
	}
	return string(ordered)
}
