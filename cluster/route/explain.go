package route

import (
	"fmt"
	"strings"
)

// Explanation tells why a call goes where it goes.
type Explanation struct {
	// Routes are all routes in their order, with what each made of the call.
	Routes []Verdict

	// Target is where the call goes, as Plan.Route says it.
	Target Target

	// Side tells which side of the route it was and why, "" when no route took the
	// call.
	Side string

	// Instances says what Target stands for.
	Instances string

	// Method is how the rules want the call made.
	Method Method
}

// Verdict is what one route made of a call.
type Verdict struct {
	Name  string // of the route
	Holds bool   // it took the call
	Why   string // or why not
}

// Explain tells what Route makes of a call, and why. It is much slower than Route.
func (p *Plan) Explain(call Call) *Explanation {
	e := &Explanation{Target: p.Route(call), Method: p.rules.Method(call.Method)}
	if p.rules != nil {
		p.explainRoutes(e, &call)
	}
	e.Instances = p.describe(e.Target)
	return e
}

func (p *Plan) explainRoutes(e *Explanation, call *Call) {
	keys := p.rules.keys
	var seen metadata
	seen.read(keys, call.Metadata)
	taken := ""
	for i := range p.rules.routes {
		rt := &p.rules.routes[i]
		v := Verdict{Name: rt.name}
		switch wrong := rt.mismatch(keys, methodOf(call.Method), &seen); {
		case taken != "":
			v.Why = fmt.Sprintf("not asked: route %q took the call", taken)
		case wrong != "":
			v.Why = wrong
		default:
			v.Holds, v.Why = true, rt.reason(keys, methodOf(call.Method), &seen)
			taken, e.Side = rt.name, rt.explainSide(keys, call, &seen)
		}
		e.Routes = append(e.Routes, v)
	}
}

// mismatch says what of a route does not hold, "" for nothing.
func (rt *route) mismatch(keys []string, method string, seen *metadata) string {
	if rt.methods != nil && !rt.methods.match(method) {
		return fmt.Sprintf("method %q is not %s", shorten(method), rt.methods.text)
	}
	for _, c := range rt.conditions {
		switch v := seen.values[c.key]; {
		case c.in.match(v):
		case v == "":
			return fmt.Sprintf("there is no metadata %q, it asks for %s", keys[c.key], c.in.text)
		default:
			return fmt.Sprintf("metadata %q is %q, not %s", keys[c.key], shorten(v), c.in.text)
		}
	}
	return ""
}

// reason says what holds.
func (rt *route) reason(keys []string, method string, seen *metadata) string {
	var parts []string
	if rt.methods != nil {
		parts = append(parts, fmt.Sprintf("method %q is %s", shorten(method), rt.methods.text))
	}
	for _, c := range rt.conditions {
		parts = append(parts, fmt.Sprintf("metadata %q is %q", keys[c.key], shorten(seen.values[c.key])))
	}
	if parts == nil {
		return "it takes every call"
	}
	return strings.Join(parts, ", ")
}

// explainSide says which side of the route a call gets, and by what.
func (rt *route) explainSide(keys []string, call *Call, seen *metadata) string {
	side := &rt.sides[rt.sideOf(call, seen)]
	if len(rt.sides) == 1 {
		return side.match.String()
	}
	key, fromMetadata := rt.key(call, seen)
	place := float64(rt.placeOf(key, call.Random)) / (places / 100)
	by := "by chance"
	switch {
	case fromMetadata:
		by = fmt.Sprintf("by metadata %q, %q", keys[rt.by], shorten(key))
	case key != "":
		by = fmt.Sprintf("by the key %q of the call", shorten(key))
	}
	return fmt.Sprintf("%s, which gets %v %%: place %.2f of 100 %s", side.match, side.percent, place, by)
}

// describe says what a target stands for.
func (p *Plan) describe(t Target) string {
	if t.Subset == None {
		return "none: the call fails, since no instance matches and the route asks for no other"
	}
	if t.Subset >= len(p.Subsets) || len(p.Subsets[t.Subset].Index) == 0 {
		return "none: there is no instance that is not off"
	}
	text := p.subsetText(t.Subset)
	if t.Else != None {
		text += "; when none of them can be reached, " + p.subsetText(t.Else)
	}
	return text
}

func (p *Plan) subsetText(i int) string {
	s := &p.Subsets[i]
	return fmt.Sprintf("%s (%s)", s.Name, count(len(s.Index)))
}

// String is the explanation in lines.
func (e *Explanation) String() string {
	var b strings.Builder
	for _, v := range e.Routes {
		answer := "no"
		if v.Holds {
			answer = "yes"
		}
		fmt.Fprintf(&b, "route %q: %s: %s\n", v.Name, answer, v.Why)
	}
	switch {
	case len(e.Routes) == 0:
		b.WriteString("there are no routes\n")
	case e.Target.Rule == "":
		b.WriteString("no route takes the call\n")
	}
	if e.Side != "" {
		fmt.Fprintf(&b, "side: %s\n", e.Side)
	}
	fmt.Fprintf(&b, "instances: %s\n", e.Instances)
	fmt.Fprintf(&b, "method: %v\n", e.Method)
	return b.String()
}
