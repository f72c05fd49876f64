package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/internal/idle"
	"github.com/weftrpc/weft/cluster/internal/published"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/cluster/throttle"
	"github.com/weftrpc/weft/registry"
)

// service is one service: its instances, its rules, and the view that calls use.
type service struct {
	c     *Client
	name  string
	rules route.Live
	view  atomic.Pointer[view]

	throttle throttle.Throttle

	use    idle.Use
	former *view // the last one of a service that was closed; guarded by the client's lock
	coming *view // the one that is being made; guarded by the client's lock

	rebuilding sync.Mutex // held while a view is made

	mu       sync.Mutex
	snapshot *registry.Snapshot // nil: nothing is known yet
	ruled    bool               // the rules are known, or have been waited for long enough
	changed  chan struct{}      // closed and replaced with every new view
	stops    []func()
	closed   bool
}

// Used implements idle.Service.
func (s *service) Used() *idle.Use { return &s.use }

// Needed implements idle.Service. While the registry does not answer, or its list is doubted, the list that is known may be the only one.
func (s *service) Needed() bool {
	v := s.view.Load()
	return v != nil && len(v.snapshot.Instances) > 0 && (v.snapshot.Err != nil || len(v.snapshot.Kept) > 0)
}

// view is what calls need to know of a service: one is made for every change.
type view struct {
	snapshot  *registry.Snapshot
	rules     *route.Rules
	ruled     bool // calls need not wait for rules
	plan      *route.Plan
	instances []weft.Instance // those of the snapshot that the configuration admits
	servers   []*server       // as many
	published *published.Methods
	sets      []set // by subset of the plan
}

// set is a subset of the instances with its picker.
type set struct {
	picker balance.Picker
	index  []int // of the view's instances
	avoid  bool  // all of them
}

// serviceForLocked returns a service, which is watched from then on until it is not called for long.
func (c *Client) serviceForLocked(name string) (*service, error) {
	if s := c.services.Open[name]; s != nil {
		return s, nil
	}
	s := &service{c: c, name: name, changed: make(chan struct{})}
	closed, ok := c.services.Add(name, s, c.now())
	for _, old := range closed {
		old.forgetLocked()
	}
	if !ok {
		return nil, &weft.Error{Code: weft.ResourceExhausted, Outcome: weft.NotSent, Reason: weft.ReasonClientLimit,
			Message: fmt.Sprintf("calls wait for %d services of which no server is known, and %s would be one more", idle.MostVacant, name)}
	}
	if former, waited := c.services.TakeLeft(name); waited {
		former.wake() // its calls wait at the new one from now on
	}
	// The functions may be called at once, and they want the client's lock. This goroutine ends when the watches have begun.
	c.wg.Add(1)
	go s.watch()
	return s, nil
}

// forgetLocked ends the watches of a service that was closed, since it is not called. A call that begins now opens it again.
func (s *service) forgetLocked() {
	s.former = s.view.Swap(nil)
	// The functions of the watches want the client's lock. This goroutine ends when they have returned.
	s.c.wg.Add(1)
	go func() {
		defer s.c.wg.Done()
		s.close()
	}()
	s.c.told.Server(slog.LevelInfo, "service no longer watched", "service", s.name)
}

// closeIdle closes the services that were not called for long, and then, with the calls that had begun before, the servers of no other one.
func (c *Client) closeIdle(now time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.services.Due(now) || c.closed.Load() {
		return
	}
	closed, ended := c.services.Sweep(now)
	for _, s := range closed {
		s.forgetLocked()
		// Calls between two attempts open it again. Those of one that is closed for another would close one another's: they wait until some
		// other call opens it.
		s.wake()
	}
	for _, s := range ended {
		s.former = nil
	}
	if len(ended) > 0 {
		c.retireUnusedLocked()
	}
}

// hold keeps a service from being closed until release is called; false: it is closed.
func (s *service) hold() bool {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	held := s.c.services.Has(s.name, s)
	if held {
		s.use.Hold()
	}
	return held
}

func (s *service) release() {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.use.Release()
}

