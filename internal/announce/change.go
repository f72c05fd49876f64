package announce

import (
	"errors"
	"maps"

	"github.com/weftrpc/weft/instance"
)

// Change changes what is published of a service, or of all if it is "", and publishes it. The error of a
// service that the server does not have is ErrNoService; a *ChangeError says what is wrong with the
// changed instance; any other is that of the registry. After an error nothing has changed.
func (a *Announcer) Change(service string, change func(*instance.Instance)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if service != "" && a.cfg.Services()[service] == nil {
		return ErrNoService
	}
	every, own, err := a.changeLocked(service, change)
	if err != nil {
		return &ChangeError{err}
	}
	beforeEvery, beforeOwn := a.every, a.own
	a.every, a.own = every, own
	if err := a.updateLocked(service); err != nil {
		a.every, a.own = beforeEvery, beforeOwn
		if back := a.updateLocked(service); back != nil {
			a.cfg.Log.Error("the instance cannot be set back", "service", service, "error", back)
		}
		return err
	}
	return nil
}

// ChangeError is the error of a change that makes an instance wrong.
type ChangeError struct{ err error }

// Error implements error.
func (e *ChangeError) Error() string { return e.err.Error() }

// Unwrap is what is wrong with the instance.
func (e *ChangeError) Unwrap() error { return e.err }

// changeLocked returns what is configured of every service and of single ones, with a
// change of one, or of all if service is "".
func (a *Announcer) changeLocked(service string, change func(*instance.Instance)) (every instance.Instance, own map[string]instance.Instance, err error) {
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
func (a *Announcer) apply(service string, before instance.Instance, change func(*instance.Instance)) (instance.Instance, error) {
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
func (a *Announcer) updateLocked(service string) error {
	var errs []error
	for name := range a.shown {
		if service == "" || service == name {
			errs = append(errs, a.showLocked(name))
		}
	}
	return errors.Join(errs...)
}
