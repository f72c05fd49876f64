// Package announce keeps the services of a server published in its registry: as they come and go, with
// the load of the server, until the server shuts down.
package announce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/weftrpc/weft/instance"
	"github.com/weftrpc/weft/internal/fence"
	"github.com/weftrpc/weft/internal/logger"
	"github.com/weftrpc/weft/internal/reachable"
	"github.com/weftrpc/weft/internal/wire"
)

// Registration is a published instance; see weft.Registration.
type Registration interface {
	Update(i instance.Instance) error
	Close(ctx context.Context) error
}

// Config is what an Announcer publishes, and where.
type Config struct {
	// Register publishes an instance in the registry.
	Register func(i instance.Instance) (Registration, error)
	// Every is published of every service that is not in Own; it names no service.
	Every instance.Instance
	// Own is published of single services.
	Own map[string]instance.Instance
	// Services has the names of the services that the server has as keys.
	Services func() map[string][]string
	// Idempotent lists the idempotent methods of a service, without its name.
	Idempotent func(service string) []string
	// Work is what the server has done, and InFlight how many calls run, for reports of its load.
	Work     func() Work
	InFlight func() int
	// Code is the code of an error of the registry.
	Code func(error) wire.Code

	Fence *fence.Fence // around the registry
	Log   *slog.Logger
}

// Timeout bounds how long a server waits for a registry that does not answer. What cannot be
// withdrawn expires there.
const Timeout = 2 * time.Second

// reserve is the part of Timeout that the registry does not get: so that its failure is in the
// log before the server is gone.
const reserve = Timeout / 20

// ErrNoService is the error of a change of a service that the server does not have.
var ErrNoService = errors.New("there is no such service")

// AddressError is the error of a listener whose address cannot be published.
type AddressError struct{ err error }

// Error implements error.
func (e *AddressError) Error() string { return e.err.Error() }

// Unwrap is what is wrong with the address.
func (e *AddressError) Unwrap() error { return e.err }

// Announcer publishes the services of a server. All methods may be called concurrently.
type Announcer struct {
	cfg Config

	mu      sync.Mutex
	every   instance.Instance            // of every service that is not in own; without a service
	own     map[string]instance.Instance // by service
	address string                       // of the first listener, for those that name none
	open    bool                         // there is an address, and no shutdown
	started time.Time                    // when it was opened first
	shown   map[string]published
	leaving map[string]context.Context // withdrawals under way; done when one has ended, or its time is up
	load    *instance.Load             // as last published
	partly  bool                       // the registry has refused a part of the last report
	refused map[string]*refusal        // services that the registry has refused, by name
	before  Work                       // at the last report
	at      time.Time                  // of the last report
}

// published is a service in the registry.
type published struct {
	registration Registration
	instance     instance.Instance // as it was told last
	errors       *logger.Repeated  // of reports of the load
}

// New returns an Announcer that publishes nothing yet, or tells what is wrong with the instances.
func New(cfg Config) (*Announcer, error) {
	if cfg.Every.Service != "" {
		return nil, fmt.Errorf("field Instance.Service is %q: leave it empty, every service is registered by its own name", cfg.Every.Service)
	}
	a := &Announcer{
		cfg: cfg, every: cfg.Every.Clone(), own: make(map[string]instance.Instance, len(cfg.Own)),
		shown: make(map[string]published), leaving: make(map[string]context.Context), refused: make(map[string]*refusal),
	}
	if err := a.check("", a.every); err != nil {
		return nil, fmt.Errorf("field Instance: %w", err)
	}
	for service, i := range cfg.Own {
		if i.Service != "" && i.Service != service {
			return nil, fmt.Errorf("field Instances[%q].Service is %q: leave it empty", service, i.Service)
		}
		if err := a.check(service, i); err != nil {
			return nil, fmt.Errorf("field Instances[%q]: %w", service, err)
		}
		a.own[service] = i.Clone()
	}
	return a, nil
}

// check tells what is wrong with an instance that is configured of a service, or of all
// if it is "". The address may not be known yet.
func (a *Announcer) check(service string, i instance.Instance) error {
	i.Service = cmp.Or(service, "Any")
	i.Address = cmp.Or(i.Address, a.every.Address, "tcp://unknown:1")
	i.ID = cmp.Or(i.ID, a.every.ID, i.Address)
	return i.Check()
}

// Begin publishes all services with the address of a listener, unless that has been done. After an error
// nothing is published, and Begin may be called with another listener. An *AddressError says that the
// address of this one cannot be published.
func (a *Announcer) Begin(addr net.Addr, scheme string) (begun bool, err error) {
	begun, leaving, err := a.begin(addr, scheme)
	for _, l := range leaving {
		<-l.Done()
	}
	return begun, err
}

