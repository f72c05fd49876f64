package http

import (
	"maps"
	"slices"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http/internal/route"
	"github.com/weftrpc/weft/schema"
)

// checkRoute finds the fields that a route names and the request of its method lacks.
func checkRoute(r *route.Route, m weft.MethodInfo) error {
	set := schema.NewSet(components)
	wrong := func(field, use string, names []string) error {
		if len(names) == 0 {
			names = []string{"none"}
		}
		return weft.Errorf(weft.InvalidArgument, "http: %s %s of method %s: the request %v has no field %q that can be %s; it has %s",
			r.Verb, r.Path, m.Name, m.Request, field, use, strings.Join(names, ", "))
	}
	known := paramsIn(set, set.Of(m.Request))
	for _, f := range r.Fields {
		if known[f.Name] == nil {
			return wrong(f.Name, "in a path", slices.Sorted(maps.Keys(known)))
		}
	}
	if reply := set.Resolve(set.Of(m.Reply)); r.Reply != "" && !hasField(reply, r.Reply) {
		return weft.Errorf(weft.InvalidArgument, "http: %s %s of method %s: the reply %v has no field %q that can be the answer", r.Verb, r.Path, m.Name, m.Reply, r.Reply)
	}
	if r.Body == "" {
		return nil
	}
	if request := set.Resolve(set.Of(m.Request)); !hasField(request, r.Body) {
		return wrong(r.Body, "the body", request.Order)
	}
	return nil
}

// hasField reports whether values of a schema can have a field. Those that encode themselves and
// those with keys of any name can.
func hasField(s *schema.Schema, name string) bool {
	switch {
	case s.Type == "", s.Type == "object" && s.AdditionalProperties != nil:
		return true
	case s.Type == "object":
		return s.Properties[name] != nil
	}
	return false
}

// paramsIn lists the fields of a request that can be given as text, by name.
func paramsIn(set *schema.Set, request *schema.Schema) map[string]*schema.Schema {
	all := make(map[string]*schema.Schema)
	addParams(set, all, "", request, 0)
	return all
}

func addParams(set *schema.Set, all map[string]*schema.Schema, prefix string, s *schema.Schema, depth int) {
	s = set.Resolve(s)
	if depth > maxNested || s.Type != "object" {
		return
	}
	for _, name := range s.Order {
		declared := s.Properties[name]
		p := set.Resolve(declared)
		switch {
		case p.Type == "object":
			addParams(set, all, prefix+name+".", p, depth+1)
		case p.Type == "array" && p.Items != nil:
			if item := set.Resolve(p.Items); item.Type != "object" && item.Type != "array" {
				all[prefix+name] = &schema.Schema{Type: "array", Items: item, Description: declared.Description}
			}
		default:
			all[prefix+name] = p
		}
	}
}
