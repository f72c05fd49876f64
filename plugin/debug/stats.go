package debug

import (
	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
)

// The forms of statistics on the page. Durations are in seconds.
type (
	allStats struct {
		Servers  []serverStats  `json:"servers,omitempty"`
		Clients  []clientStats  `json:"clients,omitempty"`
		Clusters []clusterStats `json:"clusters,omitempty"`
	}
	methodStats struct {
		Method    string            `json:"method"`
		Calls     uint64            `json:"calls"`
		Failed    map[string]uint64 `json:"failed,omitempty"`
		P50       float64           `json:"p50_seconds"`
		P90       float64           `json:"p90_seconds"`
		P99       float64           `json:"p99_seconds"`
		Retries   uint64            `json:"retries,omitempty"`
		Hedges    uint64            `json:"hedges,omitempty"`
		Streams   uint64            `json:"streams,omitempty"`
		Breakings uint64            `json:"breaker_openings,omitempty"`
		Requests  uint64            `json:"request_bytes,omitempty"`
		Replies   uint64            `json:"reply_bytes,omitempty"`
	}
	serverStats struct {
		Name        string        `json:"name,omitempty"`
		Methods     []methodStats `json:"methods"`
		Refused     weft.Refusals `json:"refused,omitempty"`
		InFlight    int           `json:"in_flight"`
		Connections int           `json:"connections"`
		Accepted    uint64        `json:"connections_accepted"`
		Rejected    uint64        `json:"connections_rejected"`
	}
	clientStats struct {
		Name        string        `json:"name,omitempty"`
		Methods     []methodStats `json:"methods"`
		Connections int           `json:"connections"`
		Connects    uint64        `json:"connects"`
		Failures    uint64        `json:"connect_failures"`
	}
	clusterStats struct {
		Name      string         `json:"name,omitempty"`
		Methods   []methodStats  `json:"methods"`
		Servers   []ofServer     `json:"servers"`
		Services  []serviceStats `json:"services"`
		Losses    uint64         `json:"losses"`
		Ejections uint64         `json:"ejections"`
		Returns   uint64         `json:"returns"`
		Budget    float64        `json:"retry_budget"`
	}
	ofServer struct {
		Address     string   `json:"address"`
		State       string   `json:"state"`
		Why         string   `json:"why,omitempty"`
		Connections int      `json:"connections"`
		InFlight    int      `json:"in_flight"`
		Latency     float64  `json:"latency_seconds"`
		Breakers    []string `json:"breakers_open,omitempty"`
	}
	serviceStats struct {
		Service   string         `json:"service"`
		Source    string         `json:"source,omitempty"`
		Age       float64        `json:"age_seconds"`
		Error     string         `json:"error,omitempty"`
		Instances map[string]int `json:"instances"`
	}
)

func (h *Handler) stats() allStats {
	var out allStats
	for _, s := range h.known.Servers() {
		st := s.Of.Stats()
		out.Servers = append(out.Servers, serverStats{s.Name, methodsOf(st.Methods), st.Refused, st.InFlight, st.Connections, st.Accepted, st.Rejected})
	}
	for _, c := range h.known.Clients() {
		st := c.Of.Stats()
		out.Clients = append(out.Clients, clientStats{c.Name, methodsOf(st.Methods), st.Connections, st.Connects, st.Failures})
	}
	for _, c := range h.known.Clusters() {
		out.Clusters = append(out.Clusters, clusterOf(c.Name, c.Of.Stats()))
	}
	return out
}

func methodsOf(all []weft.MethodStats) []methodStats {
	out := make([]methodStats, 0, len(all))
	for _, m := range all {
		out = append(out, methodOf(m))
	}
	return out
}

func methodOf(m weft.MethodStats) methodStats {
	out := methodStats{Method: m.Method, Calls: m.Calls, P50: m.Latency.Quantile(0.5).Seconds(),
		P90: m.Latency.Quantile(0.9).Seconds(), P99: m.Latency.Quantile(0.99).Seconds(), Requests: m.RequestBytes, Replies: m.ReplyBytes}
	if len(m.Codes) > 0 {
		out.Failed = make(map[string]uint64)
	}
	for code, n := range m.Codes {
		out.Failed[code.String()] = n
	}
	return out
}

func clusterOf(name string, s cluster.Stats) clusterStats {
	out := clusterStats{Name: name, Methods: []methodStats{}, Servers: []ofServer{}, Services: []serviceStats{},
		Losses: s.Losses, Ejections: s.Ejections, Returns: s.Returns, Budget: s.Budget}
	for _, m := range s.Methods {
		one := methodOf(m.MethodStats)
		one.Retries, one.Hedges, one.Streams, one.Breakings = m.Retries, m.Hedges, m.Streams, m.BreakerOpenings
		out.Methods = append(out.Methods, one)
	}
	for _, v := range s.Servers {
		one := ofServer{Address: v.Address, State: v.State.String(), Why: v.Why, Connections: v.Connections, InFlight: v.InFlight, Latency: v.Latency.Seconds()}
		for _, b := range v.Breakers {
			if b.State.String() != "closed" {
				one.Breakers = append(one.Breakers, b.Method+": "+b.State.String())
			}
		}
		out.Servers = append(out.Servers, one)
	}
	for _, v := range s.Services {
		one := serviceStats{Service: v.Service, Source: v.Source, Age: v.Age.Seconds(), Instances: make(map[string]int)}
		if v.Err != nil {
			one.Error = v.Err.Error()
		}
		for state, n := range v.Instances {
			one.Instances[state.String()] = n
		}
		out.Services = append(out.Services, one)
	}
	return out
}
