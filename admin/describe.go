package admin

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/schema"
)

// DescribeRequest is the request of weft.Admin.Describe.
type DescribeRequest struct {
	Name      string `json:"name,omitempty" weft:"1" doc:"a service, or a method as Service.Method; empty: all"`
	NoSchemas bool   `json:"no_schemas,omitempty" weft:"2" doc:"leave the schemas out, for a short list"`
	Model     bool   `json:"model,omitempty" weft:"3" doc:"add the model of the services, for exports and comparisons"`
}

// Description says what a server is and what it serves.
type Description struct {
	Program  Program       `json:"program" weft:"1"`
	Phase    string        `json:"phase" weft:"2" doc:"starting, serving, shutting down or shut down"`
	Services []ServiceInfo `json:"services" weft:"3" doc:"by name"`
	Model    string        `json:"model,omitempty" weft:"4" doc:"the JSON form of a model of package schema, as text"`
}

// ServiceInfo describes a service.
type ServiceInfo struct {
	Name    string       `json:"name" weft:"1"`
	Methods []MethodInfo `json:"methods" weft:"2" doc:"by name"`
}

// MethodInfo describes a method.
type MethodInfo struct {
	Name          string            `json:"name" weft:"1" doc:"Service.Method"`
	Aliases       []string          `json:"aliases,omitempty" weft:"2" doc:"other names of it"`
	Kind          string            `json:"kind" weft:"3" doc:"unary, server stream, client stream or bidirectional stream"`
	Request       string            `json:"request" weft:"4" doc:"the type in Go of what the caller sends"`
	Reply         string            `json:"reply" weft:"5" doc:"the type in Go of what it gets"`
	RequestSchema string            `json:"request_schema,omitempty" weft:"6" doc:"a JSON Schema of the request, as text"`
	ReplySchema   string            `json:"reply_schema,omitempty" weft:"7" doc:"a JSON Schema of the reply, as text"`
	Doc           string            `json:"doc,omitempty" weft:"8"`
	Idempotent    bool              `json:"idempotent,omitempty" weft:"9"`
	Timeout       float64           `json:"timeout_seconds,omitempty" weft:"10" doc:"0: none but the caller's"`
	Annotations   map[string]string `json:"annotations,omitempty" weft:"11" doc:"values for doors and plugins"`
}

// describe answers Describe.
func (s *service) describe(_ context.Context, req *DescribeRequest) (*Description, error) {
	out := &Description{Program: program(), Phase: s.srv.Phase().String(), Services: []ServiceInfo{}}
	all := s.srv.Describe()
	for _, info := range all {
		if one, ok := serviceInfo(info, req); ok {
			out.Services = append(out.Services, one)
		}
	}
	if req.Name != "" && len(out.Services) == 0 {
		return nil, weft.Errorf(weft.NotFound, "there is no service or method %q here", req.Name)
	}
	if req.Model {
		text, err := modelOf(all, req.Name)
		if err != nil {
			return nil, weft.Errorf(weft.Internal, "%w", err)
		}
		out.Model = text
	}
	return out, nil
}

// modelOf is the JSON form of the model of services, or of the one service or method that is asked for.
func modelOf(all []weft.ServiceInfo, name string) (string, error) {
	b := schema.NewBuilder()
	for _, info := range all {
		for _, m := range info.Methods {
			if name != "" && name != info.Name && !named(m, name) {
				continue
			}
			local := strings.TrimPrefix(m.Name, info.Name+".")
			b.Add(info.Name, schema.Method{
				Name: local, Aliases: m.Aliases, Kind: m.Kind.String(), Doc: m.Doc, Idempotent: m.Idempotent,
				Request: b.Reflect(m.Request, info.Name+"_"+local+"_Request"), Reply: b.Reflect(m.Reply, info.Name+"_"+local+"_Reply"),
			})
		}
	}
	model, err := b.Model()
	if err != nil {
		return "", err
	}
	text, err := model.Encode()
	return string(text), err
}

// serviceInfo describes what a request asks for of a service. ok is false when that is nothing.
func serviceInfo(info weft.ServiceInfo, req *DescribeRequest) (out ServiceInfo, ok bool) {
	out.Name = info.Name
	for _, m := range info.Methods {
		if req.Name == "" || req.Name == info.Name || named(m, req.Name) {
			out.Methods = append(out.Methods, methodInfo(m, !req.NoSchemas))
		}
	}
	return out, len(out.Methods) > 0
}

// named tells whether a method, or the service of one of its aliases, has a name.
func named(m weft.MethodInfo, name string) bool {
	if m.Name == name {
		return true
	}
	for _, alias := range m.Aliases {
		if alias == name || alias[:strings.LastIndexByte(alias, '.')] == name {
			return true
		}
	}
	return false
}

func methodInfo(m weft.MethodInfo, schemas bool) MethodInfo {
	out := MethodInfo{
		Name: m.Name, Aliases: m.Aliases, Kind: m.Kind.String(), Request: m.Request.String(), Reply: m.Reply.String(),
		Doc: m.Doc, Idempotent: m.Idempotent, Timeout: m.Timeout.Seconds(), Annotations: m.Annotations,
	}
	if schemas {
		set := schema.NewSet(definitions)
		out.RequestSchema = document(set, set.Of(m.Request))
		set = schema.NewSet(definitions)
		out.ReplySchema = document(set, set.Of(m.Reply))
	}
	return out
}

// definitions is where a document has the schemas of named types.
const definitions = "#/$defs/"

// document is the text of a schema with what it refers to.
func document(set *schema.Set, s *schema.Schema) string {
	members := make(map[string]any)
	text, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(text, &members)
	}
	members["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	if defs := set.Definitions(); len(defs) > 0 {
		members["$defs"] = defs
	}
	if err == nil {
		text, err = json.Marshal(members)
	}
	if err != nil {
		return "" // a schema has no value that cannot be encoded
	}
	return string(text)
}
