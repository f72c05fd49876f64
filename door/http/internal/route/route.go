// Package route matches the paths of requests against paths with fields, such as /users/{id}.
package route

import (
	"errors"
	nethttp "net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weftrpc/weft"
)

// Route is an address of a method.
type Route struct {
	Verb, Path string
	Fields     []Field
	Suffix     string // a literal behind the last segment, with its colon
	Body       string // the field for the body; "": all of the request
	Reply      string // the field of the reply that is the answer in JSON; "": all of it
	To         any    // the method

	segments []segment
}

// Field is a field of the request in a path.
type Field struct {
	Name     string
	from, to int // the segments that are its value
}

// segment is a part of a path between slashes.
type segment struct {
	text string // of a literal
	kind kind
}

// kind is what a segment matches.
type kind uint8

// The kinds of segments.
const (
	literal kind = iota
	one          // {name}, or * in the pattern of a field
	rest         // {name...}, or ** in the pattern of a field
)

// TakesBody reports whether requests of the route have a body.
func (r *Route) TakesBody() bool {
	return r.Verb != nethttp.MethodGet && r.Verb != nethttp.MethodDelete
}

// Parse reads a path with fields: {name}, {name...}, and {name=pattern}, whose pattern is literals, * and **.
func Parse(verb, path string) (*Route, error) {
	wrong := func(why string) error {
		return weft.Errorf(weft.InvalidArgument, "http: the path %q of a method %s", path, why)
	}
	if !strings.HasPrefix(path, "/") || path == "/" {
		return nil, wrong("must begin with a slash and name something")
	}
	r := &Route{Verb: verb, Path: path}
	left := path[1:]
	if i := strings.LastIndexByte(left, ':'); i > 0 && i > strings.LastIndexAny(left, "/}") && left[i-1] != '/' {
		left, r.Suffix = left[:i], left[i:]
	}
	for more := true; more; {
		var p string
		if strings.HasPrefix(left, "{") {
			end := strings.IndexByte(left, '}')
			if end < 0 || end+1 < len(left) && left[end+1] != '/' {
				return nil, wrong("has a { without its } in one segment")
			}
			p, left = left[1:end], left[end+1:]
			left, more = strings.CutPrefix(left, "/")
			if err := r.field(p); err != nil {
				return nil, wrong(err.Error())
			}
		} else {
			p, left, more = strings.Cut(left, "/")
			r.segments = append(r.segments, segment{text: p})
		}
	}
	for i, s := range r.segments {
		if s.kind == literal && (s.text == "" || strings.ContainsAny(s.text, "{}?#% ")) {
			return nil, wrong("has a segment that is empty or has one of {}?#%")
		}
		if s.kind == rest && i < len(r.segments)-1 {
			return nil, wrong("goes on behind what stands for all that is left")
		}
	}
	return r, nil
}

// field appends what stands between braces.
func (r *Route) field(inner string) error {
	name, pattern, found := strings.Cut(inner, "=")
	if before, many := strings.CutSuffix(name, "..."); many && !found {
		name, pattern = before, "**"
	} else if !found {
		pattern = "*"
	}
	if name == "" || strings.ContainsAny(name, "{}/") || slices.ContainsFunc(r.Fields, func(f Field) bool { return f.Name == name }) {
		return errors.New("has a field without a name, or twice the same")
	}
	from, wild := len(r.segments), false
	for p := range strings.SplitSeq(pattern, "/") {
		s := segment{text: p}
		switch {
		case p == "*":
			s = segment{kind: one}
		case p == "**":
			s = segment{kind: rest}
		case strings.Contains(p, "*"):
			return errors.New("has a pattern with a * that is a part of a segment")
		}
		wild = wild || s.kind != literal
		r.segments = append(r.segments, s)
	}
	if !wild {
		return errors.New("has a pattern without *")
	}
	r.Fields = append(r.Fields, Field{name, from, len(r.segments)})
	return nil
}

// Param is a part of a path that a caller fills in.
type Param struct {
	Name  string // that of its field, or with a number behind it if the field has several
	Field string
	Whole bool // it is the value of the field, and one segment
}

// Params are the parts of the path that a caller fills in, and template is the path with their names.
func (r *Route) Params() (all []Param, template string) {
	parts := make([]string, len(r.segments))
	for i, s := range r.segments {
		parts[i] = s.text
	}
	for _, f := range r.Fields {
		var wild []int
		for i := f.from; i < f.to; i++ {
			if r.segments[i].kind != literal {
				wild = append(wild, i)
			}
		}
		for n, i := range wild {
			p := Param{f.Name, f.Name, f.to == f.from+1 && r.segments[i].kind == one}
			if len(wild) > 1 {
				p.Name += "." + strconv.Itoa(n+1)
			}
			parts[i] = "{" + p.Name + "}"
			all = append(all, p)
		}
	}
	return all, "/" + strings.Join(parts, "/") + r.Suffix
}

// maxSegments is how many segments of a path are looked at.
const maxSegments = 64

// match returns the values of the fields if a path is that of the route.
func (r *Route) match(parts []string) (vars map[string]string, ok bool) {
	n := len(r.segments)
	many := r.segments[n-1].kind == rest
	if len(parts) < n || len(parts) > n && !many {
		return nil, false
	}
	for i, s := range r.segments {
		if text, ok := r.text(parts, i); !ok || s.kind == literal && s.text != text {
			return nil, false
		}
	}
	if len(r.Fields) > 0 {
		vars = make(map[string]string, len(r.Fields))
	}
	for _, f := range r.Fields {
		value, _ := r.text(parts, f.from)
		for i := f.from + 1; i < f.to; i++ {
			text, _ := r.text(parts, i)
			value += "/" + text
		}
		vars[f.Name] = value
	}
	return vars, true
}

// text is what a path has for a segment, which is not empty.
func (r *Route) text(parts []string, i int) (text string, ok bool) {
	p := parts[i]
	if r.segments[i].kind == rest {
		p = strings.Join(parts[i:], "/")
	}
	if i == len(r.segments)-1 && r.Suffix != "" {
		if p, ok = strings.CutSuffix(p, r.Suffix); !ok {
			return "", false
		}
	}
	text, err := url.PathUnescape(p)
	return text, err == nil && text != ""
}

// before orders routes: of two that match a path the one with the earlier literal is meant.
func before(a, b *Route) int {
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
	return len(b.Suffix) - len(a.Suffix)
}

// Router finds routes.
type Router struct {
	by map[string][]*Route // by verb and first segment; those that begin with a field have "" for it
}

func firstOf(r *Route) string {
	if r.segments[0].kind != literal || len(r.segments) == 1 && r.Suffix != "" {
		return ""
	}
	return r.segments[0].text
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
	return len(a.segments) == len(b.segments) && a.Suffix == b.Suffix && before(a, b) == 0
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
