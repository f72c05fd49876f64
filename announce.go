package weft

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"math"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/weftrpc/weft/internal/fence"
	"github.com/weftrpc/weft/internal/reachable"
)

// Registry is where a server makes its services known to clients. Package registry
// has them.
type Registry interface {
	// Register publishes an instance and keeps it published until the registration
	// is closed, however often the registry goes away and comes back. It does not wait
	// for the registry. An error means that the instance can never be registered.
	Register(instance Instance) (Registration, error)
}

// Registration is a published instance.
type Registration interface {
	// Update replaces what is published; Service and ID must stay the same.
	Update(instance Instance) error
	// Close withdraws the instance at once, and returns when that is done or ctx has
	// ended. Before it has returned the server does not register the service anew.
	Close(ctx context.Context) error
}

// withdrawTimeout bounds how long a server waits for a registry that does not
// answer. What cannot be withdrawn expires there.
const withdrawTimeout = 2 * time.Second

// withdrawReserve is the part of withdrawTimeout that the registry does not get: so
// that its failure is in the log before the server is gone.
const withdrawReserve = withdrawTimeout / 20

// announcer publishes the services of a server in its registry.
type announcer struct {
	registry Registry
	log      *slog.Logger
	fence    *fence.Fence
	services func() []string // the names of those that the server has
	// idempotent lists the idempotent methods of a service, without its name.
	idempotent func(service string) []string
	work       func() work // what the server has done
	inFlight   func() int  // the calls that run

	mu      sync.Mutex
	every   Instance            // of every service that is not in own; without a service
	own     map[string]Instance // by service
	address string              // of the first listener, for those that name none
	open    bool                // there is an address, and no shutdown
	started time.Time           // when it was opened first
	shown   map[string]published
	leaving map[string]context.Context // withdrawals under way; done when one has ended, or its time is up
	load    *Load                      // as last published
	before  work                       // at the last report
	at      time.Time                  // of the last report
}

// published is a service in the registry.
type published struct {
	registration Registration
	instance     Instance // as it was told last
}

// newAnnouncer makes the announcer of a server, nil if its configuration has no
// registry. The configured instances are checked in any case.
func newAnnouncer(s *Server) (*announcer, error) {
	c := &s.cfg
	if c.Instance.Service != "" {
		return nil, Errorf(InvalidArgument, "weft: Instance.Service is %q: leave it empty, every service is registered by its own name", c.Instance.Service)
	}
	a := &announcer{
		registry: c.Registry, log: c.Logger, fence: &s.host.fence, services: s.Services.names, idempotent: s.Services.idempotent, work: s.host.work, inFlight: s.inFlight,
		every: c.Instance.Clone(), own: make(map[string]Instance, len(c.Instances)),
		shown: make(map[string]published), leaving: make(map[string]context.Context),
	}
	if err := a.check("", a.every); err != nil {
		return nil, Errorf(InvalidArgument, "weft: Instance: %w", err)
	}
	for service, i := range c.Instances {
		if i.Service != "" && i.Service != service {
			return nil, Errorf(InvalidArgument, "weft: Instances[%q].Service is %q: leave it empty", service, i.Service)
		}
		if err := a.check(service, i); err != nil {
			return nil, Errorf(InvalidArgument, "weft: Instances[%q]: %w", service, err)
		}
		a.own[service] = i.Clone()
	}
	if c.Registry == nil {
		return nil, nil
	}
	return a, nil
}

// check tells what is wrong with an instance that is configured of a service, or of all
// if it is "". The address may not be known yet.
func (a *announcer) check(service string, i Instance) error {
	i.Service = cmp.Or(service, "Any")
	i.Address = cmp.Or(i.Address, a.every.Address, "tcp://unknown:1")
	i.ID = cmp.Or(i.ID, a.every.ID, i.Address)
	return i.Check()
}

// announce publishes the server's services with the address of a listener, unless
// it is published already. It is called when the listener is ready. After an error
// nothing is published, and another listener can be announced.
func (s *Server) announce(l net.Listener) error {
	a := s.announcer
	if a == nil {
		return nil
	}
	if s.stopping() {
		return nil
	}
	begun, leaving, err := a.begin(l.Addr(), s.schemeOf(l))
	for _, l := range leaving {
		<-l.Done()
	}
	if !begun {
		return err
	}
	if s.cfg.LoadReportInterval > 0 && s.conns.Enter() {
		// It ends with the server.
		go func() {
			defer s.conns.Leave()
			a.report(s.life, s.cfg.LoadReportInterval)
		}()
	}
	return nil
}

