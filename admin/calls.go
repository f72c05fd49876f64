package admin

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// CallsRequest is the request of weft.Admin.Calls.
type CallsRequest struct {
	Method string  `json:"method,omitempty" weft:"1" doc:"a method, or a service and .*; empty: all"`
	Peer   string  `json:"peer,omitempty" weft:"2" doc:"part of the address, the name or the principal of a peer; empty: all"`
	Older  float64 `json:"older_seconds,omitempty" weft:"3" doc:"only calls of at least this age"`
	Limit  int     `json:"limit,omitempty" weft:"4" doc:"at most so many; 0: 1000"`
}

// Calls are the calls that a server has not answered yet.
type Calls struct {
	Calls   []OpenCall `json:"calls" weft:"1" doc:"the oldest first"`
	Omitted int        `json:"omitted,omitempty" weft:"2" doc:"how many more there are"`
}

// OpenCall is a call that waits or runs. One that runs on the reader of its connection, as
// short ones do, is not listed.
type OpenCall struct {
	Method    string   `json:"method" weft:"1"`
	Peer      string   `json:"peer" weft:"2" doc:"the address of the caller"`
	Name      string   `json:"name,omitempty" weft:"3" doc:"what the client calls itself"`
	Principal string   `json:"principal,omitempty" weft:"4" doc:"of the connection"`
	Wire      string   `json:"wire" weft:"5"`
	Stream    bool     `json:"stream,omitempty" weft:"6"`
	Age       float64  `json:"age_seconds" weft:"7" doc:"since the request was read"`
	Left      *float64 `json:"left_seconds,omitempty" weft:"8" doc:"until its deadline, below zero when that has passed; missing: it has none"`
}

// calls answers Calls.
func (s *service) calls(_ context.Context, req *CallsRequest) (*Calls, error) {
	all := []OpenCall{}
	for _, p := range s.srv.Peers() {
		open := p.OpenCalls()
		if len(open) == 0 {
			continue
		}
		c := s.connection(p)
		if !strings.Contains(c.Peer, req.Peer) && !strings.Contains(c.Name, req.Peer) && !strings.Contains(c.Principal, req.Peer) {
			continue
		}
		for _, x := range open {
			if !matches(req.Method, x.Method) || x.Age.Seconds() < req.Older {
				continue
			}
			one := OpenCall{Method: x.Method, Peer: c.Peer, Name: c.Name, Principal: c.Principal, Wire: c.Wire, Stream: x.Stream, Age: x.Age.Seconds()}
			if !x.Deadline.IsZero() {
				left := time.Until(x.Deadline).Seconds()
				one.Left = &left
			}
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b OpenCall) int { return cmp.Compare(b.Age, a.Age) })
	shown := shown(len(all), req.Limit)
	return &Calls{all[:shown], len(all) - shown}, nil
}
