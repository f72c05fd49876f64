// Package route matches the paths of requests against paths with fields, such as /users/{id}.
package route

import (
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/weftrpc/weft"
)

// Route is an address of a method.
type Route struct {
	Verb, Path string
	Segments   []Segment
	Suffix     string // a literal behind the last segment, with its colon
	Body       string // the field for the body; "": all of the request
	To         any    // the method
}

// Segment is a part of a path between slashes.
type Segment struct {
	Text string // a literal, or the name of a field
	Kind Kind
}

// Kind is what a segment matches.
type Kind uint8

// The kinds of segments.
const (
	Literal Kind = iota
	One          // {name}
	Rest         // {name...}
)

// TakesBody reports whether requests of the route have a body.
func (r *Route) TakesBody() bool {
	return r.Verb != nethttp.MethodGet && r.Verb != nethttp.MethodDelete
}

// Parse reads a path with fields.
func Parse(verb, path string) (*Route, error) {
	wrong := func(why string) error {
		return weft.Errorf(weft.InvalidArgument, "http: the path %q of a method %s", path, why)
	}
	if !strings.HasPrefix(path, "/") || path == "/" {
		return nil, wrong("must begin with a slash and name something")
	}
	r := &Route{Verb: verb, Path: path}
	parts := strings.Split(path[1:], "/")
	last := len(parts) - 1
	if i := strings.LastIndexByte(parts[last], ':'); i > 0 {
		parts[last], r.Suffix = parts[last][:i], parts[last][i:]
	}
	names := make(map[string]bool)
	for i, p := range parts {
		s := Segment{Text: p}
		if inner, ok := strings.CutPrefix(p, "{"); ok {
			if inner, ok = strings.CutSuffix(inner, "}"); !ok {
				return nil, wrong("has a { without its } in one segment")
			}
			s = Segment{inner, One}
			if name, many := strings.CutSuffix(inner, "..."); many {
				if i != last || r.Suffix != "" {
					return nil, wrong("goes on behind {" + inner + "}")
				}
				s = Segment{name, Rest}
			}
			if s.Text == "" || names[s.Text] {
				return nil, wrong("has a field without a name, or twice the same")
			}
			names[s.Text] = true
		}
		if p == "" || s.Kind == Literal && strings.ContainsAny(p, "{}?#% ") || strings.ContainsAny(s.Text, "{}") {
			return nil, wrong("has a segment that is empty or has one of {}?#%")
		}
		r.Segments = append(r.Segments, s)
	}
	return r, nil
}

// maxSegments is how many segments of a path are looked at.
const maxSegments = 64

// match returns the values of the fields if a path is that of the route.
func (r *Route) match(parts []string) (vars map[string]string, ok bool) {
	n := len(r.Segments)
	many := r.Segments[n-1].Kind == Rest
	if len(parts) < n || len(parts) > n && !many {
		return nil, false
	}
	for i, s := range r.Segments {
		p := parts[i]
		if i == n-1 && r.Suffix != "" {
			if p, ok = strings.CutSuffix(p, r.Suffix); !ok {
				return nil, false
			}
		}
		if s.Kind == Rest {
			p = strings.Join(parts[i:], "/")
		}
		text, err := url.PathUnescape(p)
		switch {
		case err != nil || text == "":
			return nil, false
		case s.Kind == Literal && s.Text != text:
			return nil, false
		case s.Kind != Literal:
			if vars == nil {
				vars = make(map[string]string, n)
			}
			vars[s.Text] = text
		}
	}
	return vars, true
}

// before orders routes: of two that match a path the one with the earlier literal is meant.
func before(a, b *Route) int {
	for i := range min(len(a.Segments), len(b.Segments)) {
		x, y := a.Segments[i], b.Segments[i]
		if x.Kind != y.Kind {
			return int(x.Kind) - int(y.Kind)
		}
		if x.Kind == Literal && x.Text != y.Text {
			return strings.Compare(x.Text, y.Text)
		}
	}
	if n := len(b.Segments) - len(a.Segments); n != 0 {
		return n
	}
	return len(b.Suffix) - len(a.Suffix)
}

// Router finds routes.
type Router struct {
	by map[string][]*Route // by verb and first segment; those that begin with a field have "" for it
}

func firstOf(r *Route) string {
	if r.Segments[0].Kind != Literal || len(r.Segments) == 1 && r.Suffix != "" {
		return ""
	}
	return r.Segments[0].Text
}

// Double is a pair of routes that match the same paths.
type Double struct{ Kept, Lost *Route }

// New makes a router. Of routes that match the same paths it has the first one of all; the others
// are returned.
func New(all []*Route) (Router, []Double) {
	m := Router{by: make(map[string][]*Route)}
	for _, r := range all {
		key := r.Verb + " " + firstOf(r)
		m.by[key] = append(m.by[key], r)
	}
	var double []Double
	for key, routes := range m.by {
		slices.SortStableFunc(routes, before)
		kept := routes[:0]
		for _, r := range routes {
			if n := len(kept); n > 0 && same(kept[n-1], r) {
				double = append(double, Double{kept[n-1], r})
				continue
			}
			kept = append(kept, r)
		}
		m.by[key] = kept
	}
	return m, double
}

func same(a, b *Route) bool {
	return len(a.Segments) == len(b.Segments) && a.Suffix == b.Suffix && before(a, b) == 0
}

// Find returns the route of a path.
func (m *Router) Find(verb string, parts []string) (*Route, map[string]string) {
	if verb == nethttp.MethodHead {
		verb = nethttp.MethodGet
	}
	if len(parts) == 0 || len(parts) > maxSegments {
		return nil, nil
	}
	for _, first := range []string{parts[0], ""} {
		for _, r := range m.by[verb+" "+first] {
			if vars, ok := r.match(parts); ok {
				return r, vars
			}
		}
	}
	return nil, nil
}

// Verbs are those by which a path can be asked for.
func (m *Router) Verbs(parts []string) []string {
	var all []string
	for _, verb := range []string{nethttp.MethodGet, nethttp.MethodPost, nethttp.MethodPut, nethttp.MethodPatch, nethttp.MethodDelete} {
		if r, _ := m.Find(verb, parts); r != nil {
			all = append(all, verb)
		}
	}
	return all
}
