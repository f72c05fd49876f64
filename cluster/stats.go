package cluster

import (
	"cmp"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/breaker"
	"github.com/weftrpc/weft/cluster/health"
	"github.com/weftrpc/weft/cluster/internal/carried"
)

// Stats are what a client has done since it was made. Its numbers never go down.
type Stats struct {
	Methods   []MethodStats // that were called, by name
	Servers   []ServerStats // that are listed now, by address
	Throttled uint64        // calls that were not sent since the servers refuse many for overload
	Losses    uint64        // how often a server went down: it could not be reached, or lost its last connection
	Ejections uint64        // how often a server was ejected
	Returns   uint64        // how often an ejected one was let back
	// Services are those that are watched now, by name: see Config.ServiceIdleTimeout.
	Services []ServiceStats
	// Budget is how many retries are saved now, beside those that are always allowed.
	Budget float64
}

// ServiceStats are what is known of a service.
type ServiceStats struct {
	Service string
	Source  string        // where the list of its instances is from; "": nothing is known yet
	Age     time.Duration // since the registry confirmed the list
	Err     error         // why the registry does not answer now; nil while it does
	// Instances are those that the client may use, by the state of their servers.
	Instances map[health.State]int
}

// MethodStats are the calls of one method.
type MethodStats struct {
	// MethodStats counts the unary and one-way calls as their callers saw them: once each, with the time from the first attempt to the end
	// of the last. A fan-out counts once for each server. Its RequestBytes and ReplyBytes are those of all attempts, and of streams that
	// have ended.
	weft.MethodStats
	// Failures are the attempts that brought no reply, by outcome; a call may have had several, and the slower one of a hedge is among them.
	Failures        map[weft.Outcome]uint64
	Streams         uint64 // streams that were opened
	Retries         uint64 // attempts after the first of a call or stream, those of hedges aside
	Hedges          uint64 // second attempts beside a first one that took long
	BreakerOpenings uint64 // how often a breaker of the method opened, on any server
}

// ServerStats are the state of one server and what has happened to it since it was listed.
type ServerStats struct {
	Address     string
	State       health.State
	Why         string        // it is in this state; "" for a healthy server that is well
	Connections int           // that are open now
	InFlight    int           // calls that wait for an answer now
	Latency     time.Duration // as the balancer sees it; 0: not known
	Losses      uint64        // how often it went down
	Ejections   uint64        // how often it was ejected
	Returns     uint64        // how often it was let back
	// RequestBytes and ReplyBytes are those of the calls to it, as weft.MethodStats has them.
	RequestBytes, ReplyBytes uint64
	// Breakers are those of the methods that were called there, by name.
	Breakers []BreakerStats
}

// BreakerStats are the state of the breaker of one method on one server.
type BreakerStats struct {
	Method string
	breaker.Status
}

// events count how often servers went down, were ejected and came back.
type events struct{ losses, ejections, returns atomic.Uint64 }

// counts are those of one server.
type counts struct {
	events
	bytes carried.Server
}

// totals are those of all servers, of those that have left too.
type totals struct {
	events
	bytes  carried.Sum
	unsent atomic.Uint64 // calls that throttles have held back
}

// Stats returns a snapshot of what the client has counted. It costs some microseconds for each method and server, and the calls next to
// nothing.
func (c *Client) Stats() Stats {
	now := c.now()
	reports := make(map[string]health.Report)
	for _, r := range c.panel.Reports(now) {
		reports[r.Name] = r
	}
	c.mu.Lock()
	methods, servers, services := slices.Clone(c.numbered), slices.Collect(maps.Values(c.servers)), slices.Collect(maps.Values(c.services.Open))
	out := Stats{Losses: c.totals.losses.Load(), Ejections: c.totals.ejections.Load(), Returns: c.totals.returns.Load(),
		Throttled: c.totals.unsent.Load(), Budget: c.budget.Balance(now)}
	openings := make([]uint64, len(methods))
	for i, m := range methods {
		openings[i] = m.openings
	}
	c.mu.Unlock()
	ofMethods, ofServers := c.totals.bytes.Read(names(methods))
	for _, s := range servers {
		one := s.snapshot(reports[s.address], methods, openings, now)
		one.RequestBytes, one.ReplyBytes = ofServers[&s.counts.bytes].Requests, ofServers[&s.counts.bytes].Replies
		out.Servers = append(out.Servers, one)
	}
	for _, s := range services {
		out.Services = append(out.Services, s.snapshotOf(reports))
	}
	slices.SortFunc(out.Services, func(a, b ServiceStats) int { return cmp.Compare(a.Service, b.Service) })
	for i, m := range methods {
		one := m.snapshot(openings[i])
		one.RequestBytes, one.ReplyBytes = ofMethods[i].Requests, ofMethods[i].Replies
		out.Methods = append(out.Methods, one)
	}
	slices.SortFunc(out.Methods, func(a, b MethodStats) int { return cmp.Compare(a.Method, b.Method) })
	slices.SortFunc(out.Servers, func(a, b ServerStats) int { return cmp.Compare(a.Address, b.Address) })
	return out
}

