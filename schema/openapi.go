package schema

import (
	"slices"
	"strings"
)

// Document is an OpenAPI 3.1 document; encoding/json encodes it.
type Document struct {
	OpenAPI    string                           `json:"openapi"`
	Info       Info                             `json:"info"`
	Servers    []ServerURL                      `json:"servers,omitempty"`
	Paths      map[string]map[string]*Operation `json:"paths"` // by path and verb in lower case
	Components Components                       `json:"components"`
	Security   []map[string][]string            `json:"security,omitempty"`
	Tags       []Tag                            `json:"tags,omitempty"`
}

// Info says what a document is about.
type Info struct {
	Title       string `json:"title"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
}

// ServerURL is where the paths of a document begin.
type ServerURL struct {
	URL string `json:"url"`
}

// Tag is a group of operations, such as a service.
type Tag struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Components are what the operations of a document refer to.
type Components struct {
	Schemas         map[string]*Schema        `json:"schemas,omitempty"`
	SecuritySchemes map[string]SecurityScheme `json:"securitySchemes,omitempty"`
}

// SecurityScheme is a way to authenticate.
type SecurityScheme struct {
	Type   string `json:"type"`
	Scheme string `json:"scheme,omitempty"`
	In     string `json:"in,omitempty"`
	Name   string `json:"name,omitempty"`
}

// Operation is one method at one verb and path.
type Operation struct {
	ID          string               `json:"operationId"`
	Tags        []string             `json:"tags,omitempty"`
	Summary     string               `json:"summary,omitempty"`
	Description string               `json:"description,omitempty"`
	Parameters  []Parameter          `json:"parameters,omitempty"`
	RequestBody *Body                `json:"requestBody,omitempty"`
	Responses   map[string]*Response `json:"responses"`
	Stream      string               `json:"x-weft-stream,omitempty"` // the kind of a streaming method
	Idempotent  bool                 `json:"x-weft-idempotent,omitempty"`
}

// Parameter is a part of a path or of a query, or a header.
type Parameter struct {
	Name        string  `json:"name"`
	In          string  `json:"in"` // "path", "query" or "header"
	Description string  `json:"description,omitempty"`
	Required    bool    `json:"required,omitempty"`
	Schema      *Schema `json:"schema"`
}

// Body is the body of a request.
type Body struct {
	Required bool               `json:"required,omitempty"`
	Content  map[string]Content `json:"content"` // by media type
}

// Response is an answer.
type Response struct {
	Description string             `json:"description"`
	Content     map[string]Content `json:"content,omitempty"` // by media type
}

// Content is a body in one media type.
type Content struct {
	Schema *Schema `json:"schema"`
}

// NewDocument returns a document without operations.
func NewDocument(info Info) *Document {
	if info.Title == "" {
		info.Title = "weft"
	}
	if info.Version == "" {
		info.Version = "0"
	}
	return &Document{OpenAPI: "3.1.0", Info: info, Paths: make(map[string]map[string]*Operation)}
}

// Add adds an operation. The first of two at one verb and path counts.
func (d *Document) Add(verb, path string, op *Operation) {
	verb = strings.ToLower(verb)
	if d.Paths[path] == nil {
		d.Paths[path] = make(map[string]*Operation)
	}
	if d.Paths[path][verb] != nil {
		return
	}
	d.Paths[path][verb] = op
	for _, name := range op.Tags {
		if !slices.ContainsFunc(d.Tags, func(t Tag) bool { return t.Name == name }) {
			d.Tags = append(d.Tags, Tag{Name: name})
		}
	}
}
