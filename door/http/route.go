package http

import (
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/weftrpc/weft"
)

// route is an address of a method.
type route struct {
	verb, path string
	segments   []segment
	suffix     string // a literal behind the last segment, with its colon
	body       string // the field for the body; "": all of the request
	t          *target
}

// segment is a part of a path between slashes.
type segment struct {
	text string // a literal, or the name of a field
	kind segmentKind
}

type segmentKind uint8

const (
	literal segmentKind = iota
	one                 // {name}
	rest                // {name...}
)

// takesBody reports whether requests of the route have a body.
func (r *route) takesBody() bool {
	return r.verb != nethttp.MethodGet && r.verb != nethttp.MethodDelete
}

// parseRoute reads a path with fields.
func parseRoute(verb, path string) (*route, error) {
	wrong := func(why string) error {
		return weft.Errorf(weft.InvalidArgument, "http: the path %q of a method %s", path, why)
	}
	if !strings.HasPrefix(path, "/") || path == "/" {
		return nil, wrong("must begin with a slash and name something")
	}
	r := &route{verb: verb, path: path}
	parts := strings.Split(path[1:], "/")
	last := len(parts) - 1
	if i := strings.LastIndexByte(parts[last], ':'); i > 0 {
		parts[last], r.suffix = parts[last][:i], parts[last][i:]
	}
	names := make(map[string]bool)
	for i, p := range parts {
		s := segment{text: p}
		if inner, ok := strings.CutPrefix(p, "{"); ok {
			if inner, ok = strings.CutSuffix(inner, "}"); !ok {
				return nil, wrong("has a { without its } in one segment")
			}
			s = segment{inner, one}
			if name, many := strings.CutSuffix(inner, "..."); many {
				if i != last || r.suffix != "" {
					return nil, wrong("goes on behind {" + inner + "}")
				}
				s = segment{name, rest}
			}
			if s.text == "" || names[s.text] {
				return nil, wrong("has a field without a name, or twice the same")
			}
			names[s.text] = true
		}
		if p == "" || s.kind == literal && strings.ContainsAny(p, "{}?#% ") || strings.ContainsAny(s.text, "{}") {
			return nil, wrong("has a segment that is empty or has one of {}?#%")
		}
		r.segments = append(r.segments, s)
	}
	return r, nil
}

// maxSegments is how many segments of a path are looked at.
const maxSegments = 64

// match returns the values of the fields if a path is that of the route.
func (r *route) match(parts []string) (vars map[string]string, ok bool) {
	n := len(r.segments)
	many := r.segments[n-1].kind == rest
	if len(parts) < n || len(parts) > n && !many {
		return nil, false
	}
	for i, s := range r.segments {
		p := parts[i]
		if i == n-1 && r.suffix != "" {
			if p, ok = strings.CutSuffix(p, r.suffix); !ok {
				return nil, false
			}
		}
		if s.kind == rest {
			p = strings.Join(parts[i:], "/")
		}
		text, err := url.PathUnescape(p)
		switch {
		case err != nil || text == "":
			return nil, false
		case s.kind == literal && s.text != text:
			return nil, false
		case s.kind != literal:
			if vars == nil {
				vars = make(map[string]string, n)
			}
			vars[s.text] = text
		}
	}
	return vars, true
}

// before orders routes: of two that match a path the one with the earlier literal is meant.
func before(a, b *route) int {
	for i := range min(len(a.segments), len(b.segments)) {
		x, y := a.segments[i], b.segments[i]
		if x.kind != y.kind {
			return int(x.kind) - int(y.kind)
		}
		if x.kind == literal && x.text != y.text {
			return strings.Compare(x.text, y.text)
		}
	}
	if n := len(b.segments) - len(a.segments); n != 0 {
		return n
	}
	return len(b.suffix) - len(a.suffix)
}

// router finds routes.
type router struct {
	by map[string][]*route // by verb and first segment; those that begin with a field have "" for it
}

func firstOf(r *route) string {
	if r.segments[0].kind != literal || len(r.segments) == 1 && r.suffix != "" {
		return ""
	}
	return r.segments[0].text
}

// newRouter makes a router, and returns the routes that have the same paths as one before.
func newRouter(all []*route) (router, []*route) {
	m := router{by: make(map[string][]*route)}
	for _, r := range all {
		key := r.verb + " " + firstOf(r)
		m.by[key] = append(m.by[key], r)
	}
	var double []*route
	for key, routes := range m.by {
		slices.SortStableFunc(routes, before)
		m.by[key] = slices.CompactFunc(routes, func(a, b *route) bool {
			same := len(a.segments) == len(b.segments) && a.suffix == b.suffix && before(a, b) == 0
			if same {
				double = append(double, b)
			}
			return same
		})
	}
	return m, double
}

// find returns the route of a path.
func (m *router) find(verb string, parts []string) (*route, map[string]string) {
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

// verbs are those by which a path can be asked for.
func (m *router) verbs(parts []string) []string {
	var all []string
	for _, verb := range []string{nethttp.MethodGet, nethttp.MethodPost, nethttp.MethodPut, nethttp.MethodPatch, nethttp.MethodDelete} {
		if r, _ := m.find(verb, parts); r != nil {
			all = append(all, verb)
		}
	}
	return all
}