// watch learns instances and rules from now on.
func (s *service) watch() {
	defer s.c.wg.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c.life.Err() != nil || s.closed {
		return
	}
	s.stops = append(s.stops, s.c.cfg.Registry.Watch(s.name, s.learn))
	if !s.c.cfg.NoRules {
		s.stops = append(s.stops, s.c.cfg.Registry.WatchDocument(RulesDocument(s.name), s.rule))
	}
}

// RulesDocument is the name of the document in a registry that holds the rules of a service; see package route.
func RulesDocument(service string) string { return "rules/" + service }

// close ends the watches.
func (s *service) close() {
	s.mu.Lock()
	stops := s.stops
	s.stops, s.snapshot, s.closed = nil, nil, true
	s.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
}

// learn takes a new list of instances.
func (s *service) learn(snapshot *registry.Snapshot) {
	s.mu.Lock()
	s.snapshot = snapshot
	s.mu.Unlock()
	s.rebuild()
}

// rule takes a new document of rules. The error says that they cannot be used.
func (s *service) rule(d registry.Document, err error) error {
	changed := err == nil || d.Version != 0 // otherwise nothing is known
	if changed {
		was := s.rules.Status()
		if wrong := s.rules.Update(d.Value, d.Version); wrong != nil {
			s.c.cfg.Logger.Error("the rules cannot be used; the last good ones stay", "service", s.name, "registry_revision", d.Version, "error", wrong)
			return wrong // the registry tells next what there is in their place
		} else if d.Version != was.Version {
			// The number in the rules is the one that 'weft rules rollback' takes; rules that were stored by other means may have none.
			s.c.cfg.Logger.Info("rules in force", "service", s.name, "version", s.rules.Rules().Version(), "was", was.Rules.Version(), "registry_revision", d.Version)
		}
	}
	s.settleRules(changed)
	return nil
}

// settleRules has calls wait for rules no longer.
func (s *service) settleRules(changed bool) {
	s.mu.Lock()
	changed = changed || !s.ruled
	s.ruled = true
	s.mu.Unlock()
	if changed {
		s.rebuild()
	}
}

// rebuild makes a new view of what is known now. Calls use the old one meanwhile, and the client's lock is free while pickers are built, which
// for thousands of servers takes long.
func (s *service) rebuild() {
	s.rebuilding.Lock()
	defer s.rebuilding.Unlock()
	v := s.begin()
	if v == nil {
		return
	}
	v.build(s.c.cfg.Balancer)
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.coming = nil
	if s.c.closed.Load() {
		return
	}
	if s.c.services.Has(s.name, s) {
		for _, note := range v.plan.Notes {
			if old := s.view.Load(); old == nil || old.rules != v.rules {
				s.c.cfg.Logger.Warn("rules", "service", s.name, "note", note)
			}
		}
		s.view.Store(v)
		s.wake()
	}
	s.c.retireUnusedLocked()
}

// begin begins a view with its servers; nil: there is none to be made.
func (s *service) begin() *view {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.snapshot == nil || s.c.closed.Load() || !s.c.services.Has(s.name, s) {
		return nil
	}
	s.c.services.Tell(s.name, len(s.snapshot.Instances) > 0)
	v := &view{snapshot: s.snapshot, rules: s.rules.Rules(), ruled: s.ruled || s.c.cfg.NoRules}
	old := s.view.Load()
	for _, i := range s.snapshot.Instances {
		if s.c.cfg.admits(&i) {
			v.instances = append(v.instances, i)
			v.servers = append(v.servers, s.c.serverAtLocked(&i, !old.listed()))
		}
	}
	if old != nil {
		v.published = old.published
	}
	s.coming = v
	return v
}

// build plans a view and builds its pickers.
func (v *view) build(b balance.Balancer) {
	v.published = published.By(v.instances, v.published)
	v.plan = v.rules.Plan(v.instances)
	nodes := v.nodes()
	for _, subset := range v.plan.Subsets {
		some, avoid := make([]balance.Node, 0, len(subset.Index)), true
		for _, i := range subset.Index {
			some = append(some, nodes[i])
			avoid = avoid && nodes[i].Avoid
		}
		v.sets = append(v.sets, set{b.Build(some), subset.Index, avoid})
	}
}

// admits reports whether an instance has the group and the version that are wanted.
func (c *Config) admits(i *weft.Instance) bool {
	return (c.Group == "" || c.Group == i.Group) && (c.Version == "" || c.Version == i.Version)
}