func names(methods []*method) []string {
	all := make([]string, len(methods))
	for i, m := range methods {
		all[i] = m.name
	}
	return all
}

func (m *method) snapshot(openings uint64) MethodStats {
	sum := m.calls.Summary()
	out := MethodStats{
		MethodStats: weft.MethodStats{Method: m.name, Calls: sum.Calls(), Codes: make(map[weft.Code]uint64), Latencies: make(map[weft.Code]weft.Latency)},
		Failures:    make(map[weft.Outcome]uint64),
		Streams:     m.streams.Load(), Retries: m.retries.Load(), Hedges: m.hedges.Load(), BreakerOpenings: openings,
	}
	out.Latency = weft.NewLatency(sum.Timed, sum.Sum, sum)
	for code, n := range sum.Codes {
		if code != 0 && n > 0 {
			out.Codes[weft.Code(code)] = n
		}
		if d := sum.Of(uint16(code)); d != nil {
			out.Latencies[weft.Code(code)] = weft.NewLatency(d.Timed, d.Sum, d)
		}
	}
	for outcome := range m.failures {
		if n := m.failures[outcome].Load(); n > 0 {
			out.Failures[weft.Outcome(outcome)] = n
		}
	}
	return out
}

// countFailure counts an attempt that failed.
func (m *method) countFailure(err error) {
	outcome := weft.OutcomeUnknown
	if e, ok := asError(err); ok {
		outcome = e.Outcome
	}
	m.failures[int(outcome)%len(m.failures)].Add(1)
}

func (s *service) snapshotOf(reports map[string]health.Report) ServiceStats {
	out := ServiceStats{Service: s.name, Instances: make(map[health.State]int)}
	v := s.view.Load()
	if v == nil {
		return out
	}
	out.Source, out.Age, out.Err = v.snapshot.Source, v.snapshot.Age(), v.snapshot.Err
	for _, server := range v.servers {
		state := reports[server.address].State
		if server.invalid != nil || server.down.Load() {
			state = health.Down
		}
		out.Instances[state]++
	}
	return out
}

// snapshot also adds the openings of the server's breakers to those of their methods.
func (s *server) snapshot(r health.Report, methods []*method, openings []uint64, now time.Duration) ServerStats {
	out := ServerStats{
		Address: s.address, State: r.State, Why: r.Why, InFlight: s.stats.InFlight(), Latency: s.stats.Latency(),
		Losses: s.counts.losses.Load(), Ejections: s.counts.ejections.Load(), Returns: s.counts.returns.Load(),
	}
	if l := s.link.Load(); l != nil {
		out.Connections = int(l.conns.Load())
	}
	if s.invalid != nil {
		out.State, out.Why = health.Down, "its address cannot be used: "+s.invalid.Error()
	} else if failure := s.failure.Load(); s.down.Load() && failure != nil {
		out.State, out.Why = health.Down, *failure
	}
	for number, m := range methods {
		if b := s.breakerIf(number); b != nil {
			status := b.Status(now)
			openings[number] += uint64(status.Opened)
			out.Breakers = append(out.Breakers, BreakerStats{m.name, status})
		}
	}
	slices.SortFunc(out.Breakers, func(a, b BreakerStats) int { return cmp.Compare(a.Method, b.Method) })
	return out
}

// keepOpeningsLocked keeps what the breakers of a server that leaves have counted.
func (c *Client) keepOpeningsLocked(s *server) {
	for number, m := range c.numbered {
		if b := s.breakerIf(number); b != nil {
			m.openings += uint64(b.Status(c.now()).Opened)
		}
	}
}

// count counts a unary or one-way call that has ended.
func (m *method) count(x *call, err error) {
	end := x.ended
	if end == 0 {
		end = x.c.now()
	}
	code := weft.Code(0)
	if err != nil {
		code = weft.CodeOf(err)
	}
	m.calls.Ended(uint32(x.side), uint16(code), int64(end-x.began))
}