// begin is Begin. After an error it returns the withdrawals that are under way.
func (a *Announcer) begin(addr net.Addr, scheme string) (begun bool, leaving []context.Context, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open {
		return false, nil, nil
	}
	if err := a.beginLocked(addr, scheme); err != nil {
		a.address = ""
		return false, a.leaveAllLocked(), err
	}
	return true, nil, nil
}

// beginLocked publishes all services with the address of a listener.
func (a *Announcer) beginLocked(addr net.Addr, scheme string) error {
	if a.every.Address == "" {
		address, err := reachable.Address(addr, scheme)
		if err != nil {
			return &AddressError{err}
		}
		a.address = address
	}
	a.open = true
	if a.started.IsZero() {
		a.started = time.Now().UTC().Truncate(time.Second)
	}
	a.before, a.at = a.cfg.Work(), time.Now()
	for _, service := range slices.Sorted(maps.Keys(a.cfg.Services())) {
		if err := a.showLocked(service); err != nil {
			return err
		}
	}
	return nil
}

// Changed publishes a service that was registered, publishes anew one whose methods have
// changed, or withdraws one that was removed, while the server serves. Two changes may be told
// in the wrong order, so the services that the server has now count.
func (a *Announcer) Changed(service string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settleLocked(service)
}

// settleLocked publishes or withdraws a service, as the server has it or not. One that the registry has refused is published as it is when
// the pause has ended that is made for the registry.
func (a *Announcer) settleLocked(service string) {
	if !a.open {
		return
	}
	if a.cfg.Services()[service] == nil {
		a.forgetLocked(service)
		a.leaveLocked(service)
		return
	}
	if r := a.refused[service]; r == nil || r.timer == nil {
		a.tryLocked(service)
	}
}

// showLocked publishes a service as it is now. One that is being withdrawn is published
// when that has ended: the registry would refuse it, or the withdrawal take it away.
func (a *Announcer) showLocked(service string) error {
	if a.leaving[service] != nil {
		return nil
	}
	i := a.instanceLocked(service)
	p, ok := a.shown[service]
	var err error
	switch {
	case !ok:
		err = fence.ErrPanicked
		a.cfg.Fence.Run("Register of the registry", nil, func() { p.registration, err = a.cfg.Register(i) })
	case !p.instance.Equal(&i):
		err = fence.ErrPanicked
		a.cfg.Fence.Run("Update of the registry", nil, func() { err = p.registration.Update(i) })
	}
	if err != nil {
		return fmt.Errorf("register service %s: %w", service, err)
	}
	if p.instance = i; !ok {
		p.errors = new(logger.Repeated)
	}
	a.shown[service] = p
	return nil
}

// instanceLocked is the instance of a service as it is to be published.
func (a *Announcer) instanceLocked(service string) instance.Instance {
	i, ok := a.own[service]
	if !ok {
		i = a.every
	}
	i = i.Clone()
	i.AddIdempotent(a.cfg.Idempotent(service)...)
	i.Service = service
	i.Address = cmp.Or(i.Address, a.every.Address, a.address)
	i.ID = cmp.Or(i.ID, a.every.ID, i.Address)
	if i.Started.IsZero() {
		i.Started = a.started
	}
	if a.load != nil {
		load := *a.load
		i.Load = &load
	}
	return i
}

// leaveLocked begins to withdraw a service.
func (a *Announcer) leaveLocked(service string) {
	p, ok := a.shown[service]
	if !ok {
		return
	}
	delete(a.shown, service)
	ctx, done := context.WithTimeout(context.Background(), Timeout)
	a.leaving[service] = ctx
	// It ends with the registry's answer, for which nothing waits longer than ctx lasts.
	go func() {
		defer done()
		asked, cancel := context.WithTimeout(ctx, Timeout-reserve)
		defer cancel()
		err := fence.ErrPanicked
		defer func() { // also when the registry has ended this goroutine
			if err != nil {
				a.cfg.Log.Warn("the service could not be withdrawn", "service", service, "error", err)
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			delete(a.leaving, service)
			a.settleLocked(service) // it may have come back meanwhile
		}()
		a.cfg.Fence.Run("Close of the registration", nil, func() { err = p.registration.Close(asked) })
	}()
}

// leaveAllLocked begins to withdraw everything and returns the withdrawals under way.
func (a *Announcer) leaveAllLocked() []context.Context {
	a.open = false
	for service := range a.refused {
		a.forgetLocked(service)
	}
	for service := range a.shown {
		a.leaveLocked(service)
	}
	return slices.Collect(maps.Values(a.leaving))
}

// Withdraw takes everything back, so that no client comes any more, and returns when that has ended
// or was given up, after Timeout at most. A second call waits for what is left of the first. A registry
// whose Register hangs, against its contract, holds it up.
func (a *Announcer) Withdraw() {
	a.mu.Lock()
	leaving := a.leaveAllLocked()
	a.mu.Unlock()
	for _, l := range leaving {
		<-l.Done()
	}
}
