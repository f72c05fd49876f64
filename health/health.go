// Package health says whether a server, and each of its services, is ready for calls: by the
// state of the server itself (starting, serving, draining), and by checks of the program.
//
//	h, err := health.New(srv, &health.Config{Checks: []health.Check{{Name: "database", Func: db.PingContext}}})
//	http.Handle("/", h) // /livez, /readyz, /startupz
//
// It is readable over weft (the service weft.v1.Health with Check and Watch), over HTTP for
// Kubernetes, and by doors, through Reader. A server that has a registry publishes services
// that are not ready as Draining, so that clients prefer others.
package health

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/logger"
)

// Status says whether a service is ready for calls.
type Status uint8

// The statuses. Only Serving means that calls are welcome.
const (
	Starting   Status = iota // the server does not serve yet, or a check was not made yet
	Serving                  // ready
	NotServing               // a check fails, or the program has said so
	Draining                 // the server shuts down
)

// String is the name of the status, for example "not serving".
func (s Status) String() string {
	return [...]string{"starting", "serving", "not serving", "draining"}[s&3]
}

// Reader is what a door needs to answer questions about health in its own protocol. *Health is
// one. Both methods may be called concurrently.
type Reader interface {
	// Status is that of a service, and of the whole server for "". ok is false when the server
	// has no such service.
	Status(service string) (s Status, ok bool)
	// Changed is closed at the next change of any status.
	Changed() <-chan struct{}
}

// Service is the name of the service that New registers, with the methods Check and Watch.
const Service = "weft.v1.Health"

// The defaults of a Check.
const (
	DefaultPeriod  = 10 * time.Second
	DefaultTimeout = 5 * time.Second
)

