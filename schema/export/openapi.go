package export

import (
	"strings"

	"github.com/weftrpc/weft/schema"
)

// components is where a document has the definitions.
const components = "#/components/schemas/"

// openAPI is a document with the addresses that package door/http gives methods by themselves: /Service/Method.
func openAPI(m *schema.Model, info schema.Info) *schema.Document {
	doc := schema.NewDocument(info)
	set := m.Schemas(components)
	failure := "Problem"
	for m.Message(failure) != nil || m.Enum(failure) != nil {
		failure += "_"
	}
	problem := &schema.Schema{Ref: components + failure}
	for _, s := range m.Services {
		for _, one := range s.Methods {
			addOperation(doc, set, problem, s, one)
		}
	}
	doc.Components.Schemas = set.Definitions()
	doc.Components.Schemas[failure] = problemSchema()
	for i, t := range doc.Tags {
		for _, s := range m.Services {
			if s.Name == t.Name {
				doc.Tags[i].Description = s.Doc
			}
		}
	}
	doc.Components.SecuritySchemes = map[string]schema.SecurityScheme{"bearer": {Type: "http", Scheme: "bearer"}}
	doc.Security = []map[string][]string{{}, {"bearer": {}}}
	return doc
}

// addOperation adds that of a method.
func addOperation(doc *schema.Document, set *schema.Set, problem *schema.Schema, s *schema.Service, one *schema.Method) {
	const asJSON, asLines, asEvents = "application/json", "application/x-ndjson", "text/event-stream"
	summary, more, _ := strings.Cut(one.Doc, "\n")
	op := &schema.Operation{ID: s.Name + "." + one.Name, Tags: []string{s.Name}, Summary: summary, Description: strings.TrimSpace(more), Idempotent: one.Idempotent}
	if one.Kind != schema.Unary {
		op.Stream = one.Kind
	}
	reply := set.Type(one.Reply)
	content := map[string]schema.Content{asJSON: {Schema: reply}}
	if one.Receives() {
		message := &schema.Schema{Type: "object", Properties: map[string]*schema.Schema{"result": reply, "error": problem}}
		content = map[string]schema.Content{asLines: {Schema: message}, asEvents: {Schema: reply}}
	}
	op.Responses = map[string]*schema.Response{
		"200":     {Description: "the reply", Content: content},
		"default": {Description: "an error", Content: map[string]schema.Content{"application/problem+json": {Schema: problem}}},
	}
	request := set.Type(one.Request)
	kind := asJSON
	if one.Sends() {
		kind = asLines
	}
	op.RequestBody = &schema.Body{Content: map[string]schema.Content{kind: {Schema: request}}}
	doc.Add("post", "/"+s.Name+"/"+one.Name, op)
}

// problemSchema is the schema of an error, as package door/http sends it.
func problemSchema() *schema.Schema {
	type problem struct {
		Type    string `json:"type" doc:"always about:blank"`
		Title   string `json:"title" doc:"the code"`
		Status  int32  `json:"status" doc:"the HTTP status"`
		Detail  string `json:"detail" doc:"what went wrong, for people"`
		Code    string `json:"code" doc:"what kind of thing went wrong, such as NotFound"`
		Outcome string `json:"outcome" doc:"Refused if the method did not run, Executed if it did"`
		Reason  string `json:"reason" doc:"a constant for programs"`
		Details []any  `json:"details" doc:"typed values: objects with type, and value in base64"`
	}
	set := schema.NewSet(components)
	d := *set.Resolve(schema.For[problem](set))
	d.Description = "An error, as RFC 9457 has it."
	return &d
}
