package admin

import (
	"maps"
	"slices"

	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cluster/breaker"
)

// ClusterStats are the state of a client of other servers, of those in Config.Clusters.
type ClusterStats struct {
	Name      string           `json:"name" weft:"1" doc:"its key in Config.Clusters"`
	Methods   []ClusterMethod  `json:"methods" weft:"2" doc:"those that were called, by name"`
	Servers   []ClusterServer  `json:"servers" weft:"3" doc:"those that are listed now, by address"`
	Services  []ClusterService `json:"services" weft:"4" doc:"those that were called, by name"`
	Losses    uint64           `json:"losses" weft:"5" doc:"how often a server went down"`
	Ejections uint64           `json:"ejections" weft:"6" doc:"how often a server was ejected"`
	Returns   uint64           `json:"returns" weft:"7" doc:"how often an ejected server was let back"`
	Throttled uint64           `json:"throttled" weft:"8" doc:"calls that were not sent since the servers refuse many"`
	Budget    float64          `json:"retry_budget" weft:"9" doc:"retries that are saved now"`
}

// ClusterMethod are the calls of a method that the client made.
type ClusterMethod struct {
	Calls    MethodStats `json:"calls" weft:"1" doc:"once each, with all attempts"`
	Streams  uint64      `json:"streams" weft:"2" doc:"streams that were opened"`
	Retries  uint64      `json:"retries" weft:"3" doc:"attempts after the first"`
	Hedges   uint64      `json:"hedges" weft:"4" doc:"second attempts beside a first one that took long"`
	Openings uint64      `json:"breaker_openings" weft:"5" doc:"how often a breaker of the method opened"`
}

// ClusterServer is a server that the client knows.
type ClusterServer struct {
	Address     string    `json:"address" weft:"1"`
	State       string    `json:"state" weft:"2" doc:"healthy, ejected, probing or down"`
	Why         string    `json:"why,omitempty" weft:"3" doc:"it is in this state"`
	Connections int       `json:"connections" weft:"4"`
	InFlight    int       `json:"in_flight" weft:"5"`
	Latency     float64   `json:"latency_seconds" weft:"6" doc:"as the balancer sees it; 0: not known"`
	Breakers    []Breaker `json:"breakers,omitempty" weft:"7" doc:"those that are not closed, by method"`

	RequestBytes uint64 `json:"request_bytes,omitempty" weft:"8" doc:"of the bodies of requests to it, as they were on the wire"`
	ReplyBytes   uint64 `json:"reply_bytes,omitempty" weft:"9" doc:"of the bodies of its replies, as they were on the wire"`
}

// Breaker is the breaker of a method on a server.
type Breaker struct {
	Method string `json:"method" weft:"1"`
	State  string `json:"state" weft:"2" doc:"closed, open or half-open"`
	Why    string `json:"why,omitempty" weft:"3" doc:"it is not closed"`
	Calls  int    `json:"calls" weft:"4" doc:"of its window"`
	Failed int    `json:"failed" weft:"5" doc:"of these"`
	Opened int    `json:"opened" weft:"6" doc:"how often it opened"`
}

// ClusterService is a service that the client calls.
type ClusterService struct {
	Service   string         `json:"service" weft:"1"`
	Source    string         `json:"source,omitempty" weft:"2" doc:"where the list of instances is from"`
	Age       float64        `json:"age_seconds" weft:"3" doc:"since the registry confirmed the list"`
	Error     string         `json:"error,omitempty" weft:"4" doc:"why the registry does not answer now"`
	Instances map[string]int `json:"instances" weft:"5" doc:"by the state of their servers"`
}

// clustersOf are the states of the clients of the configuration, by name.
func clustersOf(all map[string]*cluster.Client, req *StatsRequest) []ClusterStats {
	var out []ClusterStats
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, clusterStats(name, all[name].Stats(), req))
	}
	return out
}

func clusterStats(name string, st cluster.Stats, req *StatsRequest) ClusterStats {
	out := ClusterStats{Name: name, Methods: []ClusterMethod{}, Servers: []ClusterServer{}, Services: []ClusterService{}, Losses: st.Losses, Ejections: st.Ejections, Returns: st.Returns, Throttled: st.Throttled, Budget: st.Budget}
	for _, m := range st.Methods {
		if matches(req.Method, m.Method) {
			out.Methods = append(out.Methods, ClusterMethod{methodStats(m.MethodStats, req.Buckets), m.Streams, m.Retries, m.Hedges, m.BreakerOpenings})
		}
	}
	for _, v := range st.Servers {
		one := ClusterServer{Address: v.Address, State: v.State.String(), Why: v.Why, Connections: v.Connections, InFlight: v.InFlight, Latency: v.Latency.Seconds(),
			RequestBytes: v.RequestBytes, ReplyBytes: v.ReplyBytes}
		for _, b := range v.Breakers {
			if b.State != breaker.Closed {
				one.Breakers = append(one.Breakers, breakerOf(b))
			}
		}
		out.Servers = append(out.Servers, one)
	}
	for _, v := range st.Services {
		one := ClusterService{Service: v.Service, Source: v.Source, Age: v.Age.Seconds(), Instances: make(map[string]int)}
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

func breakerOf(b cluster.BreakerStats) Breaker {
	return Breaker{b.Method, b.State.String(), b.Why, b.Calls, b.Failed, b.Opened}
}
