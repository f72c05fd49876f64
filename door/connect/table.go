package connect

import (
	"slices"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/grpc"
	"github.com/weftrpc/weft/door/internal/httpconn"
)

// table is what is known of the methods of a server at one time.
type table struct {
	changes uint64
	names   map[string]*method // by "Service.Method", aliases among them
	paths   map[string]*method // by the path below the prefix, which is that of a name or of the option grpc.Path
	forms   map[string]form    // by the Content-Type as most clients write it
}

// method is a method under one of its names.
type method struct {
	name  string
	info  *weft.MethodInfo // nil: there is no such method
	found httpconn.Method
}

// table returns what is known of the server's methods now.
func (x *connection) table() *table {
	services := x.Services()
	changes := services.Changes()
	known, _ := x.d.tables.Load(services)
	if t, ok := known.(*table); ok && t.changes == changes {
		return t
	}
	t := &table{changes: changes, names: make(map[string]*method), paths: make(map[string]*method), forms: x.forms()}
	for _, service := range services.Describe() {
		for _, info := range service.Methods {
			for _, name := range slices.Concat(info.Aliases, []string{info.Name}) {
				t.names[name] = &method{name: name, info: &info}
			}
			if p, ok := strings.CutPrefix(grpc.PathOf(info), "/"); ok {
				t.paths[p] = &method{name: info.Name, info: &info}
			}
		}
	}
	for p := range t.paths {
		if t.names[strings.Replace(p, "/", ".", 1)] != nil {
			delete(t.paths, p) // a name goes before an option
		}
	}
	for name, m := range t.names {
		dot := strings.LastIndexByte(name, '.')
		t.paths[name[:max(dot, 0)]+"/"+name[dot+1:]] = m
	}
	x.d.tables.Store(services, t)
	return t
}

// find finds the method of a path: its name, also if there is no such method, and "" if the path is
// none of a method.
func (t *table) find(path, prefix string) *method {
	rest, ok := strings.CutPrefix(path, prefix)
	if !ok {
		return new(method)
	}
	service, name, ok := strings.Cut(rest, "/")
	if !ok || service == "" || name == "" || strings.Contains(name, "/") {
		return new(method)
	}
	if m := t.paths[rest]; m != nil {
		return m
	}
	name = service + "." + name
	if m := t.names[name]; m != nil {
		return m
	}
	return &method{name: name}
}