// begin publishes all services, with the address of a listener, unless that has been done. After
// an error it returns the withdrawals that are under way.
func (a *announcer) begin(addr net.Addr, scheme string) (begun bool, leaving []context.Context, err error) {
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

// beginLocked publishes all services, with the address of a listener.
func (a *announcer) beginLocked(addr net.Addr, scheme string) error {
	if a.every.Address == "" {
		address, err := reachable.Address(addr, scheme)
		if err != nil {
			return Errorf(FailedPrecondition, "weft: %w", err)
		}
		a.address = address
	}
	a.open = true
	if a.started.IsZero() {
		a.started = time.Now().UTC().Truncate(time.Second)
	}
	a.before, a.at = a.work(), time.Now()
	for _, service := range a.services() {
		if err := a.showLocked(service); err != nil {
			return err
		}
	}
	return nil
}

// changed publishes a service that was registered, publishes anew one whose methods have
// changed, or withdraws one that was removed, while the server serves. Two changes may be told
// in the wrong order, so what there is now counts.
func (a *announcer) changed(service string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settleLocked(service)
}

// settleLocked publishes or withdraws a service, as the server has it or not.
func (a *announcer) settleLocked(service string) {
	if !a.open {
		return
	}
	if !slices.Contains(a.services(), service) {
		a.leaveLocked(service)
		return
	}
	if err := a.showLocked(service); err != nil {
		a.log.Error("the service cannot be registered", "service", service, "error", err)
	}
}

// showLocked publishes a service as it is now. One that is being withdrawn is published
// when that has ended: the registry would refuse it, or the withdrawal take it away.
func (a *announcer) showLocked(service string) error {
	if a.leaving[service] != nil {
		return nil
	}
	i := a.instanceLocked(service)
	p, ok := a.shown[service]
	var err error
	switch {
	case !ok:
		err = fence.ErrPanicked
		a.fence.Run("Register of the registry", nil, func() { p.registration, err = a.registry.Register(i) })
	case !p.instance.Equal(&i):
		err = fence.ErrPanicked
		a.fence.Run("Update of the registry", nil, func() { err = p.registration.Update(i) })
	}
	if err != nil {
		return Errorf(InvalidArgument, "weft: register service %s: %w", service, err)
	}
	p.instance = i
	a.shown[service] = p
	return nil
}

// instanceLocked is the instance of a service as it is to be published.
func (a *announcer) instanceLocked(service string) Instance {
	i, ok := a.own[service]
	if !ok {
		i = a.every
	}
	i = i.Clone()
	i.AddIdempotent(a.idempotent(service)...)
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
func (a *announcer) leaveLocked(service string) {
	p, ok := a.shown[service]
	if !ok {
		return
	}
	delete(a.shown, service)
	ctx, done := context.WithTimeout(context.Background(), withdrawTimeout)
	a.leaving[service] = ctx
	// It ends with the registry's answer, for which nothing waits longer than ctx lasts.
	go func() {
		defer done()
		asked, cancel := context.WithTimeout(ctx, withdrawTimeout-withdrawReserve)
		defer cancel()
		err := fence.ErrPanicked
		defer func() { // also when the registry has ended this goroutine
			if err != nil {
				a.log.Warn("the service could not be withdrawn", "service", service, "error", err)
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			delete(a.leaving, service)
			a.settleLocked(service) // it may have come back meanwhile
		}()
		a.fence.Run("Close of the registration", nil, func() { err = p.registration.Close(asked) })
	}()
}

// leaveAllLocked begins to withdraw everything and returns the withdrawals under way.
func (a *announcer) leaveAllLocked() []context.Context {
	a.open = false
	for service := range a.shown {
		a.leaveLocked(service)
	}
	return slices.Collect(maps.Values(a.leaving))
}

// withdraw begins to take everything back, so that no client comes any more. It
// returns what is under way. A second call returns what is left of the
// first.
func (a *announcer) withdraw() []context.Context {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.leaveAllLocked()
}

// await waits until the withdrawals have ended, at most until withdrawTimeout after
// they began, or until ctx ends.
func await(ctx context.Context, leaving <-chan struct{}) {
	select {
	case <-leaving:
	case <-ctx.Done():
	}
}

// patience is how long a shutdown waits for the registry before it drains. The
// calls in flight need the rest of its time.
func patience(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(withdrawTimeout, time.Until(deadline)/4)
	}
	return withdrawTimeout
}

// report publishes the server's load from time to time, until ctx ends.
func (a *announcer) report(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			a.reportNow(time.Now())
		case <-ctx.Done():
			return
		}
	}
}

// reportNow publishes the load if it has changed a good deal: every report is
// carried to every client.
func (a *announcer) reportNow(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	done, before, passed := a.work(), a.before, now.Sub(a.at)
	a.before, a.at = done, now
	load := Load{InFlight: a.inFlight()}
	if passed > 0 {
		load.Rate = math.Round(10*float64(done.calls-before.calls)/passed.Seconds()) / 10 // some registries have little room
	}
	if n := done.timed - before.timed; n > 0 {
		load.Latency = (done.sum - before.sum) / time.Duration(n)
	}
	if !a.open || a.load != nil && !differs(*a.load, load) {
		return
	}
	a.load = &load
	for service := range a.shown {
		if err := a.showLocked(service); err != nil {
			a.log.Warn("the load cannot be reported", "service", service, "error", err)
		}
	}
}

// differs reports whether one of the figures has changed by more than a quarter.
func differs(was, is Load) bool {
	quarter := func(a, b, least float64) bool {
		d := a - b
		return d > least+a/4 || -d > least+a/4
	}
	return quarter(float64(was.InFlight), float64(is.InFlight), 4) ||
		quarter(was.Rate, is.Rate, 10) ||
		quarter(float64(was.Latency), float64(is.Latency), float64(time.Millisecond))
}
