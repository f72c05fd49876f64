package weft

import (
	"context"
	"maps"
	"math"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/weftrpc/weft/internal/stats"
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

// announcer publishes the services of a server.
type announcer struct {
	s        *Server
	registry Registry
	template Instance // without service

	mu      sync.Mutex
	open    bool // there is an address, and no shutdown
	shown   map[string]Registration
	leaving map[string]context.Context // withdrawals under way; done when one has ended, or its time is up
	load    *Load                      // as last published
	totals  totals
}

// totals are sums over all methods, up to a moment.
type totals struct {
	at    time.Time
	calls uint64
	timed uint64
	sum   time.Duration
}

// announce publishes the server's services with the address of a listener, unless
// it is published already. It is called when the listener is ready. After an error
// nothing is published, and another listener can be announced.
func (s *Server) announce(l net.Listener) error {
	a := s.announcer
	if a == nil {
		return nil
	}
	a.mu.Lock()
	if a.open || s.stopping() {
		a.mu.Unlock()
		return nil
	}
	before := a.template
	if err := a.begin(l.Addr(), s.schemeOf(l)); err != nil {
		a.template = before
		leaving := a.leaveAll()
		a.mu.Unlock()
		await(context.Background(), leaving)
		return err
	}
	a.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.LoadReportInterval > 0 && !s.closed {
		s.conns.Add(1)
		// It ends with the server.
		go a.report(s.cfg.LoadReportInterval)
	}
	return nil
}

// begin completes the template and publishes all services. It is called with the
// lock held.
func (a *announcer) begin(addr net.Addr, scheme string) error {
	if a.template.Address == "" {
		address, err := reachable(addr, scheme)
		if err != nil {
			return err
		}
		a.template.Address = address
	}
	if a.template.ID == "" {
		a.template.ID = a.template.Address
	}
	a.open = true
	a.totals = a.count(time.Now())
	for _, service := range a.s.Services.names() {
		if err := a.show(service); err != nil {
			return err
		}
	}
	return nil
}

// changed publishes a service that was registered, or withdraws one that was
// removed, while the server serves. Two changes may be told in the wrong order, so
// what there is now counts.
func (a *announcer) changed(service string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settle(service)
}

// settle publishes or withdraws a service, as the server has it or not. It is
// called with the lock held.
func (a *announcer) settle(service string) {
	if !a.open {
		return
	}
	if !slices.Contains(a.s.Services.names(), service) {
		a.leave(service)
		return
	}
	if err := a.show(service); err != nil {
		a.s.cfg.Logger.Error("the service cannot be registered", "service", service, "error", err)
	}
}

// show publishes a service. One that is being withdrawn is published when that has
// ended: the registry would refuse it, or the withdrawal take it away. It is called
// with the lock held.
func (a *announcer) show(service string) error {
	if a.shown[service] != nil || a.leaving[service] != nil {
		return nil
	}
	r, err := a.registry.Register(a.instance(service))
	if err != nil {
		return Errorf(InvalidArgument, "weft: register service %s: %w", service, err)
	}
	a.shown[service] = r
	return nil
}

// instance is called with the lock held.
func (a *announcer) instance(service string) Instance {
	i := a.template.Clone()
	i.Service = service
	if a.load != nil {
		load := *a.load
		i.Load = &load
	}
	return i
}

// leave begins to withdraw a service. It is called with the lock held.
func (a *announcer) leave(service string) {
	r := a.shown[service]
	if r == nil {
		return
	}
	delete(a.shown, service)
	ctx, done := context.WithTimeout(context.Background(), withdrawTimeout)
	a.leaving[service] = ctx
	// It ends with the registry's answer, for which nobody waits longer than ctx lasts.
	go func() {
		defer done()
		asked, cancel := context.WithTimeout(ctx, withdrawTimeout-withdrawReserve)
		defer cancel()
		if err := r.Close(asked); err != nil {
			a.s.cfg.Logger.Warn("the service could not be withdrawn", "service", service, "error", err)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.leaving, service)
		a.settle(service) // it may have come back meanwhile
	}()
}

// leaveAll begins to withdraw everything and returns the withdrawals under way. It
// is called with the lock held.
func (a *announcer) leaveAll() []context.Context {
	a.open = false
	for service := range a.shown {
		a.leave(service)
	}
	return slices.Collect(maps.Values(a.leaving))
}

// withdraw begins to take everything back, so that no client comes any more. It
// returns what is under way, for await. A second call returns what is left of the
// first.
func (a *announcer) withdraw() []context.Context {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.leaveAll()
}

// await waits until the withdrawals have ended, at most until withdrawTimeout after
// they began, or until ctx ends.
func await(ctx context.Context, leaving []context.Context) {
	for _, l := range leaving {
		select {
		case <-l.Done():
		case <-ctx.Done():
			return
		}
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

// report publishes the server's load from time to time.
func (a *announcer) report(every time.Duration) {
	defer a.s.conns.Done()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			a.reportNow(time.Now())
		case <-a.s.life.Done():
			return
		}
	}
}

// reportNow publishes the load if it has changed a good deal: every report is
// carried to every client.
func (a *announcer) reportNow(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.totals
	a.totals = a.count(now)
	load := Load{InFlight: a.s.inFlight()}
	if passed := now.Sub(before.at).Seconds(); passed > 0 {
		load.Rate = math.Round(10*float64(a.totals.calls-before.calls)/passed) / 10 // some registries have little room
	}
	if n := a.totals.timed - before.timed; n > 0 {
		load.Latency = (a.totals.sum - before.sum) / time.Duration(n)
	}
	if !a.open || a.load != nil && !differs(*a.load, load) {
		return
	}
	a.load = &load
	for service, r := range a.shown {
		if err := r.Update(a.instance(service)); err != nil {
			a.s.cfg.Logger.Warn("the load cannot be reported", "service", service, "error", err)
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

// count adds up the statistics of all methods.
func (a *announcer) count(now time.Time) totals {
	t := totals{at: now}
	for _, m := range a.s.host.methodStats() {
		sum := m.Summary()
		t.calls += sum.Calls()
		t.timed += sum.Timed
		t.sum += sum.Sum
	}
	return t
}

// methodStats are the statistics of all methods that were called.
func (h *host) methodStats() []*stats.Method {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]*stats.Method, 0, len(h.endpoints))
	for _, s := range h.endpoints {
		out = append(out, &s.stats)
	}
	return out
}

// inFlight is the number of calls that run now.
func (s *Server) inFlight() int {
	n := 0
	for _, p := range s.Peers() {
		n += p.incoming()
	}
	return n
}

// reachable makes an address that clients can use of the one that a listener of a
// transport has. One that listens everywhere is reached at an address of this
// machine, whatever the transport does on top of TCP.
func reachable(addr net.Addr, scheme string) (string, error) {
	if addr.Network() != "tcp" {
		return scheme + "://" + addr.String(), nil
	}
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return "", Errorf(InvalidArgument, "weft: address %v: %w", addr, err)
	}
	if ip := net.ParseIP(host); ip != nil && !ip.IsUnspecified() {
		return scheme + "://" + net.JoinHostPort(host, port), nil
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return "", Errorf(FailedPrecondition,
			"weft: the server listens on every address, and those of this machine cannot be read; set Instance.Address: %w", err)
	}
	return scheme + "://" + net.JoinHostPort(preferred(own), port), nil
}

// preferred chooses the address of a machine at which others are likely to reach
// it: an IPv4 address rather than an IPv6 one, and the loopback only when there is
// no other.
func preferred(own []net.Addr) string {
	var ips []net.IP
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && (n.IP.IsGlobalUnicast() || n.IP.IsLoopback()) {
			ips = append(ips, n.IP)
		}
	}
	rank := func(ip net.IP) int {
		switch {
		case ip.IsLoopback():
			return 2
		case ip.To4() == nil:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(ips, func(a, b net.IP) int { return rank(a) - rank(b) })
	if len(ips) == 0 {
		return "127.0.0.1"
	}
	return ips[0].String()
}
