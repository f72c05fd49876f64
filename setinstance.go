package weft

import (
	"errors"
	"maps"
	"slices"
)

// SetInstance changes what is published of a service, such as its weight, tags or
// state, and publishes it at once; the service "" is all that the server has now and
// gets later. It holds until it is changed again: through load reports, and when the
// service is removed and registered anew. Before the server serves, it changes what
// will be published; after its shutdown it has no effect.
//
// change gets a copy of the instance as it is configured or was set before. Service, ID,
// and Address must stay as they are; Load and Started are the server's own. The error
// says that the server has no registry or no such service, or what is wrong with the
// changed instance; then nothing has changed.
//
// SetInstance may be called from any goroutine. Calls of change run one at a time, and
// must not use the server.
func (s *Server) SetInstance(service string, change func(*Instance)) error {
	if s.err != nil {
		return s.err
	}
	a := s.announcer
	if a == nil {
		return Errorf(FailedPrecondition, "weft: set instance of service %q: ServerConfig.Registry is nil", service)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if service != "" && !slices.Contains(a.services(), service) {
		return Errorf(NotFound, "weft: set instance: there is no service %q", service)
	}
	every, own, err := a.changeLocked(service, change)
	if err != nil {
		return Errorf(InvalidArgument, "weft: set instance of service %q: %w", service, err)
	}
	beforeEvery, beforeOwn := a.every, a.own
	a.every, a.own = every, own
	if err := a.updateLocked(service); err != nil {
		a.every, a.own = beforeEvery, beforeOwn
		if back := a.updateLocked(service); back != nil {
			a.log.Error("the instance cannot be set back", "service", service, "error", back)
		}
		return err
	}
	return nil
}

// changeLocked returns what is configured of every service and of single ones, with a
// change of one, or of all if service is "".
func (a *announcer) changeLocked(service string, change func(*Instance)) (every Instance, own map[string]Instance, err error) {
	every, own = a.every, maps.Clone(a.own)
	if service != "" {
		i, ok := own[service]
		if !ok {
			i = every
		}
		own[service], err = a.apply(service, i, change)
		return every, own, err
	}
	if every, err = a.apply("", every, change); err != nil {
		return every, own, err
	}
	for name, i := range own {
		if own[name], err = a.apply(name, i, change); err != nil {
			return every, own, err
		}
	}
	return every, own, nil
}

// apply returns an instance with a change, checked.
func (a *announcer) apply(service string, before Instance, change func(*Instance)) (Instance, error) {
	i := before.Clone()
	change(&i)
	if i.Service != before.Service || i.ID != before.ID || i.Address != before.Address {
		return before, errors.New("its Service, ID and Address cannot be changed")
	}
	i.Load, i.Started = before.Load, before.Started
	i = i.Clone() // change may have kept the tags
	return i, a.check(service, i)
}

// updateLocked publishes a service, or all if it is "", as they are now.
func (a *announcer) updateLocked(service string) error {
	var errs []error
	for name := range a.shown {
		if service == "" || service == name {
			errs = append(errs, a.showLocked(name))
		}
	}
	return errors.Join(errs...)
}
