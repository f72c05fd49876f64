package connect

import (
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/grpc"
)

// table is what is known of the methods of a server at one time.
type table struct {
	changes uint64
	methods map[string]*weft.MethodInfo // by "Service.Method", aliases among them
	paths   map[string]*weft.MethodInfo // by the option grpc.Path
}

// table returns what is known of the server's methods now.
func (x *connection) table() *table {
	services := x.Services()
	changes := services.Changes()
	known, _ := x.d.tables.Load(services)
	if t, ok := known.(*table); ok && t.changes == changes {
		return t
	}
	t := &table{changes: changes, methods: make(map[string]*weft.MethodInfo), paths: make(map[string]*weft.MethodInfo)}
	for _, service := range services.Describe() {
		for _, info := range service.Methods {
			t.methods[info.Name] = &info
			for _, alias := range info.Aliases {
				t.methods[alias] = &info
			}
			if p := grpc.PathOf(info); p != "" {
				t.paths[p] = &info
			}
		}
	}
	x.d.tables.Store(services, t)
	return t
}

// find finds the method of a path: its name, also if there is no such method, and "" if the path is
// none of a method.
func (t *table) find(path, prefix string) (name string, info *weft.MethodInfo) {
	rest, ok := strings.CutPrefix(path, prefix)
	if !ok {
		return "", nil
	}
	service, method, ok := strings.Cut(rest, "/")
	if !ok || service == "" || method == "" || strings.Contains(method, "/") {
		return "", nil
	}
	name = service + "." + method
	if info = t.methods[name]; info == nil {
		if info = t.paths["/"+rest]; info != nil {
			name = info.Name
		}
	}
	return name, info
}
