package balance

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// Sticky picks the server that inner (nil: [P2C]) picked for the first call, until that
// server leaves, is to be avoided, or a call that has tried it needs another: then it
// goes on with that one. When the list changes it finds the server by its [Stats]. All
// calls of a client go to one server, so a weight is only the chance to be that one.
func Sticky(inner Balancer) Balancer { return sticky{orDefault(inner)} }

type sticky struct{ inner Balancer }

// Check checks the balancer inside.
func (s sticky) Check() error { return Check(s.inner) }

func (s sticky) Build(set []Node) Picker {
	set = slices.Clone(set)
	for i := range set {
		if set[i].Stats == nil {
			set[i].Stats = new(Stats)
		}
	}
	p := &stickyPicker{inner: s.inner.Build(set), set: set}
	first := -1
	for i, n := range set {
		if n.Stats.held.Load() && rank(n) == 0 && (first < 0 || cmp.Less(n.ID, set[first].ID)) {
			first = i
		}
	}
	p.held.Store(int32(first))
	return p
}

type stickyPicker struct {
	inner Picker
	set   []Node
	held  atomic.Int32 // -1: none yet
}

func (p *stickyPicker) Pick(c Call) int {
	for {
		held := p.held.Load()
		if held >= 0 && !c.Tried.Has(p.set[held].Stats) {
			return int(held)
		}
		i := p.inner.Pick(c)
		if i < 0 {
			return -1
		}
		if rank(p.set[i]) != 0 {
			return i // it is a last resort, for this call only
		}
		if !p.held.CompareAndSwap(held, int32(i)) {
			continue // another call has just moved to another server: use that
		}
		p.set[i].Stats.held.Store(true)
		if held >= 0 {
			p.set[held].Stats.held.Store(false)
		}
		return i
	}
}