// Config configures a Health. The zero value, and a nil pointer to one, give the defaults.
type Config struct {
	// Checks are what must hold for the server to be ready.
	Checks []Check
	// NoService does not register the service weft.v1.Health.
	NoService bool
	// NoRegistry leaves what is published in the registry as it is.
	NoRegistry bool
	// Logger is told when a check begins to fail and when it holds again. nil: that of the server;
	// slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

// Check is one thing that must hold.
type Check struct {
	Name string // for reports; each has its own
	// Func returns nil when all is well. ctx ends after Timeout. It is not called again before
	// it has returned.
	Func func(ctx context.Context) error
	// Services are those that are not ready when it fails, with the services that are only aliases of their methods; nil: the
	// whole server.
	Services []string
	// Optional shows the result in reports, and changes no status. Use it for dependencies:
	// a server that turns itself off because another one fails takes its other methods with it.
	Optional bool
	// Live has /livez fail with it, so that Kubernetes restarts the process. It is for what only a
	// restart heals.
	Live bool
	// Period is the time between two calls of Func. 0: DefaultPeriod.
	Period time.Duration
	// Timeout is when a call counts as failed. 0: DefaultTimeout.
	Timeout time.Duration
	// Failures is after how many failures in a row the check fails. 0: 1.
	Failures int
}

// Health is the health of one server. Its methods may be called from any goroutine. It ends with
// the server.
type Health struct {
	srv    *weft.Server
	cfg    Config
	log    *slog.Logger
	checks []*check

	mu      sync.Mutex
	set     map[string]bool // services that Set has turned off
	changed chan struct{}   // closed and replaced at every change
	shown   map[string]bool // services that are published as Draining by this package, or not
	held    bool            // what is not in shown was published so
	started bool            // the server has been ready once
	last    map[string]Status

	listed     atomic.Pointer[listed] // the services of the server when it was asked last
	publishing sync.Mutex             // held while the registry is told
	refused    refusals               // guarded by publishing
	behind     atomic.Bool            // the registry has not taken all of it
}

// listed are the services of a server, by name, when it had made so many changes to them. Clients find one by each of its names, so
// those that have only aliases are among them.
type listed struct {
	changes uint64
	names   []string
	of      map[string][]string // of each, the services whose methods these are
}

var _ Reader = (*Health)(nil)

// New makes the health of a server, registers its service, and begins with the checks. It is
// called before the server serves.
func New(srv *weft.Server, cfg *Config) (*Health, error) {
	h := &Health{srv: srv, set: make(map[string]bool), shown: make(map[string]bool), last: make(map[string]Status), changed: make(chan struct{}),
		refused: make(refusals)}
	if cfg != nil {
		h.cfg = *cfg
	}
	if h.log = weft.LoggerOf(srv); h.cfg.Logger != nil {
		h.log = logger.OrDefault(h.cfg.Logger)
	}
	if err := h.prepare(); err != nil {
		return nil, err
	}
	if !h.cfg.NoService {
		if err := h.register(); err != nil {
			return nil, err
		}
	}
	if !h.cfg.NoRegistry && slices.ContainsFunc(h.checks, func(c *check) bool { return !c.Optional }) {
		h.hold()
	}
	for _, c := range h.checks {
		// It ends when the server begins to shut down.
		go h.watch(c)
	}
	// It ends when the server begins to shut down.
	go h.follow()
	return h, nil
}

// prepare copies the checks, with their defaults.
func (h *Health) prepare() error {
	names := make(map[string]bool)
	for i, c := range h.cfg.Checks {
		wrong := func(format string, args ...any) error {
			return weft.Errorf(weft.InvalidArgument, "health: Checks[%d] (%q): "+format, append([]any{i, c.Name}, args...)...)
		}
		switch {
		case c.Name == "" || names[c.Name]:
			return wrong("it needs a name of its own")
		case c.Func == nil:
			return wrong("Func is nil")
		case c.Period < 0:
			return wrong("Period is %v, want 0 (its default) or more", c.Period)
		case c.Timeout < 0:
			return wrong("Timeout is %v, want 0 (its default) or more", c.Timeout)
		case c.Failures < 0:
			return wrong("Failures is %d, want 0 (its default) or more", c.Failures)
		}
		names[c.Name] = true
		if c.Period == 0 {
			c.Period = DefaultPeriod
		}
		if c.Timeout == 0 {
			c.Timeout = DefaultTimeout
		}
		c.Failures = max(c.Failures, 1)
		c.Services = slices.Clone(c.Services)
		h.checks = append(h.checks, &check{Check: c})
	}
	return nil
}

// Status implements Reader.
func (h *Health) Status(service string) (s Status, ok bool) {
	if service != "" && !slices.Contains(h.services().names, service) {
		return NotServing, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.statusLocked(h.srv.Phase(), service), true
}

// statusLocked is the status of a service that the server has.
func (h *Health) statusLocked(phase weft.Phase, service string) Status {
	switch phase {
	case weft.Starting:
		return Starting
	case weft.ShuttingDown, weft.ShutDown:
		return Draining
	}
	return h.readyLocked(service)
}

// readyLocked is the status by the checks and by Set, whatever the server does. A service that has only aliases is as ready as the
// least ready of those whose methods it has.
func (h *Health) readyLocked(service string) Status {
	s := h.ownLocked(service)
	if l := h.listed.Load(); l != nil && !slices.Contains(l.of[service], service) {
		for _, of := range l.of[service] {
			if own := h.ownLocked(of); own == NotServing || s == Serving {
				s = own
			}
		}
	}
	return s
}

// ownLocked is readyLocked by what names the service itself.
func (h *Health) ownLocked(service string) Status {
	if h.set[""] || h.set[service] {
		return NotServing
	}
	s := Serving
	for _, c := range h.checks {
		if c.Optional || len(c.Services) > 0 && !slices.Contains(c.Services, service) {
			continue
		}
		switch {
		case c.failing:
			return NotServing
		case !c.made:
			s = Starting
		}
	}
	return s
}

// Changed implements Reader.
func (h *Health) Changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

// Set says for the program that a service, or the whole server for "", is ready or not. A service
// is ready when its checks hold and Set does not say otherwise.
func (h *Health) Set(service string, ready bool) {
	h.mu.Lock()
	if ready {
		delete(h.set, service)
	} else {
		h.set[service] = true
	}
	h.mu.Unlock()
	h.tell()
}

// services are those of the server, which is asked when they have changed.
func (h *Health) services() *listed {
	changes := h.srv.Changes() // before it is asked: what comes meanwhile has it asked again
	if l := h.listed.Load(); l != nil && l.changes == changes {
		return l
	}
	l := &listed{changes: changes, of: h.srv.ServiceNames()}
	l.names = slices.Sorted(maps.Keys(l.of))
	h.listed.Store(l)
	return l
}

// tell notes changes of statuses: in the log, to those that wait, and in the registry.
func (h *Health) tell() {
	phase, services := h.srv.Phase(), h.services().names
	h.mu.Lock()
	whole := h.statusLocked(phase, "")
	h.started = h.started || whole == Serving
	changed := h.notedLocked("", whole)
	for _, service := range services {
		changed = h.notedLocked(service, h.statusLocked(phase, service)) || changed
	}
	if changed {
		close(h.changed)
		h.changed = make(chan struct{})
	}
	h.mu.Unlock()
	if !h.cfg.NoRegistry {
		h.publish(services)
	}
}

// notedLocked notes the status of a service, and reports whether it is another one than before.
func (h *Health) notedLocked(service string, s Status) (changed bool) {
	before, known := h.last[service]
	h.last[service] = s
	return !known || before != s
}

// hold has all services published as Draining until the checks have been made.
func (h *Health) hold() {
	untouched := true
	_ = h.srv.SetInstance("", func(i *weft.Instance) { untouched = untouched && i.State == weft.On }) // without a registry it does nothing
	if !untouched {
		return // the program has set states itself
	}
	err := h.srv.SetInstance("", func(i *weft.Instance) { i.State = weft.Draining })
	h.held = err == nil
}

// publish tells the registry which services are not ready. It leaves the states alone that the
// program has set. It notes whether the registry was told all, before another publish can.
func (h *Health) publish(services []string) {
	h.publishing.Lock()
	defer h.publishing.Unlock()
	h.behind.Store(!h.publishLocked(services))
}

// publishLocked reports whether the registry was told all. It is called with publishing locked.
func (h *Health) publishLocked(services []string) (all bool) {
	if phase := h.srv.Phase(); phase > weft.Serving {
		return true // the server withdraws its services itself
	}
	all = true
	h.refused.keep(services)
	for _, service := range services {
		h.mu.Lock()
		// The service weft.v1.Health may always be called.
		ready := service == Service || h.readyLocked(service) == Serving
		shown, known := h.shown[service]
		h.mu.Unlock()
		if !known {
			shown = h.held
		}
		if known && ready == !shown || !known && ready && !shown {
			h.refused.settled(service)
			continue
		}
		if h.refused.wait(service, ready) {
			all = false
			continue
		}
		err := h.srv.SetInstance(service, func(i *weft.Instance) {
			switch {
			case !ready && i.State == weft.On:
				i.State, shown = weft.Draining, true
			case ready && i.State == weft.Draining:
				i.State, shown = weft.On, false
			case ready:
				shown = false
			}
		})
		if weft.CodeOf(err) == weft.FailedPrecondition {
			return true // there is no registry
		}
		if err != nil {
			if h.refused.note(service, ready, err) {
				h.log.Warn("the state of a service cannot be published", "service", service, "error", err)
			}
			all = false
			continue
		}
		h.refused.settled(service)
		h.mu.Lock()
		h.shown[service] = shown
		h.mu.Unlock()
		all = all && (ready || shown) // a state that the program has set may give way later
	}
	return all
}

// follow notes what changes without a check: the phase of the server, and its services. A look at a server that is as
// it was costs two numbers.
func (h *Health) follow() {
	phase, changes := h.srv.Phase(), h.srv.Changes()
	h.tell()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			was, had := phase, changes
			if phase, changes = h.srv.Phase(), h.srv.Changes(); phase != was || changes != had || h.behind.Load() {
				h.tell()
			}
		case <-h.srv.Draining():
			h.tell()
			return
		}
	}
}
