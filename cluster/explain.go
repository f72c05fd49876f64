package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/breaker"
	"github.com/weftrpc/weft/cluster/health"
	"github.com/weftrpc/weft/cluster/internal/deadline"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/registry"
)

// Explanation says what a call would do now, and why.
type Explanation struct {
	Method string
	// Source is where the list of servers is from, Age how long ago the registry confirmed it, and Registry why the registry does not
	// answer now.
	Source   string
	Age      time.Duration
	Registry error

	FailMode   FailMode
	Timeout    time.Duration // of a call whose context has no deadline; 0: none
	Attempts   int           // 0: as the retry policy says
	Idempotent bool
	// Key is that by which consistent hashes pick and rules split calls that name no other; "": the call has none.
	Key string

	// Routes is what the rules make of the call; nil: there are no rules.
	Routes *route.Explanation
	// RulesVersion is the number of the rules in force; 0: there are none, or they have no number.
	RulesVersion int
	// Rules is why the newest rules are not used; nil: they are.
	Rules error
	// Candidates is every instance that is known, in the order of their IDs.
	Candidates []Candidate
	// Invalid are entries of the registry that are no instances.
	Invalid []registry.Invalid
	// Pick is the ID of the instance that the call would go to; "" when there is none, and Err says why.
	Pick string
	// Fallback says that Pick is not of the servers that the rules chose first, because none of those can be reached.
	Fallback bool
	Err      error
}

// Candidate is one instance in an Explanation.
type Candidate struct {
	Instance  weft.Instance
	Eligible  bool   // it may get the call
	Fallback  bool   // but only when none can be reached of those that the rules chose first
	Why       string // it may, or not, or only as the last resort
	Weight    int
	Connected bool
	InFlight  int
	Latency   time.Duration // 0: not known
}

// Explain tells what a call would do now: which instances are known, from where, which of them may have it and why the others may not, and
// which one would get it. It makes no call, but it waits, as a call does, until it is known which servers there are. It may move the turn
// of a balancer that takes turns.
func (c *Client) Explain(ctx context.Context, name string, args any) *Explanation {
	e := &Explanation{Method: name}
	m, err := c.method(name)
	if err == nil {
		var v *view
		if m, v, err = c.waitFor(ctx, m, deadline.Of(ctx, nil, time.Now(), c.timeout)); err == nil {
			e.explain(c, ctx, m, v, args)
			return e
		}
	}
	e.Err = err
	return e
}

func (e *Explanation) explain(c *Client, ctx context.Context, m *method, v *view, args any) {
	p := m.policyUnder(c, v)
	x := &call{c: c, m: m, v: v, p: p, target: anywhere(), ctx: ctx, args: args}
	x.pick = balance.Call{Method: m.name, Key: c.keyOf(ctx, m.name, args), Random: rand.Uint64(), Now: c.now()}
	x.side = x.pick.Random
	e.Source, e.Age, e.Registry, e.Invalid = v.snapshot.Source, v.snapshot.Age(), v.snapshot.Err, v.snapshot.Invalid
	e.FailMode, e.Attempts, e.Idempotent = p.failMode, p.attempts, p.idempotent || markedIdempotent(ctx)
	if e.Timeout = p.timeout; e.Timeout == 0 {
		e.Timeout = max(c.timeout, 0)
	}
	e.Rules, e.RulesVersion, e.Key = m.service.rules.Status().Err, v.rules.Version(), x.pick.Key
	if v.rules != nil {
		e.Routes = v.plan.Explain(route.Call{Method: m.name, Metadata: weft.OutgoingMetadata(ctx), Key: x.pick.Key, Random: x.side})
		x.route()
	}
	e.Candidates = x.candidates(len(v.snapshot.Instances))
	s := x.picked()
	if s == nil || !s.breaker(x.m.number).Ready(x.pick.Now) && x.leavesOut(s) || fails(x, s) {
		e.Err = x.noServer()
		return
	}
	for i, server := range v.servers {
		if server == s {
			e.Pick = v.instances[i].ID
			e.Fallback = x.choices()[i] == fallback
			break
		}
	}
}

// fails reports whether the call would fail at once because no server can be reached, after it has tried s among others.
func fails(x *call, s *server) bool {
	now := x.c.now()
	if x.p.failMode == Failtry {
		return s.hopeless(now)
	}
	return s.unreachable() && x.reach().hopeless(now)
}

