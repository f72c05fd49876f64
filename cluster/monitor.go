package cluster

import (
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weftrpc/weft/cluster/breaker"
	"github.com/weftrpc/weft/cluster/health"
	"github.com/weftrpc/weft/cluster/internal/journal"
)

const (
	// tickEvery is how often the servers are looked at.
	tickEvery = 250 * time.Millisecond
	// settle is how long the monitor lets news gather: many connections are lost at the same time.
	settle = 5 * time.Millisecond
)

// outlook is how the monitor is told to look, and what it and the calls tell the log beside the states of servers.
type outlook struct {
	kicked chan struct{} // holds one when the monitor is to look at once
	told   *journal.Journal
}

// kick has the monitor look at the servers at once.
func (o *outlook) kick() {
	select {
	case o.kicked <- struct{}{}:
	default:
	}
}

// monitor looks at the servers from time to time, and soon after it was kicked.
func (c *Client) monitor() {
	defer c.wg.Done()
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	seen := make(map[*server]uint32) // how often each had gone down or come up when last looked at
	for {
		select {
		case <-c.life.Done():
			return
		case <-ticker.C:
		case <-c.kicked:
			timer := time.NewTimer(settle)
			select {
			case <-timer.C:
			case <-c.life.Done():
				timer.Stop()
				return
			}
		}
		c.look(seen)
	}
}

// look has the panel judge the servers, rebuilds the views of those whose state has changed, and closes the connections of those that are
// not used.
func (c *Client) look(seen map[*server]uint32) {
	now := c.now()
	changed := make(map[*server]bool)
	byTracker := make(map[*health.Tracker]*server)
	servers := c.list()
	for _, s := range servers {
		byTracker[s.health] = s
		c.lookAfter(s)
		if turns := s.turns.Load(); turns != seen[s] {
			changed[s] = true
			seen[s] = turns
		}
	}
	for s := range seen {
		if byTracker[s.health] == nil {
			delete(seen, s)
		}
	}
	for _, change := range c.panel.Tick(now, rand.Uint64()) {
		s := byTracker[change.Tracker]
		if s == nil {
			continue
		}
		changed[s] = true
		c.changed(s, change, now)
	}
	for _, s := range servers {
		if s.health.State() != health.Probing {
			s.alive.Store(false)
		} else if !s.alive.Load() {
			c.ping(s)
		}
	}
	if len(changed) > 0 {
		for _, service := range c.usedIn(changed) {
			service.rebuild()
		}
	}
	c.restIdle(servers)
	c.closeIdle(now)
	if c.told.Due(now) {
		c.mu.Lock()
		methods := slices.Clone(c.numbered)
		c.mu.Unlock()
		c.outlook.tell(servers, methods, now)
	}
	if c.totals.bytes.Due(now) {
		c.mu.Lock()
		methods := names(c.numbered)
		c.mu.Unlock()
		c.totals.bytes.Settle(methods, now)
	}
}

// changed deals with a server whose state has changed.
func (c *Client) changed(s *server, change health.Change, now time.Duration) {
	level := slog.LevelWarn
	switch change.To {
	case health.Healthy:
		level = slog.LevelInfo
		s.stats.Restart(now)
		if change.From != health.Down {
			s.counts.returns.Add(1)
			c.totals.returns.Add(1)
		}
	case health.Down:
		if s.loss.expected.Load() {
			level = slog.LevelInfo
		}
	case health.Ejected:
		s.counts.ejections.Add(1)
		c.totals.ejections.Add(1)
		c.ping(s)
	}
	c.told.Server(level, "server "+change.To.String(), "addr", s.address, "was", change.From.String(), "why", change.Why)
}

// lookAfter finds out whether a server that is down is up again: its client may have connected as a call failed, or may wait for a call to
// connect at all.
func (c *Client) lookAfter(s *server) {
	l := s.link.Load()
	if l == nil || !s.down.Load() {
		return
	}
	if l.client.Peer() != nil {
		s.cameUp(l)
	} else if !l.asked.Swap(true) {
		c.ping(s)
	}
}

// ping begins a ping of a server, unless one is under way.
func (c *Client) ping(s *server) {
	if !s.pinging.Swap(true) {
		c.wg.Add(1)
		// It ends with the ping, which is bounded in time.
		go s.ping()
	}
}

// list is every server.
func (c *Client) list() []*server {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.servers))
}

// restIdle closes the connections of servers without a call for long.
func (c *Client) restIdle(servers []*server) {
	for _, s := range servers {
		if s.used.Swap(false) || s.stats.InFlight() > 0 {
			s.lastUsed = time.Now()
			continue
		}
		if c.cfg.IdleTimeout > 0 && s.connected() && time.Since(s.lastUsed) >= c.cfg.IdleTimeout {
			s.lastUsed = time.Now()
			s.rest()
		}
	}
}

// tell has the log know of the breakers of the servers, and of hedges.
func (o *outlook) tell(servers []*server, methods []*method, now time.Duration) {
	listed := make(map[string]bool, len(servers))
	var open []journal.Breaker
	for _, s := range servers {
		listed[s.address] = true
		for number, b := range *s.breakers.Load() {
			if b != nil && number < len(methods) && b.State(now) != breaker.Closed {
				open = append(open, journal.Breaker{Address: s.address, Method: methods[number].name, Why: b.Status(now).Why})
			}
		}
	}
	o.told.Breakers(open, func(address string) bool { return listed[address] })
	if !o.told.HedgesDue(now) {
		return
	}
	var hedged []journal.Method
	for _, m := range methods {
		if m.hedge.Load() > 0 {
			hedged = append(hedged, journal.Method{Name: m.name, Calls: m.calls.Summary().Calls(), Hedges: m.hedges.Load()})
		}
	}
	o.told.Hedges(hedged)
}
