package figures

import (
	"cmp"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/breaker"
	"github.com/weftrpc/weft/cluster/health"
)

// Source reads the statistics of the servers and clients that it watches. All methods may be called
// from any goroutine. The zero value is ready.
type Source struct {
	Watched

	reading sync.Mutex
	spreads map[spreadKey]*spread
}

// spreadKey tells apart what is spread.
type spreadKey struct {
	family, name, method string
	code                 weft.Code
}

// Read returns what the statistics are now, by family.
func (s *Source) Read() []Family {
	s.reading.Lock()
	defer s.reading.Unlock()
	if s.spreads == nil {
		s.spreads = make(map[spreadKey]*spread)
	}
	r := &reading{source: s, at: make(map[string]int), series: make(map[string]int)}
	r.value("weft_build_info", "The versions of weft and Go, as labels.", Gauge, 1,
		Label{"version", version()}, Label{"goversion", runtime.Version()})
	for _, srv := range s.Servers() {
		r.server(srv.Name, srv.Of.Stats())
	}
	for _, c := range s.Clients() {
		r.client(c.Name, c.Of.Stats())
	}
	for _, c := range s.Clusters() {
		r.cluster(c.Name, c.Of.Stats())
	}
	slices.SortFunc(r.families, func(a, b Family) int { return cmp.Compare(a.Name, b.Name) })
	return r.families
}

// reading is one reading of a Source.
type reading struct {
	source   *Source
	families []Family
	at       map[string]int // families by name
	series   map[string]int // samples by family and labels
}

func (r *reading) add(name, help string, kind Kind, s Sample) {
	i, ok := r.at[name]
	if !ok {
		i = len(r.families)
		r.at[name] = i
		r.families = append(r.families, Family{Name: name, Help: help, Kind: kind})
	}
	s.Labels = slices.DeleteFunc(s.Labels, func(l Label) bool { return l.Value == "" })
	series := name
	for j := range s.Labels {
		// The names of methods that a client calls may have come from its own callers.
		s.Labels[j].Value = strings.ToValidUTF8(s.Labels[j].Value, "\uFFFD")
		series += "\x00" + s.Labels[j].Name + "\x00" + s.Labels[j].Value
	}
	if before, twice := r.series[series]; twice {
		r.families[i].Samples[before].merge(s)
		return
	}
	r.series[series] = len(r.families[i].Samples)
	r.families[i].Samples = append(r.families[i].Samples, s)
}

// merge adds a sample with the same labels: a scrape with two time series alike is refused as a whole. "A/M" and "A.M" are one
// method in metrics, and so are names that are not UTF-8 and differ only there.
func (s *Sample) merge(o Sample) {
	s.Value += o.Value
	if o.Distribution == nil {
		return
	}
	d := &Distribution{Count: s.Distribution.Count + o.Distribution.Count, Sum: s.Distribution.Sum + o.Distribution.Sum}
	all := append(slices.Clone(s.Distribution.Buckets), o.Distribution.Buckets...)
	slices.SortFunc(all, func(a, b Bucket) int { return cmp.Compare(a.Upper, b.Upper) })
	for _, b := range all {
		if n := len(d.Buckets); n > 0 && d.Buckets[n-1].Upper == b.Upper {
			d.Buckets[n-1].Count += b.Count
		} else {
			d.Buckets = append(d.Buckets, b)
		}
	}
	s.Distribution = d
}

func (r *reading) value(name, help string, kind Kind, v float64, labels ...Label) {
	r.add(name, help, kind, Sample{Labels: labels, Value: v})
}

// durations adds the histograms of a method.
func (r *reading) durations(family, help, name string, m weft.MethodStats, isError func(weft.Code) bool) {
	calls := map[weft.Code]uint64{0: m.Calls}
	for code, n := range m.Codes {
		calls[code] = n
		calls[0] -= min(n, calls[0])
	}
	for _, code := range slices.Sorted(maps.Keys(calls)) {
		key := spreadKey{family, name, m.Method, code}
		s := r.source.spreads[key]
		if s == nil {
			s = newSpread()
			r.source.spreads[key] = s
		}
		if s.read(calls[code], m.Latencies[code]); s.calls == 0 {
			continue
		}
		status := Status(code)
		failure := ""
		if isError(code) {
			failure = status
		}
		r.add(family, help, Histogram, Sample{Distribution: s.distribution(), Labels: []Label{
			{"rpc_system_name", "weft"}, {"rpc_method", MethodName(m.Method)},
			{"rpc_response_status_code", status}, {"error_type", failure}, {"weft_name", name}}})
	}
}

// bytes adds how many bytes the messages of a method have.
func (r *reading) bytes(side, name string, m weft.MethodStats) {
	labels := func() []Label { return []Label{{"rpc_method", MethodName(m.Method)}, {"weft_name", name}} }
	r.value("weft_"+side+"_request_bytes_total", "Bytes of the bodies of requests on the wire, by method.", Counter, float64(m.RequestBytes), labels()...)
	r.value("weft_"+side+"_reply_bytes_total", "Bytes of the bodies of replies on the wire, by method.", Counter, float64(m.ReplyBytes), labels()...)
}

