package http

import (
	"encoding/json"
	"maps"
	nethttp "net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http/internal/route"
	"github.com/weftrpc/weft/schema"
)

// describe makes the OpenAPI document of the methods.
func (t *table) describe(cfg *Config) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	doc := schema.NewDocument(*cfg.OpenAPI)
	failure := schema.For[Problem](t.set)
	for _, service := range t.services.Describe() {
		for _, info := range service.Methods {
			m := t.methods[info.Name]
			if m == nil {
				continue // it was registered just now
			}
			name := strings.TrimPrefix(info.Name, service.Name+".")
			own := cfg.Prefix + service.Name + "/" + name
			parts := partsOf((&url.URL{Path: own}).EscapedPath())
			op := t.operationLocked(m, service.Name, failure)
			for _, verb := range verbsOf(m) {
				if r, _ := t.routes.Find(verb, parts); r != nil || verb == nethttp.MethodHead { // r has the address
					continue
				}
				o := *op
				if verb != nethttp.MethodPost {
					o.ID += "." + strings.ToLower(verb)
				}
				t.requestLocked(&o, m, &route.Route{Verb: verb, Path: own})
				doc.Add(verb, own, &o)
			}
			routes := slices.Clone(m.routes)
			slices.SortFunc(routes, func(a, b *route.Route) int { return strings.Compare(a.Verb+a.Path, b.Verb+b.Path) })
			for i, r := range routes {
				o := *op
				o.ID += ".at" + strconv.Itoa(i+1)
				t.requestLocked(&o, m, r)
				_, path := r.Params()
				doc.Add(r.Verb, path, &o)
			}
		}
	}
	doc.Components.Schemas = t.set.Definitions()
	doc.Components.SecuritySchemes = map[string]schema.SecurityScheme{"bearer": {Type: "http", Scheme: "bearer"}}
	doc.Security = []map[string][]string{{}, {"bearer": {}}}
	return json.MarshalIndent(doc, "", " ")
}

// operationLocked is what all addresses of a method have in common.
func (t *table) operationLocked(m *target, service string, failure *schema.Schema) *schema.Operation {
	summary, more, _ := strings.Cut(strings.TrimSpace(m.Doc), "\n")
	op := &schema.Operation{ID: m.Name, Tags: []string{service}, Summary: summary, Description: strings.TrimSpace(more), Idempotent: m.Idempotent}
	if m.Kind != weft.Unary {
		op.Stream = m.Kind.String()
	}
	reply := t.contentLocked(m, t.set.Of(m.Reply))
	if m.Kind == weft.ServerStream || m.Kind == weft.BidiStream {
		message := &schema.Schema{Type: "object", Properties: map[string]*schema.Schema{"result": t.set.Of(m.Reply), "error": failure}}
		reply = map[string]schema.Content{typeNDJSON: {Schema: message}, typeSSE: {Schema: t.set.Of(m.Reply)}}
		addBytes(reply, m.bytesOut)
	}
	op.Responses = map[string]*schema.Response{
		"200":     {Description: "the reply", Content: reply},
		"default": {Description: "an error", Content: map[string]schema.Content{problemType: {Schema: failure}}},
	}
	return op
}

// contentLocked is a message in the media types that a document names.
func (t *table) contentLocked(m *target, s *schema.Schema) map[string]schema.Content {
	all := map[string]schema.Content{typeJSON: {Schema: s}}
	addBytes(all, s.ContentEncoding == "base64" && (m.Kind == weft.Unary || m.bytesOut)) // a method of HandleRaw takes bytes as they are
	return all
}

// addBytes adds bytes as they are to what messages can be.
func addBytes(all map[string]schema.Content, can bool) {
	if can {
		all[typeBytes] = schema.Content{Schema: &schema.Schema{}}
	}
}

// requestLocked adds the request at one address.
func (t *table) requestLocked(op *schema.Operation, m *target, r *route.Route) {
	request := t.set.Of(m.Request)
	known := paramsIn(t.set, request)
	in := make(map[string]bool)
	inPath, _ := r.Params()
	for _, s := range inPath {
		in[s.Field] = true
		p := known[s.Field]
		if p == nil || !s.Whole {
			p = &schema.Schema{Type: "string"}
		}
		op.Parameters = append(op.Parameters, schema.Parameter{Name: s.Name, In: "path", Required: true, Description: p.Description, Schema: plain(p)})
	}
	if part := t.set.Resolve(t.set.Of(m.Reply)).Properties[r.Reply]; part != nil && m.Kind == weft.Unary {
		op.Responses = maps.Clone(op.Responses)
		op.Responses["200"] = &schema.Response{Description: "the field " + r.Reply + " of the reply", Content: map[string]schema.Content{typeJSON: {Schema: part}}}
	}
	if !r.TakesBody() || r.Body != "" {
		for _, name := range slices.Sorted(maps.Keys(known)) {
			if !in[name] && (r.Body == "" || name != r.Body && !strings.HasPrefix(name, r.Body+".")) {
				p := known[name]
				op.Parameters = append(op.Parameters, schema.Parameter{Name: name, In: "query", Description: p.Description, Schema: plain(p)})
			}
		}
	}
	if !r.TakesBody() {
		return
	}
	body := request
	if r.Body != "" {
		if body = t.set.Resolve(request).Properties[r.Body]; body == nil {
			body = &schema.Schema{}
		}
	}
	content := t.contentLocked(m, body)
	if m.Kind == weft.ClientStream || m.Kind == weft.BidiStream {
		content = map[string]schema.Content{typeNDJSON: {Schema: body}}
		addBytes(content, m.bytesIn)
	}
	op.RequestBody = &schema.Body{Content: content}
}

// plain is the schema of a parameter, whose text is never null.
func plain(s *schema.Schema) *schema.Schema {
	c := *s
	c.Nullable, c.Description = false, ""
	return &c
}
