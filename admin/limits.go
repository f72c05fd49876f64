package admin

import (
	"context"
	"maps"
	"slices"
	"time"
)

// LimitsRequest is the request of weft.Admin.Limits.
type LimitsRequest struct {
	Method string `json:"method,omitempty" weft:"1" doc:"a method, or a service and .*; empty: all"`
}

// Limits are what keeps the server, and its calls to others, from too much work.
type Limits struct {
	Connections Bound             `json:"connections" weft:"1" doc:"open connections and ServerConfig.MaxConns"`
	InFlight    Bound             `json:"in_flight" weft:"2" doc:"calls that wait or run and the limit of the overload protection"`
	Refused     map[string]uint64 `json:"refused,omitempty" weft:"3" doc:"calls that did not reach their handlers, by reason"`
	Overload    Overload          `json:"overload" weft:"4"`
	Breakers    []ClusterBreakers `json:"breakers,omitempty" weft:"5" doc:"of the clients in Config.Clusters, by name"`
}

// Bound is how much there is of something, and how much there may be.
type Bound struct {
	Now  int `json:"now" weft:"1"`
	Most int `json:"most,omitempty" weft:"2" doc:"0: no limit"`
}

// Overload is the state of the overload protection.
type Overload struct {
	On        bool          `json:"on" weft:"1"`
	Wait      float64       `json:"wait" weft:"2" doc:"of the promptest calls for a processor: above 1 is too long"`
	Methods   []MethodLimit `json:"methods,omitempty" weft:"3" doc:"those of which calls are in flight, or limited"`
	Decisions []Decision    `json:"decisions,omitempty" weft:"4" doc:"the last ones, the latest first"`
}

// MethodLimit is what the overload protection knows of a method.
type MethodLimit struct {
	Method string  `json:"method" weft:"1"`
	Calls  Bound   `json:"calls" weft:"2" doc:"in flight, and the limit"`
	Rate   float64 `json:"rate" weft:"3" doc:"calls that end in a second while calls queue; 0: not known"`
	Time   float64 `json:"time_seconds" weft:"4" doc:"that the handler takes now; 0: not known"`
	Least  float64 `json:"least_seconds" weft:"5" doc:"that it took in the last minute"`
	Mode   string  `json:"mode" weft:"6" doc:"open, settling, counting or limited"`
}

// Decision is something that the overload protection has decided.
type Decision struct {
	At     time.Time `json:"at" weft:"1"`
	Method string    `json:"method,omitempty" weft:"2" doc:"empty: it is about the whole server"`
	Text   string    `json:"text" weft:"3" doc:"what, and why"`
}

// ClusterBreakers are the breakers of a client, closed ones too.
type ClusterBreakers struct {
	Name    string           `json:"name" weft:"1" doc:"the client's key in Config.Clusters"`
	Servers []ServerBreakers `json:"servers" weft:"2" doc:"by address"`
}

// ServerBreakers are the breakers of the methods of one server.
type ServerBreakers struct {
	Address  string    `json:"address" weft:"1"`
	State    string    `json:"state" weft:"2" doc:"healthy, ejected, probing or down"`
	Breakers []Breaker `json:"breakers" weft:"3" doc:"by method"`
}

// limits answers Limits.
func (s *service) limits(_ context.Context, req *LimitsRequest) (*Limits, error) {
	st, cfg := s.srv.Stats(), s.srv.Config()
	out := &Limits{
		Connections: Bound{st.Connections, cfg.MaxConns}, InFlight: Bound{st.InFlight, st.Overload.Limit}, Refused: st.Refused,
		Overload: Overload{On: st.Overload.On, Wait: st.Overload.Wait},
	}
	for _, m := range st.Overload.Methods {
		if matches(req.Method, m.Method) {
			out.Overload.Methods = append(out.Overload.Methods, MethodLimit{
				m.Method, Bound{m.InFlight, m.Limit}, m.Rate, m.Time.Seconds(), m.Least.Seconds(), m.Mode})
		}
	}
	for _, d := range st.Overload.Decisions {
		if d.Method == "" || matches(req.Method, d.Method) {
			out.Overload.Decisions = append(out.Overload.Decisions, Decision{d.At, d.Method, d.Text})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.cfg.Clusters)) {
		of := ClusterBreakers{Name: name, Servers: []ServerBreakers{}}
		for _, v := range s.cfg.Clusters[name].Stats().Servers {
			one := ServerBreakers{Address: v.Address, State: v.State.String(), Breakers: []Breaker{}}
			for _, b := range v.Breakers {
				if matches(req.Method, b.Method) {
					one.Breakers = append(one.Breakers, breakerOf(b))
				}
			}
			of.Servers = append(of.Servers, one)
		}
		out.Breakers = append(out.Breakers, of)
	}
	return out, nil
}
