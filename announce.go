package weft

import (
	"context"
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
	// Close withdraws the instance at once.
	Close(ctx context.Context) error
}

// withdrawTimeout bounds how long a shutdown waits for a registry that does not
// answer. What cannot be withdrawn expires there.
const withdrawTimeout = 2 * time.Second

// announcer publishes the services of a server.
type announcer struct {
	s        *Server
	registry Registry
	template Instance // without service

	mu     sync.Mutex
	open   bool // there is an address, and no shutdown
	shown  map[string]Registration
	load   *Load // as last published
	totals totals
}

// totals are sums over all methods, up to a moment.
type totals struct {
	at    time.Time
	calls uint64
	timed uint64
	sum   time.Duration
}

// announce publishes the server's services with the address of a listener, unless
// it is published already. It is called when the listener is ready.
func (s *Server) announce(l net.Listener) error {
	a := s.announcer
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open || s.stopping() {
		return nil
	}
	if a.template.Address == "" {
		address, err := reachable(l.Addr())
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
	for _, service := range s.Services.names() {
		if err := a.show(service); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.ReportLoad > 0 && !s.closed {
		s.conns.Add(1)
		// It ends with the server.
		go a.report(s.cfg.ReportLoad)
	}
	return nil
}

// changed publishes a service that was registered, or withdraws one that was
// removed, while the server serves.
func (a *announcer) changed(service string, there bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.open {
		return
	}
	if there {
		if err := a.show(service); err != nil {
			a.s.cfg.Log.Error("the service cannot be registered", "service", service, "error", err)
		}
		return
	}
	if r := a.shown[service]; r != nil {
		delete(a.shown, service)
		// Removing a service does not wait for a registry; it ends in bounded time.
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), withdrawTimeout)
			defer cancel()
			if err := r.Close(ctx); err != nil {
				a.s.cfg.Log.Warn("the service could not be withdrawn", "service", service, "error", err)
			}
		}()
	}
}

// show is called with the lock held.
func (a *announcer) show(service string) error {
	if a.shown[service] != nil {
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

// withdraw takes everything back, so that no client comes any more.
func (a *announcer) withdraw(ctx context.Context) {
	a.mu.Lock()
	a.open = false
	shown := a.shown
	a.shown = make(map[string]Registration)
	a.mu.Unlock()
	if len(shown) == 0 {
		return
	}
	// It is tried even when a shutdown has no time: clients would go on coming.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for service, r := range shown {
		wg.Go(func() {
			if err := r.Close(ctx); err != nil {
				a.s.cfg.Log.Warn("the service could not be withdrawn", "service", service, "error", err)
			}
		})
	}
	wg.Wait()
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
		load.Rate = float64(a.totals.calls-before.calls) / passed
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
			a.s.cfg.Log.Warn("the load cannot be reported", "service", service, "error", err)
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
	out := make([]*stats.Method, 0, len(h.served))
	for _, s := range h.served {
		out = append(out, &s.stats)
	}
	return out
}

// inFlight is the number of calls that run now.
func (s *Server) inFlight() int {
	n := 0
	for _, p := range s.Peers() {
		n += p.s.Incoming()
	}
	return n
}

// reachable makes an address that clients can use of the one that a listener has.
// One that listens everywhere is reached at an address of this machine.
func reachable(addr net.Addr) (string, error) {
	network := addr.Network()
	if network != "tcp" {
		return network + "://" + addr.String(), nil
	}
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return "", Errorf(InvalidArgument, "weft: address %v: %w", addr, err)
	}
	if ip := net.ParseIP(host); ip != nil && !ip.IsUnspecified() {
		return "tcp://" + net.JoinHostPort(host, port), nil
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return "", Errorf(FailedPrecondition,
			"weft: the server listens on every address, and those of this machine cannot be read; set Instance.Address: %w", err)
	}
	return "tcp://" + net.JoinHostPort(preferred(own), port), nil
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
