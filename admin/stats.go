package admin

import (
	"context"
	"math"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/weftrpc/weft"
)

// StatsRequest is the request of weft.Admin.Stats.
type StatsRequest struct {
	Buckets bool   `json:"buckets,omitempty" weft:"1" doc:"send the histograms too, from which MethodStats.Since computes the quantiles of an interval"`
	Method  string `json:"method,omitempty" weft:"2" doc:"a method, or a service and .*; empty: all"`
	Local   bool   `json:"local,omitempty" weft:"3" doc:"leave out the clients of Config.Clusters"`
}

// Stats are what a server has counted since it was made.
type Stats struct {
	At          time.Time         `json:"at" weft:"1" doc:"when they were read, by the clock of the server"`
	Uptime      float64           `json:"uptime_seconds" weft:"2" doc:"since weft.Admin was registered"`
	Phase       string            `json:"phase" weft:"3" doc:"starting, serving, shutting down or shut down"`
	Methods     []MethodStats     `json:"methods" weft:"4" doc:"those that were called, by name"`
	Refused     map[string]uint64 `json:"refused,omitempty" weft:"5" doc:"calls that did not reach their handlers, by reason"`
	InFlight    int               `json:"in_flight" weft:"6" doc:"calls that wait or run now"`
	Connections int               `json:"connections" weft:"7" doc:"that are open now"`
	Accepted    uint64            `json:"connections_accepted" weft:"8"`
	Rejected    uint64            `json:"connections_rejected" weft:"9"`
	Process     Process           `json:"process" weft:"10"`
	Clusters    []ClusterStats    `json:"clusters,omitempty" weft:"11" doc:"clients of other servers, by name"`
	Read        uint64            `json:"read_bytes" weft:"12" doc:"from all connections of weft's own wire"`
	Written     uint64            `json:"written_bytes" weft:"13" doc:"to all connections of weft's own wire"`
}

// MethodStats are the calls of one method.
type MethodStats struct {
	Method   string            `json:"method" weft:"1"`
	Calls    uint64            `json:"calls" weft:"2" doc:"all that have ended"`
	Failed   uint64            `json:"failed" weft:"3" doc:"of these"`
	Codes    map[string]uint64 `json:"codes,omitempty" weft:"4" doc:"of those that failed, by their code"`
	InFlight int               `json:"in_flight,omitempty" weft:"5" doc:"calls that wait or run now, as the overload protection counts them"`
	Latency  Latency           `json:"latency" weft:"6"`

	RequestBytes uint64 `json:"request_bytes,omitempty" weft:"7" doc:"of the bodies of requests, as they were on the wire"`
	ReplyBytes   uint64 `json:"reply_bytes,omitempty" weft:"8" doc:"of the bodies of replies, as they were on the wire"`
}

// Latency is a distribution of durations. Of its short calls a server measures one in sixteen.
type Latency struct {
	Count   uint64   `json:"count" weft:"1" doc:"calls that were measured"`
	Sum     float64  `json:"sum_seconds" weft:"2" doc:"of these"`
	P50     float64  `json:"p50_seconds" weft:"3"`
	P90     float64  `json:"p90_seconds" weft:"4"`
	P99     float64  `json:"p99_seconds" weft:"5"`
	P999    float64  `json:"p999_seconds" weft:"6"`
	Buckets []Bucket `json:"buckets,omitempty" weft:"7" doc:"the histogram, where the request asks for it"`
}

// Bucket is a part of a histogram.
type Bucket struct {
	Upper float64 `json:"upper_seconds" weft:"1" doc:"its upper end"`
	Count uint64  `json:"count" weft:"2" doc:"calls in it"`
}

// Process is what the process of the server uses.
type Process struct {
	Goroutines int     `json:"goroutines" weft:"1"`
	Processors int     `json:"processors" weft:"2" doc:"that it may use at once"`
	CPU        float64 `json:"cpu_seconds" weft:"3" doc:"used by Go code, since the start"`
	Heap       uint64  `json:"heap_bytes" weft:"4" doc:"taken by objects, those that are not collected yet among them"`
	Memory     uint64  `json:"memory_bytes" weft:"5" doc:"that the runtime of Go has from the system"`
	Collected  uint64  `json:"collections" weft:"6" doc:"garbage collections since the start"`
}

// stats answers Stats.
func (s *service) stats(_ context.Context, req *StatsRequest) (*Stats, error) {
	return s.read(req), nil
}

