package weft

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/weftrpc/weft/internal/stats"
)

// MethodStats are the calls of one method since the server or client was made.
type MethodStats struct {
	Method  string          // "Service.Method"
	Calls   uint64          // all that have ended
	Codes   map[Code]uint64 // those that failed, by their code
	Latency Latency         // how long they took
	// Latencies are how long they took by the code that they ended with, 0 for those that
	// went well. A code is missing when no duration was recorded.
	Latencies map[Code]Latency
	// RequestBytes and ReplyBytes are how many bytes the bodies of requests and replies have had on the wire,
	// compressed where they were: without headers, metadata and errors, and of a stream all its messages, once it
	// has ended. A foreign wire of a client, or a door, may not count all.
	RequestBytes, ReplyBytes uint64
}

// Latency is a distribution of durations. A client records every call; a server records
// those that fail, those that run on workers, and one in sixteen of the others.
type Latency struct {
	Count     uint64        // durations that were recorded
	Sum       time.Duration // of these, within the width of the histogram's buckets
	histogram Histogram
}

// Histogram is what a Latency is made of. It does not change.
type Histogram interface {
	// Quantile is that of Latency.
	Quantile(q float64) time.Duration
	// Buckets is that of Latency.
	Buckets(yield func(upper time.Duration, count uint64) bool)
}

// NewLatency returns the distribution of a histogram, for a Caller that measures calls itself, as package cluster does.
func NewLatency(count uint64, sum time.Duration, h Histogram) Latency {
	return Latency{Count: count, Sum: sum, histogram: h}
}

// Quantile is the time within which the share q, from 0 to 1, of the recorded calls
// ended, at most a quarter too high; 0 when none was recorded.
func (l Latency) Quantile(q float64) time.Duration {
	if l.histogram == nil {
		return 0
	}
	return l.histogram.Quantile(q)
}

// Buckets calls yield with every bucket of the histogram that holds a duration, in order: its upper end and how many durations it holds.
func (l Latency) Buckets(yield func(upper time.Duration, count uint64) bool) {
	if l.histogram != nil {
		l.histogram.Buckets(yield)
	}
}

// methodStatsOf makes the public form of a summary.
func methodStatsOf(name string, s *stats.Summary) MethodStats {
	m := MethodStats{Method: name, Calls: s.Calls(), Codes: make(map[Code]uint64), RequestBytes: s.Requests, ReplyBytes: s.Replies,
		Latency: NewLatency(s.Timed, s.Sum, s), Latencies: make(map[Code]Latency)}
	for code, n := range s.Codes {
		if code != 0 && n > 0 {
			m.Codes[Code(code)] = n
		}
		if d := s.Of(uint16(code)); d != nil {
			m.Latencies[Code(code)] = NewLatency(d.Timed, d.Sum, d)
		}
	}
	return m
}

// Refusals are the calls that were refused before their handlers ran, by reason.
type Refusals map[string]uint64

// ServerStats are what a server has done since it was made.
type ServerStats struct {
	Methods     []MethodStats // that were called, by name; those of removed methods stay
	Refused     Refusals      // also of calls that reached no method
	InFlight    int           // calls that wait or run now
	Connections int           // that are open now
	Accepted    uint64        // connections that were admitted
	Rejected    uint64        // connections that were refused
	Overload    OverloadStats // what the overload protection does now
	Traffic     Traffic       // of all connections of weft's own wire, those that have ended among them
}

// Traffic is how many bytes connections have carried, all that weft reads and writes counted: with TLS those inside of it.
type Traffic struct{ Read, Written uint64 }

// Stats returns a snapshot of what the server has counted. It costs some microseconds for each method, and the calls nothing.
func (s *Server) Stats() ServerStats {
	peers := s.Peers()
	out := ServerStats{
		Methods: s.host.stats(), Refused: s.host.refused.Snapshot(), Connections: len(peers),
		Accepted: s.accepted.Load(), Rejected: s.rejected.Load(), Overload: s.host.overloadStats(),
	}
	for _, p := range peers {
		out.InFlight += p.incoming()
	}
	// The lock of the server is not held while those of connections are taken.
	s.mu.Lock()
	out.Traffic = s.traffic
	open := slices.Collect(maps.Keys(s.peers))
	s.mu.Unlock()
	for _, p := range open {
		out.Traffic.add(p)
	}
	return out
}

// add adds what a connection has carried.
func (t *Traffic) add(p *Peer) {
	of := p.Traffic()
	t.Read += of.Read
	t.Written += of.Written
}

// Traffic is what the connection has carried; zero for one of a foreign wire.
func (p *Peer) Traffic() (t Traffic) {
	if p.s != nil {
		t.Read, t.Written = p.s.Traffic()
	}
	return t
}

// ClientStats are what a client has done since it was made.
type ClientStats struct {
	Methods     []MethodStats // that were called, by name; beyond 4,096 of them as one without a name
	Served      []MethodStats // of the client's Services, that its server called
	Refused     Refusals      // of these
	Connections int           // that are open now
	Connects    uint64        // connections that were made
	Failures    uint64        // attempts to connect that failed
}

// Stats returns a snapshot of what the client has counted.
func (c *Client) Stats() ClientStats {
	out := ClientStats{
		Methods: listed(c.caller.stats.All), Served: c.host.stats(), Refused: c.host.refused.Snapshot(),
		Connects: c.connects.Load(), Failures: c.failures.Load(),
	}
	for i := range c.links {
		out.Connections += c.links[i].Open()
	}
	return out
}

// MethodBytes are RequestBytes and ReplyBytes of a method in Stats, which reads much more.
func (c *Client) MethodBytes(method string) (requests, replies uint64) {
	if m := c.caller.stats.Known(method); m != nil {
		return m.Carried()
	}
	return 0, 0
}

// summaries adds up what was counted of each method, by name, those of removed methods among them.
func (h *host) summaries() map[string]*stats.Summary {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make(map[string]*stats.Summary, len(h.endpoints))
	for name, s := range h.removed {
		sum := *s
		all[name] = &sum
	}
	for m, e := range h.endpoints {
		sum := e.stats.Summary()
		if past := all[m.name]; past != nil {
			sum.Add(past)
		}
		all[m.name] = sum
	}
	return all
}

// stats lists the statistics of the methods that were called, by name.
func (h *host) stats() []MethodStats { return listed(maps.All(h.summaries())) }

// listed are the statistics of methods in their public form, by name.
func listed(all iter.Seq2[string, *stats.Summary]) []MethodStats {
	var out []MethodStats
	for name, s := range all {
		out = append(out, methodStatsOf(name, s))
	}
	slices.SortFunc(out, func(a, b MethodStats) int { return cmp.Compare(a.Method, b.Method) })
	return out
}