// candidates judges the first instances of the snapshot, as many as most says.
func (x *call) candidates(most int) []Candidate {
	reports := make(map[string]health.Report)
	for _, r := range x.c.panel.Reports(x.pick.Now) {
		reports[r.Name] = r
	}
	choices := x.choices()
	kept := make(map[string]bool)
	for _, id := range x.v.snapshot.Kept {
		kept[id] = true
	}
	var out []Candidate
	n := 0 // among those that the configuration admits
	for _, i := range x.v.snapshot.Instances[:min(most, len(x.v.snapshot.Instances))] {
		if !x.c.cfg.admits(&i) {
			out = append(out, Candidate{Instance: i, Weight: i.Weight, Why: x.c.cfg.unwanted(&i)})
			continue
		}
		s, effect := x.v.servers[n], x.v.plan.Instances[n]
		k := Candidate{
			Instance: i, Weight: effect.Weight, Connected: s.connected(), InFlight: s.stats.InFlight(), Latency: s.stats.Latency(),
		}
		k.Eligible, k.Why = x.eligible(s, effect, reports[s.address], choices[n] != excluded)
		if k.Fallback = k.Eligible && choices[n] == fallback; k.Fallback {
			k.Why = fmt.Sprintf("a fallback, when no instance of %q can be reached: %s", x.v.plan.Subsets[x.target.subset].Name, k.Why)
		}
		if kept[i.ID] {
			k.Why += "; the registry no longer lists it, and that list is not used yet"
		}
		out = append(out, k)
		n++
	}
	return out
}

// choice is what the rules make of an instance for a call.
type choice uint8

const (
	excluded choice = iota
	fallback
	preferred
)

// choices tells of each instance whether the rules let the call go to it, and when.
func (x *call) choices() []choice {
	out := make([]choice, len(x.v.instances))
	if x.target.otherwise >= 0 {
		for _, i := range x.v.sets[x.target.otherwise].index {
			out[i] = fallback
		}
	}
	if x.target.subset >= 0 {
		for _, i := range x.v.sets[x.target.subset].index {
			out[i] = preferred
		}
	}
	return out
}

// eligible says whether a server may get the call, and why.
func (x *call) eligible(s *server, effect route.Effect, report health.Report, inside bool) (bool, string) {
	why := func(text string) string {
		if effect.Why != "" {
			return text + " (" + effect.Why + ")"
		}
		return text
	}
	switch {
	case s.invalid != nil:
		return false, "its address cannot be used: " + s.invalid.Error()
	case effect.State == weft.Off:
		return false, why("it is off")
	case x.target.subset < 0:
		return false, fmt.Sprintf("the rule %q does not allow it, and asks for no other", x.target.rule)
	case !inside && x.target.rule != "":
		return false, fmt.Sprintf("the rule %q sends the call elsewhere", x.target.rule)
	case !inside:
		return false, why("the rules leave it out")
	}
	open := ""
	switch b := s.breaker(x.m.number).Status(x.pick.Now); {
	case s.breaker(x.m.number).Ready(x.pick.Now):
	case b.State == breaker.HalfOpen:
		open = fmt.Sprintf("the breaker of the method was open: %s, and the call that is to show how it is now has not ended", b.Why)
	case b.State == breaker.Open:
		open = fmt.Sprintf("the breaker of the method is open: %s, for %v more", b.Why, (b.Until - x.pick.Now).Round(time.Millisecond))
	}
	if open != "" && x.leavesOut(s) {
		return false, open
	}
	switch {
	case s.down.Load():
		text := "it cannot be reached; only as the last resort"
		if failure := s.failure.Load(); failure != nil {
			text = *failure + "; only as the last resort"
		}
		return true, text
	case report.State != health.Healthy:
		return true, fmt.Sprintf("%v, %s; only as the last resort", report.State, report.Why)
	case effect.State == weft.Draining:
		return true, why("it is draining; only as the last resort")
	case effect.Weight <= 0:
		return true, why("only when no instance with a weight is left: its weight is 0")
	case open != "":
		return true, "it may get the call, because too many servers would be left out: " + open
	}
	return true, why("it may get the call")
}

// unwanted says why the configuration leaves an instance out.
func (c *Config) unwanted(i *weft.Instance) string {
	if c.Group != "" && c.Group != i.Group {
		return fmt.Sprintf("its group is %q, this client wants %q", i.Group, c.Group)
	}
	return fmt.Sprintf("its version is %q, this client wants %q", i.Version, c.Version)
}

