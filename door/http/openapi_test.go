package http_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/schema"
)

// described is what the test reads of a document.
type described struct {
	OpenAPI string
	Info    schema.Info
	Paths   map[string]map[string]struct {
		OperationID string
		Summary     string
		Parameters  []struct {
			Name, In string
			Required bool
			Schema   *value
		}
		RequestBody *struct {
			Content map[string]struct{ Schema *value }
		}
	}
	Components struct{ Schemas map[string]*value }
}

// value is a schema as the test reads it.
type value struct {
	Ref        string `json:"$ref"`
	Type       any
	Format     string
	Items      *value
	Properties map[string]*value
	AnyOf      []*value
}

// sample is JSON of a schema.
func (d *described) sample(s *value, depth int) string {
	if s.Ref != "" {
		s = d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	if len(s.AnyOf) > 0 {
		return d.sample(s.AnyOf[0], depth)
	}
	kind := s.Type
	if list, ok := kind.([]any); ok {
		kind = list[0]
	}
	switch kind {
	case "object":
		var fields []string
		for name, p := range s.Properties {
			if depth < 4 {
				fields = append(fields, fmt.Sprintf("%q:%s", name, d.sample(p, depth+1)))
			}
		}
		return "{" + strings.Join(fields, ",") + "}"
	case "array":
		return "[" + d.sample(s.Items, depth+1) + "]"
	case "integer", "number":
		return "1"
	case "boolean":
		return "true"
	case "string":
		switch s.Format {
		case "date-time":
			return `"2026-01-02T03:04:05Z"`
		case "int64", "uint64":
			return `"1"`
		}
		return `"YQ=="`
	}
	return "null"
}

// TestDescription calls every operation of the document with values of its schemas.
func TestDescription(t *testing.T) {
	r := start(t, &http.Config{OpenAPI: &schema.Info{Title: "Users", Version: "1.2"}}, nil)
	answer, body := r.do("GET", "/openapi.json", "")
	var d described
	must(t, json.Unmarshal([]byte(body), &d))
	if answer.Header.Get("Content-Type") != "application/json" || d.OpenAPI != "3.1.0" || d.Info.Title != "Users" {
		t.Errorf("%v %s %v", answer.Header, d.OpenAPI, d.Info)
	}
	if again, _ := r.do("GET", "/openapi.json", "", "If-None-Match", answer.Header.Get("ETag")); again.StatusCode != 304 {
		t.Errorf("the same document: %s", again.Status)
	}
	if op := d.Paths["/Users/Get"]["get"]; op.Summary != "Get returns a user." || !slices.ContainsFunc(op.Parameters, func(p struct {
		Name, In string
		Required bool
		Schema   *value
	}) bool {
		return p.Name == "address.city" && p.In == "query"
	}) {
		t.Errorf("%+v", op)
	}
	for _, want := range []string{"post /Users/Get", "get /users/{id}", "get /keys/{name}", "put /users/{id}", "post /users/{id}:rename", "patch /users/{id}/address", "get /count/{id}"} {
		verb, path, _ := strings.Cut(want, " ")
		if d.Paths[path][verb].OperationID == "" {
			t.Errorf("there is no %s", want)
		}
	}
	ids := make(map[string]bool)
	for path, verbs := range d.Paths {
		for verb, op := range verbs {
			if ids[op.OperationID] {
				t.Errorf("two operations are called %s", op.OperationID)
			}
			ids[op.OperationID] = true
			if op.OperationID == "Users.Fail" || strings.HasPrefix(op.OperationID, "Stream.Echo") {
				continue
			}
			query := url.Values{}
			to := path
			for _, p := range op.Parameters {
				text := strings.Trim(d.sample(p.Schema, 0), `"[]`)
				if p.In == "path" {
					to = strings.ReplaceAll(to, "{"+p.Name+"}", url.PathEscape(text))
				} else if p.Schema.Type != nil {
					query.Set(p.Name, text)
				}
			}
			if len(query) > 0 {
				to += "?" + query.Encode()
			}
			content, kind := "", ""
			if op.RequestBody != nil {
				for k, c := range op.RequestBody.Content {
					if kind == "" || k != "application/json" {
						kind, content = k, d.sample(c.Schema, 0)
					}
				}
			}
			headers := []string{"Content-Type", kind}
			if answer, body := r.do(strings.ToUpper(verb), to, content, headers...); answer.StatusCode != 200 {
				t.Errorf("%s %s %s: %s %s", verb, to, content, answer.Status, body)
			}
		}
	}
	must(t, r.srv.Unregister("Old"))
	must(t, r.srv.Unregister("Users"))
	must(t, weft.Handle(r.srv, "New.Wait", waitForEnd, weft.Doc(strings.Repeat("<script>alert(1)</script>\n", 3))))
	if _, body := r.do("GET", "/openapi.json", ""); strings.Contains(body, "/Users/Get") || !strings.Contains(body, "/New/Wait") || strings.Contains(body, "<script>") {
		t.Errorf("after changes:\n%s", body)
	}
}

// TestLostAddresses: an address that two methods have is described for the one that is called by it.
func TestLostAddresses(t *testing.T) {
	r := start(t, &http.Config{OpenAPI: &schema.Info{}}, nil)
	called := func(name string) func(context.Context, *User) (*User, error) {
		return func(context.Context, *User) (*User, error) { return &User{Name: name}, nil }
	}
	must(t, errors.Join(
		weft.Handle(r.srv, "A.First", called("A.First"), http.Get("/both/{id}"), http.Post("/B/Second"), http.Get("/twice/{id}"), http.Get("/twice/{name}")),
		weft.Handle(r.srv, "B.Second", called("B.Second"), weft.Idempotent(), http.Get("/both/{name}"), http.Get("/second/{id}")),
		weft.Handle(r.srv, "C.Third", called("C.Third"), http.Get("/B/{name}")),
	))
	_, body := r.do("GET", "/openapi.json", "")
	var d described
	must(t, json.Unmarshal([]byte(body), &d))
	for at, want := range map[string]string{
		"get /both/{id}": "A.First", "get /both/{name}": "", "post /B/Second": "A.First", "get /B/Second": "", "get /B/{name}": "C.Third",
		"get /second/{id}": "B.Second", "get /twice/{id}": "A.First", "get /twice/{name}": "",
	} {
		verb, path, _ := strings.Cut(at, " ")
		got := d.Paths[path][verb].OperationID
		if got != "" {
			got = strings.Join(strings.Split(got, ".")[:2], ".")
		}
		if got != want {
			t.Errorf("%s is described for %q, want %q", at, got, want)
		}
		if want == "" {
			continue
		}
		_, body := r.do(strings.ToUpper(verb), strings.NewReplacer("{id}", "1", "{name}", "x").Replace(path), "{}")
		if !strings.Contains(body, want) {
			t.Errorf("%s calls %s, want %s", at, body, want)
		}
	}
}

// TestPage asks for the page that shows the description.
func TestPage(t *testing.T) {
	r := start(t, &http.Config{OpenAPI: &schema.Info{}}, nil)
	for path, kind := range map[string]string{"/docs": "text/html; charset=utf-8", "/docs/page.js": "text/javascript; charset=utf-8", "/docs/page.css": "text/css; charset=utf-8"} {
		answer, body := r.do("GET", path, "")
		if answer.StatusCode != 200 || answer.Header.Get("Content-Type") != kind || len(body) < 500 || !strings.Contains(answer.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %s %v, %d bytes", path, answer.Status, answer.Header, len(body))
		}
	}
	closed := start(t, nil, nil)
	for _, path := range []string{"/docs", "/openapi.json"} {
		if answer, _ := closed.do("GET", path, ""); answer.StatusCode != 404 {
			t.Errorf("%s is served unasked: %s", path, answer.Status)
		}
	}
}

// traced has the methods of a generated message, which know nothing of its own field.
type traced struct {
	*wrapperspb.StringValue
	Trace string `json:"trace"`
}

// TestDescriptionOfEmbeddedMessage: a struct that embeds a generated message has all its fields in the document, as it has in JSON.
func TestDescriptionOfEmbeddedMessage(t *testing.T) {
	r := start(t, &http.Config{OpenAPI: &schema.Info{Title: "Users", Version: "1"}}, nil)
	must(t, weft.Handle(r.srv, "Echo.Traced", func(_ context.Context, req *traced) (*traced, error) { return req, nil }))
	var d described
	_, body := r.do("GET", "/openapi.json", "")
	must(t, json.Unmarshal([]byte(body), &d))
	request := d.Paths["/Echo/Traced"]["post"].RequestBody.Content["application/json"].Schema
	fields := d.Components.Schemas[strings.TrimPrefix(request.Ref, "#/components/schemas/")]
	if fields == nil || len(fields.Properties) != 2 || fields.Properties["value"] == nil || fields.Properties["trace"] == nil {
		t.Errorf("the request is described as %+v of %+v", fields, request)
	}
	const sent = `{"value":"x","trace":"t"}`
	if answer, got := r.do("POST", "/Echo/Traced", sent); answer.StatusCode != 200 || strings.TrimSpace(got) != sent {
		t.Errorf("%s: %s", answer.Status, got)
	}
}