// read reads the statistics that a request asks for.
func (s *service) read(req *StatsRequest) *Stats {
	st := s.srv.Stats()
	out := &Stats{
		At: time.Now(), Methods: []MethodStats{}, Uptime: time.Since(s.began).Seconds(), Phase: s.srv.Phase().String(), Refused: st.Refused, InFlight: st.InFlight,
		Connections: st.Connections, Accepted: st.Accepted, Rejected: st.Rejected, Process: process(),
		Read: st.Traffic.Read, Written: st.Traffic.Written,
	}
	running := make(map[string]int)
	for _, m := range st.Overload.Methods {
		running[m.Method] = m.InFlight
	}
	for _, m := range st.Methods {
		if matches(req.Method, m.Method) {
			one := methodStats(m, req.Buckets)
			one.InFlight = running[m.Method]
			out.Methods = append(out.Methods, one)
		}
	}
	if !req.Local {
		out.Clusters = clustersOf(s.cfg.Clusters, req)
	}
	return out
}

// matches tells whether a method is meant by a pattern: "" for all, "Service.*", or its name.
func matches(pattern, method string) bool {
	if n := len(pattern); n > 1 && pattern[n-1] == '*' {
		return len(method) >= n-1 && method[:n-1] == pattern[:n-1]
	}
	return pattern == "" || pattern == "*" || pattern == method
}

func methodStats(m weft.MethodStats, buckets bool) MethodStats {
	out := MethodStats{Method: m.Method, Calls: m.Calls, Latency: latencyOf(m.Latency, buckets), RequestBytes: m.RequestBytes, ReplyBytes: m.ReplyBytes}
	if len(m.Codes) > 0 {
		out.Codes = make(map[string]uint64, len(m.Codes))
	}
	for code, n := range m.Codes {
		out.Codes[code.String()] = n
		out.Failed += n
	}
	return out
}

func latencyOf(l weft.Latency, buckets bool) Latency {
	out := Latency{
		Count: l.Count, Sum: l.Sum.Seconds(), P50: l.Quantile(0.5).Seconds(), P90: l.Quantile(0.9).Seconds(),
		P99: l.Quantile(0.99).Seconds(), P999: l.Quantile(0.999).Seconds(),
	}
	if buckets {
		for upper, n := range l.Buckets {
			out.Buckets = append(out.Buckets, Bucket{upper.Seconds(), n})
		}
	}
	return out
}

// process measures this process.
func process() Process {
	samples := []metrics.Sample{
		{Name: "/cpu/classes/user:cpu-seconds"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/total:bytes"}, {Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(samples)
	whole := func(i int) uint64 {
		if samples[i].Value.Kind() == metrics.KindUint64 {
			return samples[i].Value.Uint64()
		}
		return 0
	}
	out := Process{
		Goroutines: runtime.NumGoroutine(), Processors: runtime.GOMAXPROCS(0),
		Heap: whole(1), Memory: whole(2), Collected: whole(3),
	}
	if samples[0].Value.Kind() == metrics.KindFloat64 {
		out.CPU = samples[0].Value.Float64()
	}
	return out
}

// Since are the calls between two readings of the statistics of a method: their number, their
// codes, and, where both were asked for with buckets, the quantiles of their durations. before may
// be nil. When the server was started anew between them, m itself is returned.
func (m *MethodStats) Since(before *MethodStats) MethodStats {
	if before == nil || before.Calls > m.Calls {
		return *m
	}
	out := MethodStats{Method: m.Method, Calls: m.Calls - before.Calls, Failed: m.Failed - min(before.Failed, m.Failed), InFlight: m.InFlight,
		RequestBytes: m.RequestBytes - min(before.RequestBytes, m.RequestBytes), ReplyBytes: m.ReplyBytes - min(before.ReplyBytes, m.ReplyBytes)}
	for code, n := range m.Codes {
		if n > before.Codes[code] {
			if out.Codes == nil {
				out.Codes = make(map[string]uint64)
			}
			out.Codes[code] = n - before.Codes[code]
		}
	}
	out.Latency = m.Latency.since(&before.Latency)
	return out
}

// since are the durations between two readings.
func (l *Latency) since(before *Latency) Latency {
	was := make(map[float64]uint64, len(before.Buckets))
	for _, b := range before.Buckets {
		was[b.Upper] = b.Count
	}
	var out Latency
	for _, b := range l.Buckets {
		if n := b.Count - min(was[b.Upper], b.Count); n > 0 {
			out.Buckets = append(out.Buckets, Bucket{b.Upper, n})
			out.Count += n
		}
	}
	out.Sum = max(l.Sum-before.Sum, 0)
	out.P50, out.P90, out.P99, out.P999 = out.Quantile(0.5), out.Quantile(0.9), out.Quantile(0.99), out.Quantile(0.999)
	return out
}

// Quantile is the time in seconds within which the share q, from 0 to 1, of the measured calls
// ended, by the buckets; 0 when there are none.
func (l *Latency) Quantile(q float64) float64 {
	total := uint64(0)
	for _, b := range l.Buckets {
		total += b.Count
	}
	rank := max(uint64(math.Ceil(min(max(q, 0), 1)*float64(total))), 1)
	for _, b := range l.Buckets {
		if b.Count >= rank {
			return b.Upper
		}
		rank -= b.Count
	}
	return 0
}
