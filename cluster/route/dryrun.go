package route

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftrpc/weft"
)

// Report is what proposed rules would change.
type Report struct {
	Instances []InstanceChange // only those that change
	Methods   []MethodChange   // only those that change
	Calls     []CallChange     // calls that change alike together, the most frequent first
	Sample    int              // how many calls were tried
	Notes     []string         // Plan.Notes of the proposed rules
}

// InstanceChange is what changes for an instance.
type InstanceChange struct {
	ID            string
	Before, After Effect

	// ShareBefore and ShareAfter are how many percent of the sample calls the
	// instance would get, going by weights. 0 without a sample.
	ShareBefore, ShareAfter float64
}

// MethodChange is what changes for a method, or for those that a pattern names.
type MethodChange struct {
	Name          string
	Before, After Method
}

// CallChange is a change that some of the sample calls have in common.
type CallChange struct {
	Calls         int  // how many
	Example       Call // the first of them
	Before, After []Share
}

// Share is a part of the calls that goes to the same instances.
type Share struct {
	Percent   float64
	Rule      string // the route, "" for none
	Subset    string // its name, "" when the calls fail
	Instances int    // how many it has

	index []int
}

// String is such as `10 % to canary: version=2.0 (1 instance)`.
func (s Share) String() string {
	if s.Subset == "" {
		return fmt.Sprintf("%v %% fail by route %q", s.Percent, s.Rule)
	}
	return fmt.Sprintf("%v %% to %s (%s)", s.Percent, s.Subset, count(s.Instances))
}

// DryRun tells what would change if the proposed rules took the place of the
// current ones: for each instance, for each method, and for sample calls, such as
// the last ones of a client. Of a call without a key all sides are told with their
// shares, so Call.Random is not looked at.
func DryRun(current, proposed *Rules, instances []weft.Instance, calls []Call) *Report {
	before, after := current.Plan(instances), proposed.Plan(instances)
	report := &Report{Methods: methodChanges(current, proposed), Sample: len(calls), Notes: after.Notes}
	loadBefore, loadAfter := make([]float64, len(instances)), make([]float64, len(instances))
	groups := make(map[string]*CallChange)
	for i := range calls {
		was, is := before.shares(&calls[i]), after.shares(&calls[i])
		before.load(loadBefore, was, len(calls))
		after.load(loadAfter, is, len(calls))
		if slices.EqualFunc(was, is, func(a, b Share) bool { return a.Percent == b.Percent && slices.Equal(a.index, b.index) }) {
			continue
		}
		name := fmt.Sprint(was, is)
		if groups[name] == nil {
			groups[name] = &CallChange{Example: calls[i], Before: was, After: is}
		}
		groups[name].Calls++
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		report.Calls = append(report.Calls, *groups[name])
	}
	slices.SortStableFunc(report.Calls, func(a, b CallChange) int { return cmp.Compare(b.Calls, a.Calls) })
	for i := range instances {
		c := InstanceChange{instances[i].ID, before.Instances[i], after.Instances[i], loadBefore[i], loadAfter[i]}
		moved := max(c.ShareBefore-c.ShareAfter, c.ShareAfter-c.ShareBefore) >= 0.05
		if moved || c.Before.Weight != c.After.Weight || c.Before.State != c.After.State {
			report.Instances = append(report.Instances, c)
		}
	}
	return report
}

// shares are where calls like this one go, in percent and in the order of the
// sides. Sides that lead to the same instances are one share.
func (p *Plan) shares(call *Call) []Share {
	at, side := p.rules.choose(call)
	if at == None {
		return []Share{p.share(100, Target{Subset: 0, Else: None})}
	}
	rt := &p.rules.routes[at]
	var seen metadata
	seen.read(p.rules.keys, call.Metadata)
	if key, _ := rt.key(call, &seen); key != "" {
		return []Share{p.share(100, p.targets[at][side])}
	}
	var all []Share
	for s := range rt.sides {
		if rt.sides[s].percent == 0 {
			continue
		}
		share := p.share(rt.sides[s].percent, p.targets[at][s])
		if i := slices.IndexFunc(all, func(o Share) bool { return o.Subset == share.Subset }); i >= 0 {
			all[i].Percent = float64(hundredths(all[i].Percent)+hundredths(share.Percent)) * 100 / places
			continue
		}
		all = append(all, share)
	}
	return all
}

