package weft

import (
	"maps"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/internal/names"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/wire"
)

// Services is a set of services that one side of a connection offers to its peer. A Server has one; a client that wants to be called gets
// one in its configuration. Methods can be added and removed at any time, from any goroutine.
type Services struct {
	mu      sync.RWMutex
	methods map[string]*method // by name, aliases among them
	changes atomic.Uint64
	onNew   []func(service string)
	changed func(service string) // it may have more names, or fewer; nil: no registry is told
	hints   names.Limiter
	wrong   error // what is wrong with the server's configuration: nothing can be registered
}

// Registrar is a *Server or a *Services: what handlers can be registered with.
type Registrar interface {
	registrar() *Services
}

// NewServices returns an empty set.
func NewServices() *Services { return &Services{methods: make(map[string]*method)} }

func (s *Services) registrar() *Services { return s }

// checkName tells what is wrong with a method's name, and, if own is true, with serving a method under it.
func checkName(name string, own bool) error {
	if err := wire.CheckServiceMethod(name, own); err != nil {
		return Errorf(InvalidArgument, "weft: %w", err)
	}
	return nil
}

// add registers methods, all or none.
func (s *Services) add(all ...*method) error {
	for _, m := range all {
		if err := m.check(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	if err := s.checkLocked(all); err != nil {
		s.mu.Unlock()
		return err
	}
	fresh := make(map[string]bool) // by service
	for _, m := range all {
		if service := names.Service(m.name); !fresh[service] {
			fresh[service] = !s.hasLocked(service)
		}
		s.methods[m.name] = m
	}
	s.changes.Add(1)
	s.mu.Unlock()
	for _, service := range slices.Sorted(maps.Keys(fresh)) {
		s.got(service, fresh[service])
	}
	return nil
}

// got tells that a service has more names, which may be its first.
func (s *Services) got(service string, first bool) {
	s.mu.RLock()
	tell, changed := s.onNew, s.changed
	s.mu.RUnlock()
	if first {
		for _, f := range tell {
			f(service)
		}
	}
	if changed != nil {
		changed(service)
	}
}

// idempotent lists the methods of a service that are idempotent, without its name.
func (s *Services) idempotent(service string) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []string
	for name, m := range s.methods {
		if m.facts.idempotent && names.Service(name) == service {
			out = append(out, name[len(service)+1:])
		}
	}
	return out
}

// ServiceNames returns the services under which methods can be called, and so those that clients find in a registry. The value is the
// services whose methods these are: the service itself unless it has aliases alone, and those that its aliases are of.
func (s *Services) ServiceNames() map[string][]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make(map[string][]string)
	for name, m := range s.methods {
		service, of := names.Service(name), names.Service(m.name)
		if !slices.Contains(out[service], of) {
			out[service] = append(out[service], of)
		}
	}
	return out
}

// checkLocked tells what keeps methods from being added.
func (s *Services) checkLocked(all []*method) error {
	if s.wrong != nil {
		return s.wrong
	}
	fresh := make(map[string]bool, len(all))
	for _, m := range all {
		if err := checkName(m.name, true); err != nil {
			return err
		}
		if s.methods[m.name] != nil {
			return Errorf(AlreadyExists, "weft: method %s is registered already", m.name)
		}
		if fresh[m.name] {
			return Errorf(InvalidArgument, "weft: two methods are to be registered as %s", m.name)
		}
		fresh[m.name] = true
	}
	return nil
}

// hasLocked reports whether a service has a method.
func (s *Services) hasLocked(service string) bool {
	for name := range s.methods {
		if names.Service(name) == service {
			return true
		}
	}
	return false
}

// Alias makes a method callable by a second name as well. The error says that there is no such method or that the alias is taken.
func (s *Services) Alias(alias, name string) error {
	if err := checkName(alias, true); err != nil {
		return err
	}
	fresh, err := s.alias(alias, name)
	if err == nil {
		s.got(names.Service(alias), fresh)
	}
	return err
}

// alias reports whether the alias is the first name of its service.
func (s *Services) alias(alias, name string) (fresh bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong != nil {
		return false, s.wrong
	}
	m := s.methods[name]
	if m == nil {
		return false, Errorf(NotFound, "weft: alias %s: there is no method %s", alias, name)
	}
	if s.methods[alias] != nil {
		return false, Errorf(AlreadyExists, "weft: alias %s: a method of that name is registered already", alias)
	}
	fresh = !s.hasLocked(names.Service(alias))
	s.methods[alias] = m
	s.changes.Add(1)
	return fresh, nil
}

// Unregister removes all methods and aliases of one service. Calls that are running go on; later ones get Unimplemented. The error says
// that there is no such service.
func (s *Services) Unregister(service string) error {
	before := s.ServiceNames()
	if err := s.unregister(service); err != nil {
		return err
	}
	if s.changed != nil {
		for service := range before { // each may have lost an alias
			s.changed(service)
		}
	}
	return nil
}

func (s *Services) unregister(service string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := false
	for name, m := range s.methods {
		if names.Service(name) != service {
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
	s.changes.Add(1)
	return nil
}

// Changes counts what was registered, named and unregistered: while it is the same, so is what Describe returns.
func (s *Services) Changes() uint64 { return s.changes.Load() }

// ServiceInfo describes a registered service.
type ServiceInfo struct {
	Name    string
	Methods []MethodInfo // by name
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
		service := names.Service(name)
		if services[service] == nil {
			services[service] = &ServiceInfo{Name: service}
		}
		services[service].Methods = append(services[service].Methods, m.info(aliases[m]))
	}
	out := make([]ServiceInfo, 0, len(services))
	for _, info := range services {
		sort.Slice(info.Methods, func(i, j int) bool { return info.Methods[i].Name < info.Methods[j].Name })
		out = append(out, *info)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// find returns a method, or nil. It takes the same time whatever is registered.
func (s *Services) find(name string) *method {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.methods[name]
}

// missing is the status of a call of a method that does not exist. It is made for callers that
// are authenticated, if callers have to be. A few times a second it tells what there is.
func (s *Services) missing(name string) *wire.Status {
	message := "there is no method " + name
	if s.hints.Allow(session.Nanos() / int64(time.Second)) {
		s.mu.RLock()
		message += names.Instead(name, maps.Keys(s.methods))
		s.mu.RUnlock()
	}
	return &wire.Status{Code: wire.Unimplemented, Outcome: wire.Refused, Reason: wire.ReasonNoMethod, Message: message}
}
