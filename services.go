package weft

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/wire"
)

// Services is a set of services that one side of a connection offers to the
// other. A Server has one; a client that wants to be called gets one in its
// configuration. Methods can be added and removed at any time, from any goroutine.
type Services struct {
	mu      sync.RWMutex
	methods map[string]*method // by name, aliases among them
	onNew   []func(service string)
	changed func(service string) // it has its first name, or lost its last; nil: nobody asks
}

// Registrar is a *Server or a *Services: what handlers can be registered with.
type Registrar interface {
	registrar() *Services
}

// NewServices returns an empty set.
func NewServices() *Services { return &Services{methods: make(map[string]*method)} }

func (s *Services) registrar() *Services { return s }

// Kind says who sends how many messages in a call.
type Kind uint8

// The kinds of methods.
const (
	Unary        Kind = iota // one request, one reply
	ServerStream             // one request, many replies
	ClientStream             // many requests, one reply
	BidiStream               // many of both
)

// String is the name of the kind, for example "server stream".
func (k Kind) String() string {
	return [...]string{"unary", "server stream", "client stream", "bidirectional stream"}[k&3]
}

// method is one registered method.
type method struct {
	name    string // "Service.Method"
	kind    Kind
	in, out reflect.Type // of the messages, without the pointer

	newRequest func() any                                                 // a pointer to decode into
	call       func(ctx context.Context, req any) (any, error)            // unary
	raw        func(ctx context.Context, req, buf []byte) ([]byte, error) // unary, without a codec
	stream     func(ctx context.Context, end RawStream) error

	mu     sync.Mutex
	served []*session.Method // what hosts made of it
	gone   bool
}

// serve notes that a host serves the method, so that it can be told of its removal.
func (m *method) serve(s *session.Method) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		s.Remove()
		return
	}
	m.served = append(m.served, s)
}

// remove has all that was bound to the method look for it anew. It is found no
// more when it is gone, and under fewer names otherwise.
func (m *method) remove(gone bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone = m.gone || gone
	for _, s := range m.served {
		s.Remove()
	}
	m.served = nil
}

// serviceOf is the part of a method's name before the last dot.
func serviceOf(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i]
	}
	return ""
}

// checkName tells what is wrong with a method's name.
func checkName(name string) error {
	dot := strings.LastIndexByte(name, '.')
	switch {
	case wire.CheckMethod(name) != nil:
		return Errorf(InvalidArgument, "weft: name %q: %w", name, wire.CheckMethod(name))
	case dot <= 0 || dot == len(name)-1:
		return Errorf(InvalidArgument, "weft: method name %q is not of the form Service.Method", name)
	}
	return nil
}

// add registers methods, all or none.
func (s *Services) add(all ...*method) error {
	s.mu.Lock()
	if err := s.check(all); err != nil {
		s.mu.Unlock()
		return err
	}
	var fresh []string
	for _, m := range all {
		if service := serviceOf(m.name); !s.has(service) {
			fresh = append(fresh, service)
		}
		s.methods[m.name] = m
	}
	tell, changed := s.onNew, s.changed
	s.mu.Unlock()
	for _, service := range fresh {
		for _, f := range tell {
			f(service)
		}
		if changed != nil {
			changed(service)
		}
	}
	return nil
}

