package main

import (
	"fmt"
	"slices"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/bench/msg"
)

// scope is how much a plan measures.
type scope string

const (
	core  scope = "core"  // weft beside plain TCP, the floor and grpc-go: its own goals
	quick scope = "quick" // a useful comparison in ten minutes
	full  scope = "full"  // everything, as it is published, in some three hours
	doors scope = "doors" // stock clients with their own servers and with weft's doors
)

func parseScope(name string) (scope, error) {
	switch s := scope(name); s {
	case core, quick, full, doors:
		return s, nil
	}
	return "", fmt.Errorf("-plan: unknown plan %q; there are %s, %s, %s and %s", name, core, quick, full, doors)
}

func (s scope) rounds() int {
	if s == quick {
		return 1
	}
	return 3
}

// seconds is how long a run is measured: long enough, in what is published, that
// one pause of the machine does not decide it.
func (s scope) seconds() float64 {
	if s == quick {
		return 2
	}
	return 3
}

// peers are those that the plan has unless the flags choose others.
func (s scope) peers(all []runner.Peer) []string {
	var names []string
	for _, p := range all {
		takesPart := p.Client == ""
		switch s {
		case core:
			takesPart = slices.Contains([]string{"tcp", "floor", "grpc-go", "weft"}, p.Peer)
		case doors:
			takesPart = p.Client != "" || slices.ContainsFunc(all, func(other runner.Peer) bool { return other.Client == p.Peer })
		}
		if takesPart {
			names = append(names, p.Peer)
		}
	}
	return names
}

// codecs are those of a peer that the plan has unless the flags choose others: its best, and
// for the full plan all others too, which keep the cost of a codec and that of a
// framework apart. Bytes as they are belong to the plan core, and to a peer without a codec. The
// plan doors has each encoding once, and weft's own wire with the best alone, to which its foreign wires are compared.
func (s scope) codecs(p runner.Peer) []string {
	switch {
	case s == core:
		return p.Codecs
	case s == quick, s == doors && p.Peer == "weft":
		return p.Codecs[:1]
	}
	return slices.DeleteFunc(slices.Clone(p.Codecs), func(codec string) bool {
		return codec == contract.Raw && len(p.Codecs) > 1 || s == doors && codec == string(msg.Google)
	})
}

// points are the points that the flags ask for, or those of the plan. Workloads
// without anything else narrow the plan full: what is published is made anew workload
// by workload.
func (s *settings) points() []runner.Point {
	whole := len(s.workloads) == 0 && s.scope != core && s.scope != doors || s.scope == full
	if whole && len(s.callers) == 0 && s.calls == 0 {
		points := slices.DeleteFunc(s.scope.points(), func(p runner.Point) bool {
			return len(s.workloads) > 0 && !slices.Contains(s.workloads, p.Workload)
		})
		for i := range points {
			points[i].Best = points[i].Best && len(s.codecs) == 0 // those that were asked for take part in all
		}
		return points
	}
	workloads, callers := s.workloads, s.callers
	if len(workloads) == 0 {
		workloads = []contract.Workload{contract.Echo}
	}
	var all []runner.Point
	for _, w := range workloads {
		count := callers
		if len(count) == 0 {
			count = usualCallers(w, s.scope)
		}
		for _, n := range count {
			all = append(all, runner.Point{Workload: w, Callers: n, Calls: s.calls})
		}
	}
	return all
}

// usualCallers are those whose figures a workload is about.
func usualCallers(w contract.Workload, s scope) []int {
	switch {
	case w == contract.Slow:
		return []int{100, 1000}
	case w == contract.Delay:
		return []int{1000, 5000}
	case w == contract.Mixed || w == contract.Large:
		return []int{1, 100}
	case w == contract.Math || w == contract.MathNew:
		return []int{1}
	case s == core:
		return []int{1, 100, 1000, 5000}
	case s == quick, s == doors:
		return []int{1, 100, 1000}
	}
	return []int{1, 100, 500, 1000, 2000, 5000}
}

// points are where a plan measures every peer: echo over the callers, with all
// codecs of the plan, and the rest with the best. What the published comparisons did not ask
// of Java, and all of the rest in the quick plan, is only for peers that are
// quickly warm.
func (s scope) points() []runner.Point {
	var all []runner.Point
	for _, n := range usualCallers(contract.Echo, s) {
		all = append(all, runner.Point{Workload: contract.Echo, Callers: n})
	}
	rest := fullPoints()
	if s == quick {
		rest = quickPoints()
	}
	for _, p := range rest {
		p.Best = true
		all = append(all, p)
	}
	return all
}

func quickPoints() []runner.Point {
	return []runner.Point{
		{Workload: contract.Echo, Callers: 100, Share: 0.5, Swift: true},
		{Workload: contract.Slow, Callers: 100, Swift: true},
		{Workload: contract.Mixed, Callers: 100, Swift: true},
		{Workload: contract.Math, Callers: 1, Calls: 10_000, Swift: true},
		{Workload: contract.MathNew, Callers: 1, Calls: 2_000, Swift: true},
	}
}

func fullPoints() []runner.Point {
	return []runner.Point{
		{Workload: contract.Echo, Callers: 100, Servers: 2},
		{Workload: contract.Echo, Callers: 1000, Servers: 2},
		{Workload: contract.Echo, Callers: 5000, Servers: 2},
		{Workload: contract.Echo, Callers: 100, Network: runner.Namespaces},
		{Workload: contract.Echo, Callers: 1000, Network: runner.Namespaces},
		{Workload: contract.Echo, Callers: 100, Share: 0.5},
		{Workload: contract.Echo, Callers: 100, Share: 0.8},
		{Workload: contract.Slow, Callers: 100, Swift: true},
		{Workload: contract.Delay, Callers: 100},
		{Workload: contract.Mixed, Callers: 100, Swift: true},
		{Workload: contract.Math, Callers: 1, Calls: 10_000, Swift: true},
		{Workload: contract.Math, Callers: 1, Calls: 50_000, Swift: true},
		{Workload: contract.MathNew, Callers: 1, Calls: 10_000, Swift: true},
		{Workload: contract.MathNew, Callers: 1, Calls: 50_000, Swift: true},
		{Workload: contract.Math, Callers: 1, Clients: 4, Calls: 100_000, Swift: true},
	}
}