// mostNamed is how many instances an error names.
const mostNamed = 16

// noServer is the error of a call for which no server can be picked: it names every instance and why it is left out.
func (x *call) noServer() error {
	var b strings.Builder
	snapshot, reason := x.v.snapshot, weft.ReasonNoServer
	forbidden := x.forbidden()
	if forbidden != "" {
		reason = weft.ReasonForbidden
	}
	switch n := len(snapshot.Instances); {
	case forbidden != "":
		fmt.Fprintf(&b, "%s; the list of its %d servers is from %s", forbidden, n, snapshot.Source)
	case n == 0:
		fmt.Fprintf(&b, "no server of %s is known: the list of %s is empty", x.m.service.name, snapshot.Source)
	default:
		fmt.Fprintf(&b, "none of the %d known servers of %s can take the call; the list is from %s", n, x.m.service.name, snapshot.Source)
	}
	if age := snapshot.Age(); age > 0 {
		fmt.Fprintf(&b, ", %v old", age.Round(100*time.Millisecond))
	}
	if snapshot.Err != nil {
		fmt.Fprintf(&b, ", which does not answer: %v", snapshot.Err)
	}
	for _, k := range x.candidates(mostNamed) {
		why := k.Why
		if s := x.v.serverOf(k.Instance.ID); s != nil && s.unreachable() && s.failure.Load() != nil {
			why = *s.failure.Load()
		} else if s != nil && x.pick.Tried.Has(s.stats) {
			why = "it was tried; " + why
		}
		fmt.Fprintf(&b, "; %s: %s", k.Instance.ID, why)
	}
	if more := len(snapshot.Instances) - mostNamed; more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	for i, bad := range snapshot.Invalid {
		if i == mostNamed {
			break
		}
		fmt.Fprintf(&b, "; %s: %v", bad.ID, bad.Err)
	}
	return &weft.Error{Code: weft.Unavailable, Outcome: weft.NotSent, Reason: reason, Method: x.m.name, Message: b.String()}
}

// forbidden says which rule lets the call go to no server; "" when none does. A list without instances is no rule's doing.
func (x *call) forbidden() string {
	switch {
	case len(x.v.instances) == 0:
		return ""
	case x.target.subset < 0:
		return fmt.Sprintf("the rule %q forbids the call: none of the instances that it allows is there", x.target.rule)
	case len(x.v.sets[0].index) == 0:
		return fmt.Sprintf("every instance of %s is off", x.m.service.name)
	}
	return ""
}

// serverOf returns the server of an instance, nil when there is none.
func (v *view) serverOf(id string) *server {
	for i := range v.instances {
		if v.instances[i].ID == id {
			return v.servers[i]
		}
	}
	return nil
}

// String is the explanation as text, a line for each instance.
func (e *Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", e.Method)
	switch {
	case e.Pick != "":
		fmt.Fprintf(&b, " would go to %s", e.Pick)
		if e.Fallback {
			b.WriteString(", a fallback: none of the instances that the rules chose first can be reached")
		}
	case e.Err != nil:
		fmt.Fprintf(&b, " would fail: %v", e.Err)
	}
	if e.Source != "" {
		fmt.Fprintf(&b, "\nservers from %s, %v old", e.Source, e.Age.Round(time.Millisecond))
		if e.Registry != nil {
			fmt.Fprintf(&b, "; it does not answer: %v", e.Registry)
		}
		fmt.Fprintf(&b, "\nfail mode %s, timeout %v, idempotent %v\n", e.FailMode, e.Timeout, e.Idempotent)
	}
	if e.Key != "" {
		fmt.Fprintf(&b, "key %q\n", e.Key)
	}
	if e.RulesVersion > 0 {
		fmt.Fprintf(&b, "rules of version %d\n", e.RulesVersion)
	}
	if e.Routes != nil {
		fmt.Fprintf(&b, "%v\n", e.Routes)
	}
	if e.Rules != nil {
		fmt.Fprintf(&b, "the newest rules are not used: %v\n", e.Rules)
	}
	for _, k := range e.Candidates {
		fmt.Fprintf(&b, "  %s weight %d, %d in flight, latency %v: %s\n", k.Instance.ID, k.Weight, k.InFlight, k.Latency.Round(time.Microsecond), k.Why)
	}
	for _, bad := range e.Invalid {
		fmt.Fprintf(&b, "  %s: %v\n", bad.ID, bad.Err)
	}
	return strings.TrimRight(b.String(), "\n")
}
