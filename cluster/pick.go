package cluster

import (
	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/health"
	"github.com/weftrpc/weft/cluster/route"
)

// target is where the attempts of a call go.
type target struct {
	subset, otherwise int    // subsets of the plan; below zero: none
	rule              string // that chose them
}

// anywhere is the target of a call that no route takes.
func anywhere() target { return target{otherwise: route.None} }

// route has the rules choose the target.
func (x *call) route() {
	t := x.v.plan.Route(route.Call{
		Method: x.m.name, Metadata: weft.OutgoingMetadata(x.ctx), Key: x.pick.Key, Random: x.side,
	})
	x.target = target{t.Subset, t.Else, t.Rule}
}

// refresh takes the newest view. The list may have changed since the call began; a rule that has changed does not move a call.
func (x *call) refresh() {
	v := x.m.service.view.Load()
	if v == nil { // the service was closed, since no other call has come meanwhile
		if m, err := x.m.reopened(); err == nil {
			x.m, v = m, m.service.view.Load()
		}
	}
	if v == x.v || !v.known() {
		return
	}
	x.v, x.target = v, anywhere()
	if v.rules != nil {
		x.route()
	}
}

// reach is the servers that a call may go to.
type reach struct {
	v      *view
	target target
}

func (x *call) reach() reach { return reach{x.v, x.target} }

// servers iterates over the servers. One may come twice.
func (r reach) servers(yield func(*server) bool) {
	for _, subset := range [2]int{r.target.subset, r.target.otherwise} {
		if subset < 0 {
			continue
		}
		for _, i := range r.v.sets[subset].index {
			if !yield(r.v.servers[i]) {
				return
			}
		}
	}
}

// choose takes the server that wants a probe, if this call may be that, and picks one otherwise.
func (x *call) choose() *server {
	if x.kind != unary {
		// A one-way call brings nothing back that would show how the server is, and a stream may be quiet for long.
		return x.picked()
	}
	if t := x.c.panel.Probe(x.pick.Now, x.mayProbe); t != nil {
		if s := x.probed(t); s != nil {
			return s
		}
	}
	return x.picked()
}

// picked picks a server whose breaker lets the call through. The other subset goes first when nothing in the call's own can be reached.
func (x *call) picked() *server {
	first, second := x.target.subset, x.target.otherwise
	if second >= 0 && first >= 0 && x.v.sets[first].avoid && !x.v.sets[second].avoid {
		first, second = second, first
	}
	if s := x.chooseFrom(first); s != nil || second < 0 {
		return s
	}
	return x.chooseFrom(second)
}

// chooseFrom picks from a subset. When no server of it that was not tried can take the call, it takes the one with the best prospect: the
// state may be old.
func (x *call) chooseFrom(subset int) *server {
	if subset < 0 {
		return nil
	}
	set := &x.v.sets[subset]
	pick := x.pick
	var last *server
	for {
		i := set.picker.Pick(pick)
		if i < 0 {
			return last
		}
		s := x.v.servers[set.index[i]]
		if x.canTake(s) {
			return s
		}
		if last == nil || s.prospect() > last.prospect() {
			last = s
		}
		if pick.Tried.Len() == triedMost {
			if s := x.anyOf(set.index); s != nil {
				return s
			}
			return last
		}
		pick.Tried.Add(s.stats)
	}
}

// canTake reports whether a server can be reached, and is not left out for its breaker.
func (x *call) canTake(s *server) bool {
	return !s.down.Load() && (s.breaker(x.m.number).Ready(x.pick.Now) || !x.leavesOut(s))
}

// leavesOut reports whether the call leaves out a server for its breaker, which does not let the call through. Breakers leave out no more
// servers than health may: with those that are down or ejected at most half of the ones that the call may go to. Of too many the ones stay
// out that were to stay out longest.
func (x *call) leavesOut(s *server) bool {
	subset := x.target.otherwise // which has all of the other subset
	if subset < 0 {
		subset = x.target.subset
	}
	if subset < 0 {
		return true
	}
	index := x.v.sets[subset].index
	most, longer := len(index)/2, 0
	until := s.breaker(x.m.number).Until(x.pick.Now)
	for _, i := range index {
		other := x.v.servers[i]
		if other == s {
			continue
		}
		if other.down.Load() || !other.health.Available() {
			most--
			continue
		}
		b := other.breakerIf(x.m.number)
		if b == nil {
			continue
		}
		if u := b.Until(x.pick.Now); u > until || u == until && u > 0 && other.address > s.address {
			longer++
		}
	}
	return longer < most
}

// anyOf looks through all servers for one that can take the call, a healthy one first, when the balancer has named too many that cannot;
// nil: there is none.
func (x *call) anyOf(index []int) (found *server) {
	from := int(x.pick.Random % uint64(len(index)))
	for i := range index {
		s := x.v.servers[index[(from+i)%len(index)]]
		if x.pick.Tried.Has(s.stats) || !x.canTake(s) {
			continue
		}
		if s.health.Available() {
			return s
		}
		if found == nil {
			found = s
		}
	}
	return found
}

// triedMost is how many servers balance.Tried holds.
const triedMost = 8

// mayProbe reports whether the call may go to an ejected server that wants one to show how it is. A server that does not even answer a ping
// gets none.
func (x *call) mayProbe(t *health.Tracker) bool { return x.probed(t) != nil }

// probed returns the server of a tracker if the call may go there.
func (x *call) probed(t *health.Tracker) *server {
	if x.target.subset < 0 {
		return nil
	}
	for _, i := range x.v.sets[x.target.subset].index {
		if s := x.v.servers[i]; s.health == t && s.alive.Load() && !x.pick.Tried.Has(s.stats) && s.breaker(x.m.number).Ready(x.pick.Now) {
			return s
		}
	}
	return nil
}