func (r *reading) server(name string, s weft.ServerStats) {
	own := Label{"weft_name", name}
	for _, m := range s.Methods {
		r.durations("rpc_server_call_duration_seconds", "How long the server's calls took, by method and status.", name, m, ServerError)
		r.bytes("server", name, m)
	}
	r.value("weft_server_read_bytes_total", "Bytes that were read from connections of weft's own wire.", Counter, float64(s.Traffic.Read), own)
	r.value("weft_server_written_bytes_total", "Bytes that were written to connections of weft's own wire.", Counter, float64(s.Traffic.Written), own)
	r.value("weft_server_connections", "Open connections of clients.", Gauge, float64(s.Connections), own)
	r.value("weft_server_calls_in_flight", "Calls that wait or run now.", Gauge, float64(s.InFlight), own)
	r.value("weft_server_connections_accepted_total", "Connections that were accepted.", Counter, float64(s.Accepted), own)
	r.value("weft_server_connections_rejected_total", "Connections that were refused.", Counter, float64(s.Rejected), own)
	r.refused(name, s.Refused)
}

func (r *reading) refused(name string, all weft.Refusals) {
	for _, reason := range slices.Sorted(maps.Keys(all)) {
		r.value("weft_server_refused_total", "Calls that were refused before their handlers ran, by reason.", Counter,
			float64(all[reason]), Label{"reason", reason}, Label{"weft_name", name})
	}
}

const (
	clientFamily = "rpc_client_call_duration_seconds"
	clientHelp   = "How long the client's calls took, all attempts included, by method and status."
)

func (r *reading) client(name string, s weft.ClientStats) {
	own := Label{"weft_name", name}
	for _, m := range s.Methods {
		r.durations(clientFamily, clientHelp, name, m, ClientError)
		r.bytes("client", name, m)
	}
	r.value("weft_client_connections", "Open connections to servers.", Gauge, float64(s.Connections), own)
	r.value("weft_client_connects_total", "Connections that were made to a server.", Counter, float64(s.Connects), own)
	r.value("weft_client_connect_failures_total", "Attempts to connect that failed.", Counter, float64(s.Failures), own)
}

func (r *reading) cluster(name string, s cluster.Stats) {
	own := Label{"weft_name", name}
	for _, m := range s.Methods {
		method := Label{"rpc_method", MethodName(m.Method)}
		r.durations(clientFamily, clientHelp, name, m.MethodStats, ClientError)
		r.bytes("client", name, m.MethodStats)
		r.attempts(m, method, own)
		r.value("weft_client_retries_total", "Attempts after the first of a call, those of hedges aside.", Counter, float64(m.Retries), method, own)
		r.value("weft_client_hedges_total", "Second attempts beside a first one that took long.", Counter, float64(m.Hedges), method, own)
		r.value("weft_client_streams_total", "Streams that were opened.", Counter, float64(m.Streams), method, own)
		r.value("weft_breaker_openings_total", "How often a breaker of the method opened, on any server.", Counter, float64(m.BreakerOpenings), method, own)
	}
	r.value("weft_client_retry_budget", "Retries that are saved now, beside those that are always allowed.", Gauge, s.Budget, own)
	r.value("weft_cluster_server_losses_total", "How often a server went down.", Counter, float64(s.Losses), own)
	r.value("weft_cluster_server_ejections_total", "How often a server was ejected.", Counter, float64(s.Ejections), own)
	r.value("weft_cluster_server_returns_total", "How often an ejected server was let back.", Counter, float64(s.Returns), own)
	connections, open := 0, make(map[string]int)
	for _, m := range s.Methods {
		open[m.Method] = 0
	}
	for _, server := range s.Servers {
		connections += server.Connections
		for _, b := range server.Breakers {
			if b.State != breaker.Closed {
				open[b.Method]++
			}
		}
	}
	r.value("weft_client_connections", "Open connections to servers.", Gauge, float64(connections), own)
	for _, method := range slices.Sorted(maps.Keys(open)) {
		r.value("weft_breaker_open", "Servers whose breaker of the method is not closed.", Gauge, float64(open[method]), Label{"rpc_method", MethodName(method)}, own)
	}
	for _, service := range s.Services {
		r.service(service, own)
	}
}

func (r *reading) attempts(m cluster.MethodStats, method, own Label) {
	const name, help = "weft_client_attempts_total", "Attempts of calls, by how far they got."
	ok := m.Calls
	for _, n := range m.Codes {
		ok -= min(n, ok)
	}
	r.value(name, help, Counter, float64(ok), method, Label{"outcome", "ok"}, own)
	for _, outcome := range slices.Sorted(maps.Keys(m.Failures)) {
		r.value(name, help, Counter, float64(m.Failures[outcome]), method, Label{"outcome", snake(outcome.String())}, own)
	}
}

func (r *reading) service(s cluster.ServiceStats, own Label) {
	service := Label{"service", s.Service}
	for state := health.Healthy; state <= health.Down; state++ {
		r.value("weft_cluster_instances", "Instances of a service, by the state of their servers.", Gauge,
			float64(s.Instances[state]), service, Label{"state", snake(state.String())}, own)
	}
	if s.Source == "" {
		return
	}
	kind := Label{"kind", kindOf(s.Source)}
	up := 1.0
	if s.Err != nil {
		up = 0
	}
	r.value("weft_registry_up", "Whether the registry answers.", Gauge, up, service, kind, own)
	r.value("weft_registry_age_seconds", "Time since the registry confirmed the list of instances.", Gauge, s.Age.Seconds(), service, kind, own)
}

// kindOf is the kind of a registry: the first word of its name.
func kindOf(source string) string {
	source = strings.TrimPrefix(source, "cache of ")
	kind, _, _ := strings.Cut(source, " ")
	return kind
}

// version is that of the module, as the program was built with it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == "github.com/weftrpc/weft" && m.Version != "" {
			return m.Version
		}
	}
	return "unknown"
}
