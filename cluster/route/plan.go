package route

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftrpc/weft"
)

// Plan is what rules make of a list of instances. It does not change.
type Plan struct {
	// Instances tells what became of each instance, by its index in the list.
	Instances []Effect

	// Subsets are what calls can be sent to. The first has every instance that is
	// not off, and may be empty; the others are not empty, and no two are equal.
	Subsets []Subset

	// Notes say which rules have no effect, or one that is hardly meant.
	Notes []string

	rules   *Rules
	targets [][]Target // by route and side
}

// Effect is an instance as the rules want it.
type Effect struct {
	// Weight is the share of calls relative to the other instances. 0: calls only
	// when no instance with a weight is left.
	Weight int

	// State is whether calls are wanted. Draining: no calls, unless there is no
	// other instance. An instance that is Off is in no subset.
	State weft.State

	// Why names the rules that decided, "" when the instance is as it registered.
	Why string
}

// Subset is a part of the instances.
type Subset struct {
	Name  string // such as `canary: version=2.0`
	Index []int  // of its instances in the list, ascending
}

// Plan applies the rules to a list of instances, which it does not keep. It is
// made once for every change and may take milliseconds.
func (r *Rules) Plan(instances []weft.Instance) *Plan {
	if r == nil {
		r = new(Rules)
	}
	p := &Plan{rules: r, Instances: make([]Effect, len(instances))}
	all := []int{}
	for i := range instances {
		p.Instances[i] = r.effect(&instances[i])
		if p.Instances[i].State != weft.Off {
			all = append(all, i)
		}
	}
	p.Subsets = []Subset{{"all", all}}
	for i := range r.routes {
		p.targets = append(p.targets, p.targetsOf(&r.routes[i], instances))
	}
	if len(instances) > 0 {
		p.note(instances)
	}
	return p
}

// effect is what the rules make of an instance.
func (r *Rules) effect(in *weft.Instance) Effect {
	e := Effect{Weight: max(in.Weight, 0), State: in.State}
	if in.Weight == 0 {
		e.Weight = weft.DefaultWeight
	}
	var why []string
	weighed, decided := false, false
	for i := range r.instances {
		rule := &r.instances[i]
		if weighed && decided || !rule.match.match(in) {
			continue
		}
		if rule.weight != nil && !weighed {
			weighed, e.Weight = true, *rule.weight
			why = append(why, fmt.Sprintf("weight %d by rule %q", *rule.weight, rule.name))
		}
		if rule.state != nil && !decided {
			decided = true
			if in.State == weft.Draining && *rule.state == weft.On {
				why = append(why, fmt.Sprintf("draining by itself, which rule %q cannot change", rule.name))
				continue
			}
			e.State = *rule.state
			why = append(why, fmt.Sprintf("%v by rule %q", e.State, rule.name))
		}
	}
	e.Why = strings.Join(why, ", ")
	return e
}

// targetsOf finds out where each side of a route leads.
func (p *Plan) targetsOf(rt *route, instances []weft.Instance) []Target {
	own := make([][]int, len(rt.sides))
	together := []int{}
	for _, i := range p.Subsets[0].Index {
		matched := false
		for s := range rt.sides {
			if rt.sides[s].match.match(&instances[i]) {
				own[s] = append(own[s], i)
				matched = true
			}
		}
		if matched {
			together = append(together, i)
		}
	}
	targets := make([]Target, len(rt.sides))
	for s := range rt.sides {
		ways := []Subset{{rt.name + ": " + rt.sides[s].match.String(), own[s]}}
		if !rt.fail {
			ways = append(ways, Subset{rt.name + ": all sides", together}, p.Subsets[0])
		}
		targets[s] = p.target(rt.name, ways)
	}
	return targets
}

// target chooses among the ways a side may go, in order: the first with an instance
// that is on, else the first with any.
func (p *Plan) target(rule string, ways []Subset) Target {
	if len(p.Subsets[0].Index) == 0 {
		return Target{Subset: 0, Else: None, Rule: rule} // there is no instance, whatever the rule says
	}
	first := slices.IndexFunc(ways, func(w Subset) bool { return p.on(w.Index) })
	if first < 0 {
		first = slices.IndexFunc(ways, func(w Subset) bool { return len(w.Index) > 0 })
	}
	if first < 0 {
		return Target{Subset: None, Else: None, Rule: rule}
	}
	t := Target{Subset: p.subset(ways[first]), Else: None, Rule: rule}
	for _, w := range ways[first+1:] {
		if len(w.Index) > len(ways[first].Index) {
			t.Else = p.subset(w)
			break
		}
	}
	return t
}

// on reports whether one of the instances is on.
func (p *Plan) on(index []int) bool {
	return slices.ContainsFunc(index, func(i int) bool { return p.Instances[i].State == weft.On })
}

// subset returns the index of a subset, which may be known under another name.
func (p *Plan) subset(s Subset) int {
	i := slices.IndexFunc(p.Subsets, func(o Subset) bool { return slices.Equal(o.Index, s.Index) })
	if i < 0 {
		p.Subsets = append(p.Subsets, s)
		i = len(p.Subsets) - 1
	}
	return i
}

// Route tells where a call goes. Ask it once for each call, not for each attempt,
// so that all attempts are made on one side of a split. It takes no lock and
// allocates nothing.
func (p *Plan) Route(call Call) Target {
	if i, s := p.rules.choose(&call); i >= 0 {
		return p.targets[i][s]
	}
	return Target{Subset: 0, Else: None}
}