func (p *Plan) share(percent float64, t Target) Share {
	if t.Subset == None {
		return Share{Percent: percent, Rule: t.Rule}
	}
	s := &p.Subsets[t.Subset]
	return Share{Percent: percent, Rule: t.Rule, Subset: s.Name, Instances: len(s.Index), index: s.Index}
}

// load adds what one of n calls brings to each instance, in percent of all calls.
func (p *Plan) load(load []float64, shares []Share, n int) {
	for _, s := range shares {
		index := p.eligible(s.index)
		sum := 0.0
		for _, i := range index {
			sum += max(float64(p.Instances[i].Weight), 0)
		}
		for _, i := range index {
			part := 1 / float64(len(index))
			if sum > 0 {
				part = float64(p.Instances[i].Weight) / sum
			}
			load[i] += s.Percent * part / float64(n)
		}
	}
}

// eligible are those of the instances that get calls as long as they can be
// reached: those that are on and have a weight, else those that are on, else all.
func (p *Plan) eligible(index []int) []int {
	for _, want := range []func(Effect) bool{
		func(e Effect) bool { return e.State == weft.On && e.Weight > 0 },
		func(e Effect) bool { return e.State == weft.On },
	} {
		var some []int
		for _, i := range index {
			if want(p.Instances[i]) {
				some = append(some, i)
			}
		}
		if some != nil {
			return some
		}
	}
	return index
}

// methodChanges compares what both say about every name and pattern of either.
func methodChanges(current, proposed *Rules) []MethodChange {
	before, after := current.Revision().Methods, proposed.Revision().Methods
	names := maps.Clone(before)
	if names == nil {
		names = make(map[string]Method)
	}
	maps.Copy(names, after)
	var changes []MethodChange
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c := MethodChange{name, before[name], after[name]}
		if !strings.Contains(name, "*") { // with what patterns add to it
			c.Before, c.After = current.Method(name), proposed.Method(name)
		}
		if c.Before.String() != c.After.String() {
			changes = append(changes, c)
		}
	}
	return changes
}

// Changed reports whether anything would change.
func (r *Report) Changed() bool { return len(r.Instances)+len(r.Methods)+len(r.Calls) > 0 }

// String is the report in lines.
func (r *Report) String() string {
	var b strings.Builder
	if !r.Changed() {
		b.WriteString("nothing changes\n")
	}
	for _, c := range r.Instances {
		fmt.Fprintf(&b, "instance %s:%s\n", c.ID, c.text(r.Sample > 0))
	}
	for _, c := range r.Methods {
		fmt.Fprintf(&b, "method %s: %v -> %v\n", c.Name, c.Before, c.After)
	}
	if r.Sample > 0 {
		moved := 0
		for _, c := range r.Calls {
			moved += c.Calls
		}
		fmt.Fprintf(&b, "%d of %d calls would go elsewhere\n", moved, r.Sample)
	}
	for _, c := range r.Calls {
		fmt.Fprintf(&b, "%d like %s %v\n", c.Calls, c.Example.Method, c.Example.Metadata)
		fmt.Fprintf(&b, "  before: %s\n", joined(c.Before))
		fmt.Fprintf(&b, "  after:  %s\n", joined(c.After))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	return b.String()
}

// text is such as " weight 100 -> 50, 33.3 % -> 20.0 % of the calls".
func (c *InstanceChange) text(sampled bool) string {
	var parts []string
	if c.Before.State != c.After.State {
		parts = append(parts, fmt.Sprintf(" %v -> %v", c.Before.State, c.After.State))
	}
	if c.Before.Weight != c.After.Weight {
		parts = append(parts, fmt.Sprintf(" weight %d -> %d", c.Before.Weight, c.After.Weight))
	}
	if sampled {
		parts = append(parts, fmt.Sprintf(" %.1f %% -> %.1f %% of the calls", c.ShareBefore, c.ShareAfter))
	}
	return strings.Join(parts, ",")
}

func joined(shares []Share) string {
	parts := make([]string, len(shares))
	for i, s := range shares {
		parts[i] = s.String()
	}
	return strings.Join(parts, ", ")
}