// nodes are the instances as a balancer sees them.
func (v *view) nodes() []balance.Node {
	nodes := make([]balance.Node, len(v.instances))
	for i := range v.instances {
		instance, server, effect := &v.instances[i], v.servers[i], v.plan.Instances[i]
		nodes[i] = balance.Node{
			ID: instance.ID, Weight: effect.Weight, Zone: instance.Zone, Stats: server.stats, Position: instance.Position, Load: instance.Load,
			Avoid: effect.State != weft.On || server.down.Load() || !server.health.Available(),
		}
	}
	return nodes
}

// at returns the server at an address, nil when there is none.
func (v *view) at(address string) *server {
	for _, s := range v.servers {
		if s.address == address {
			return s
		}
	}
	return nil
}

// known reports whether the view is worth acting on: a registry that has never answered says nothing, and rules can forbid what the list
// alone allows.
func (v *view) known() bool { return v.listed() && v.ruled }

// listed reports whether the list of instances is known.
func (v *view) listed() bool { return v != nil && (len(v.instances) > 0 || v.snapshot.Err == nil) }

// rulesPatience is how long calls wait for the rules once the servers are known.
const rulesPatience = time.Second

// wait waits for a view that is known.
func (s *service) wait(ctx context.Context, method string) (*view, error) {
	var late <-chan time.Time
	for {
		changed := s.nextChange()
		v := s.view.Load()
		if v.known() {
			return v, nil
		}
		if v.listed() && late == nil {
			timer := time.NewTimer(rulesPatience)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-changed:
		case <-late:
			s.c.cfg.Logger.Warn("the rules are not known in time, calls are made without", "service", s.name)
			s.settleRules(false)
		case <-s.c.life.Done():
			return nil, closedError(method)
		case <-ctx.Done():
			e := weft.Errorf(weft.CodeOf(ctx.Err()), "the registry has not said in time which servers %s has: %w", s.name, ctx.Err())
			if v != nil && v.snapshot.Err != nil {
				e = weft.Errorf(weft.CodeOf(ctx.Err()), "the registry %s cannot be reached, and there is no cached list of the servers of %s: %w",
					v.snapshot.Source, s.name, v.snapshot.Err)
			}
			e.Outcome, e.Method = weft.NotSent, method
			return nil, e
		}
	}
}

// nextChange is closed when there is a view newer than the present one.
func (s *service) nextChange() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// wake wakes the calls that wait for a change.
func (s *service) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// serverAtLocked returns the server of an instance; first says that it is in the first list of its service.
func (c *Client) serverAtLocked(i *weft.Instance, first bool) *server {
	s := c.servers[i.Address]
	if s == nil {
		s = newServer(c, i.Address, c.newSince(i, first))
		c.servers[i.Address] = s
		c.told.Server(slog.LevelInfo, "server found", "addr", i.Address)
	}
	s.noteStartLocked(i)
	return s
}

// retireUnusedLocked retires the servers that no service has any more.
func (c *Client) retireUnusedLocked() {
	wanted := make(map[*server]bool, len(c.servers))
	want := func(v *view) {
		if v != nil {
			for _, server := range v.servers {
				wanted[server] = true
			}
		}
	}
	for _, s := range c.services.Open {
		want(s.view.Load())
		want(s.coming)
	}
	for _, s := range c.services.Lingering() {
		want(s.former)
	}
	for address, s := range c.servers {
		if wanted[s] {
			continue
		}
		delete(c.servers, address)
		c.panel.Remove(s.health)
		c.told.Server(slog.LevelInfo, "server gone", "addr", address)
		c.keepOpeningsLocked(s)
		s.leave()
	}
}

// usedIn lists the services that have one of the servers, by name.
func (c *Client) usedIn(servers map[*server]bool) []*service {
	c.mu.Lock()
	defer c.mu.Unlock()
	has := func(v *view) bool {
		return v != nil && slices.ContainsFunc(v.servers, func(x *server) bool { return servers[x] })
	}
	var out []*service
	for _, s := range c.services.Open {
		if has(s.view.Load()) || has(s.coming) {
			out = append(out, s)
		}
	}
	return out
}
