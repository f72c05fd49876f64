// Package routes finds what the paths of gRPC's requests lead to.
package routes

import (
	"strings"

	"github.com/weftrpc/weft"
)

// PathKey is the key of the annotation that gives a method a second path.
const PathKey = "grpc.path"

// MethodOf is the name of the method that a path stands for.
func MethodOf(path string) string {
	service, method, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !ok {
		return path
	}
	return service + "." + method
}

// Route is what a path leads to. It does not change: calls refer to it.
type Route struct {
	Path   string           // as the client has it
	Name   string           // of the method
	Method *weft.DoorMethod // nil: there is none
	Kind   weft.Kind

	at uint64 // Services.Changes when it was looked up
}

// Place is where the goroutine that reads a connection keeps the route of a path.
type Place struct{ *Route }

// Source is where methods are looked up: a *weft.DoorConn.
type Source interface {
	Method(name string) *weft.DoorMethod
	Services() *weft.Services
}

// Routes finds the routes of a connection. It belongs to the goroutine that reads.
type Routes struct {
	Source Source

	names map[string]string // of methods that have an annotation, by its path
	at    uint64            // Services.Changes when names was made
}

// Find finds the route of a path.
func (r *Routes) Find(path string) *Place {
	to := &Route{Path: path, Name: MethodOf(path), at: r.Source.Services().Changes()}
	if to.Method = r.Source.Method(to.Name); to.Method == nil {
		if name, ok := r.annotated(path, to.at); ok {
			to.Name, to.Method = name, r.Source.Method(name)
		}
	}
	if to.Method != nil {
		to.Kind = to.Method.Kind()
	}
	return &Place{to}
}

// annotated finds a method by its annotation, among those of the services that have changed so often.
func (r *Routes) annotated(path string, changes uint64) (name string, ok bool) {
	if r.names == nil || r.at != changes {
		r.names, r.at = make(map[string]string), changes
		for _, service := range r.Source.Services().Describe() {
			for _, m := range service.Methods {
				if p := m.Annotations[PathKey]; p != "" {
					r.names[p] = m.Name
				}
			}
		}
	}
	name, ok = r.names[path]
	return name, ok
}

// Renew looks a path up again where its method was removed, or where there was none and may be one now.
func (r *Routes) Renew(p *Place) {
	if p.Method != nil && !p.Method.Stale() || p.Method == nil && p.at == r.Source.Services().Changes() {
		return
	}
	// What is not found stays as it is: the place may be that of all connections.
	if found := r.Find(p.Path); found.Method != nil || p.Method != nil {
		p.Route = found.Route
	}
}
