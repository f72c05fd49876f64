package route

import (
	"fmt"

	"github.com/weftrpc/weft"
)

// note says what the rules have no effect on, or a harsh one.
func (p *Plan) note(instances []weft.Instance) {
	for i := range p.rules.instances {
		rule := &p.rules.instances[i]
		if !rule.match.any(instances) {
			p.add("rule %q: none of %s has %s", rule.name, count(len(instances)), rule.match)
		}
	}
	if len(p.Subsets[0].Index) == 0 {
		p.add("every instance is off: all calls fail")
		return
	}
	taker := "" // the route that takes every call
	for i := range p.rules.routes {
		rt := &p.rules.routes[i]
		if taker != "" {
			p.add("route %q never gets a call: route %q takes them all", rt.name, taker)
			continue
		}
		if rt.methods == nil && len(rt.conditions) == 0 {
			taker = rt.name
		}
		for s := range rt.sides {
			if rt.sides[s].percent > 0 {
				p.noteSide(i, s, instances)
			}
		}
	}
}

func (p *Plan) add(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// noteSide says that no instance matches a side, or none that is on.
func (p *Plan) noteSide(r, s int, instances []weft.Instance) {
	rt := &p.rules.routes[r]
	const none = weft.Off + 1
	best := none
	for i := range instances {
		if rt.sides[s].match.match(&instances[i]) {
			best = min(best, p.Instances[i].State)
		}
	}
	what := fmt.Sprintf("none of %s has %s", count(len(instances)), rt.sides[s].match)
	switch best {
	case weft.On:
		return
	case weft.Draining, weft.Off:
		what = fmt.Sprintf("all instances with %s are %v", rt.sides[s].match, best)
	}
	then := "go to other instances"
	switch subset := p.targets[r][s].Subset; {
	case subset == None:
		then = "fail"
	case best == weft.Draining && !p.on(p.Subsets[subset].Index):
		then = "go there all the same"
	}
	p.add("route %q: %s: %v %% of its calls %s", rt.name, what, rt.sides[s].percent, then)
}

// count is such as "3 instances".
func count(n int) string {
	if n == 1 {
		return "1 instance"
	}
	return fmt.Sprintf("%d instances", n)
}