// names lists the services under which a method can be called, aliases among them.
func (s *Services) names() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []string
	for name := range s.methods {
		out = append(out, serviceOf(name))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// check tells what keeps methods from being added. It is called with the lock held.
func (s *Services) check(all []*method) error {
	names := make(map[string]bool, len(all))
	for _, m := range all {
		if err := checkName(m.name); err != nil {
			return err
		}
		if s.methods[m.name] != nil {
			return Errorf(AlreadyExists, "weft: method %s is registered already", m.name)
		}
		if names[m.name] {
			return Errorf(InvalidArgument, "weft: two methods are to be registered as %s", m.name)
		}
		names[m.name] = true
	}
	return nil
}

// has reports whether a service has a method. It is called with the lock held.
func (s *Services) has(service string) bool {
	for name := range s.methods {
		if serviceOf(name) == service {
			return true
		}
	}
	return false
}

// Alias makes a method callable by a second name as well. The error says that
// there is no such method or that the alias is taken.
func (s *Services) Alias(alias, name string) error {
	if err := checkName(alias); err != nil {
		return err
	}
	fresh, err := s.alias(alias, name)
	if err == nil && fresh && s.changed != nil {
		s.changed(serviceOf(alias))
	}
	return err
}

// alias reports whether the alias is the first name of its service.
func (s *Services) alias(alias, name string) (fresh bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.methods[name]
	if m == nil {
		return false, Errorf(NotFound, "weft: alias %s: there is no method %s", alias, name)
	}
	if s.methods[alias] != nil {
		return false, Errorf(AlreadyExists, "weft: alias %s: a method of that name is registered already", alias)
	}
	fresh = !s.has(serviceOf(alias))
	s.methods[alias] = m
	return fresh, nil
}

// Unregister removes all methods and aliases of one service. Calls that are
// running go on; later ones get Unimplemented. The error says that there is no
// such service.
func (s *Services) Unregister(service string) error {
	before := s.names()
	if err := s.unregister(service); err != nil {
		return err
	}
	if s.changed != nil {
		after := s.names()
		for _, gone := range before {
			if !slices.Contains(after, gone) {
				s.changed(gone)
			}
		}
	}
	return nil
}

func (s *Services) unregister(service string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := false
	for name, m := range s.methods {
		if serviceOf(name) != service {
			continue
		}
		found = true
		delete(s.methods, name)
		if m.name == name {
			for alias, other := range s.methods {
				if other == m {
					delete(s.methods, alias)
				}
			}
		}
		m.remove(m.name == name)
	}
	if !found {
		return Errorf(NotFound, "weft: unregister: there is no service %s", service)
	}
	return nil
}

// ServiceInfo describes a registered service.
type ServiceInfo struct {
	Name    string
	Methods []MethodInfo // by name
}

// MethodInfo describes a registered method.
type MethodInfo struct {
	Name    string   // "Service.Method"
	Aliases []string // other names of it, by name
	Kind    Kind
	Request reflect.Type // what the caller sends; []byte for a raw method
	Reply   reflect.Type // what it gets
}

// Describe lists what is registered, by name.
func (s *Services) Describe() []ServiceInfo {
	s.mu.RLock()
	defer s.mu.RUnlock()
	aliases := make(map[*method][]string)
	services := make(map[string]*ServiceInfo)
	for name, m := range s.methods {
		if name != m.name {
			aliases[m] = append(aliases[m], name)
		}
	}
	for name, m := range s.methods {
		if name != m.name {
			continue
		}
		service := serviceOf(name)
		if services[service] == nil {
			services[service] = &ServiceInfo{Name: service}
		}
		slices.Sort(aliases[m])
		services[service].Methods = append(services[service].Methods,
			MethodInfo{Name: name, Aliases: aliases[m], Kind: m.kind, Request: m.in, Reply: m.out})
	}
	out := make([]ServiceInfo, 0, len(services))
	for _, info := range services {
		sort.Slice(info.Methods, func(i, j int) bool { return info.Methods[i].Name < info.Methods[j].Name })
		out = append(out, *info)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// find returns a method, or a status that tells what there is instead.
func (s *Services) find(name string) (*method, *wire.Status) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if m := s.methods[name]; m != nil {
		return m, nil
	}
	service := serviceOf(name)
	var methods, services []string
	for n := range s.methods {
		if serviceOf(n) == service {
			methods = append(methods, n)
		} else if !slices.Contains(services, serviceOf(n)) {
			services = append(services, serviceOf(n))
		}
	}
	message := fmt.Sprintf("there is no method %s", name)
	switch {
	case len(methods) > 0:
		message += "; the service has " + list(methods)
	case len(services) > 0:
		message += "; there are the services " + list(services)
	default:
		message += "; nothing is registered"
	}
	return nil, &wire.Status{Code: wire.Unimplemented, Outcome: wire.Refused, Reason: "NO_METHOD", Message: message}
}

// list joins at most a handful of names.
func list(names []string) string {
	const most = 8
	slices.Sort(names)
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
