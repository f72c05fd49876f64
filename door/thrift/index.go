package thrift

import (
	"bytes"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/thrift/internal/plan"
)

// index is what the methods of a server are called in Thrift.
type index struct {
	of      *weft.Services
	changes uint64
	names   map[string]*entry // as messages have them; nil: several methods
}

// entry is a method.
type entry struct {
	name   string // "Service.Method"
	bare   string // without the service, as replies have it
	oneway bool
	single bool
	route  atomic.Pointer[route] // what all connections use; nil: it was not needed yet
}

// indexOf returns the index of services as they are now.
func (d *door) indexOf(s *weft.Services) *index {
	changes := s.Changes()
	if x := d.index.Load(); x != nil && x.of == s && x.changes == changes {
		return x
	}
	x := &index{of: s, changes: changes, names: make(map[string]*entry)}
	for _, service := range s.Describe() {
		for _, m := range service.Methods {
			if m.Kind != weft.Unary {
				continue
			}
			_, single := m.Annotations[singleKey]
			for _, name := range append([]string{m.Name}, m.Aliases...) {
				e := &entry{name: name, oneway: m.Annotations[onewayKey] != "", single: single}
				x.add(e, m.Annotations[nameKey], d.cfg.Service)
			}
		}
	}
	d.index.Store(x)
	return x
}

// add enters a method under its names.
func (x *index) add(e *entry, named, preferred string) {
	service, method := split(e.name)
	names := []string{method, lower(method), plan.Safe(method)}
	if named != "" {
		names = append(names, named)
	}
	short := service[strings.LastIndexByte(service, '.')+1:]
	for _, name := range names {
		e := &entry{name: e.name, bare: name, oneway: e.oneway, single: e.single}
		x.names[service+":"+name] = e
		x.names[service+"."+name] = e
		x.enter(short+":"+name, e, short == service)
		if preferred == "" || preferred == service {
			x.enter(name, e, preferred == service)
		}
	}
}

// enter enters a method under a name that others may have, unless it is sure.
func (x *index) enter(name string, e *entry, sure bool) {
	if known, ok := x.names[name]; ok && !sure && (known == nil || known.name != e.name) {
		e = nil
	}
	x.names[name] = e
}

// split divides the name of a method at its last dot.
func split(name string) (service, method string) {
	i := strings.LastIndexByte(name, '.')
	return name[:max(i, 0)], name[i+1:]
}

// lower is a name with a small first letter.
func lower(name string) string {
	r, n := utf8.DecodeRuneInString(name)
	return string(unicode.ToLower(r)) + name[n:]
}

// route is what the name in a message leads to.
type route struct {
	plan.Method
	bare   string           // the name in replies
	found  *weft.DoorMethod // nil: there is none
	oneway bool
}

// resolve finds the method of a name. It is for the goroutine that reads.
func (s *serverConn) resolve(name []byte) *route {
	if s.index == nil || s.index.changes != s.Services().Changes() {
		s.index = s.door.indexOf(s.Services())
	}
	e := s.index.names[string(name)]
	if e != nil {
		if r := e.route.Load(); r != nil && !r.found.Stale() {
			return r
		}
	}
	r := &route{Method: plan.Method{Set: &s.door.plans}}
	if e == nil {
		_, bare, ok := bytes.Cut(name, []byte(":"))
		if !ok {
			bare = name
		}
		r.Name, r.bare = strings.Replace(string(name), ":", ".", 1), string(bare)
		r.found = s.Method(r.Name)
		return r
	}
	r.Name, r.bare, r.oneway, r.Single = e.name, e.bare, e.oneway, e.single
	if r.found = s.Method(e.name); r.found != nil {
		e.route.Store(r)
	}
	return r
}
