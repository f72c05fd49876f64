package balancetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/weftrpc/weft/cluster/balance"
)

func (s *suite) build(set []balance.Node) balance.Picker {
	return s.balancer.Build(slices.Clone(set))
}

func (s *suite) empty() error {
	for _, set := range [][]balance.Node{nil, {}} {
		if i := s.balancer.Build(set).Pick(NewCalls(1).Next()); i != -1 {
			return fmt.Errorf("an empty list gave server %d, want -1", i)
		}
	}
	return nil
}

func (s *suite) single() error {
	for name, change := range map[string]func(*balance.Node){
		"in use":             func(*balance.Node) {},
		"of weight 0":        func(n *balance.Node) { n.Weight = 0 },
		"of negative weight": func(n *balance.Node) { n.Weight = -3 },
		"to avoid":           func(n *balance.Node) { n.Avoid = true },
	} {
		set := Nodes(1)
		change(&set[0])
		p, calls := s.build(set), NewCalls(1)
		for range 10 {
			c := calls.Next()
			if i := p.Pick(c); i != 0 {
				return fmt.Errorf("the only server, %s, was not picked: %d", name, i)
			}
			c.Tried.Add(set[0].Stats)
			if i := p.Pick(c); i != -1 {
				return fmt.Errorf("the only server, %s, was tried; want -1, got %d", name, i)
			}
		}
	}
	return nil
}

func (s *suite) inRange() error {
	for _, n := range []int{2, 3, 16, 17, 1000} {
		set := Nodes(n)
		for i := range set {
			set[i].Weight = i%5 + 1
		}
		p, calls := s.build(set), NewCalls(uint64(n))
		for range 500 {
			c := calls.Next()
			if c.Random%7 == 0 {
				c.Key = ""
			}
			i := p.Pick(c)
			if i < 0 || i >= n {
				return fmt.Errorf("of %d servers, none of them tried, number %d was picked", n, i)
			}
			calls.serve(set[i].Stats, c.Now)
		}
	}
	return nil
}

// tried makes the attempts of a call that fails on every server.
func (s *suite) tried() error {
	for _, n := range []int{2, 3, 8} {
		set := Nodes(n)
		for i := range set {
			set[i].Weight = i * i // one of them 0
		}
		p, calls := s.build(set), NewCalls(uint64(n))
		for range 200 {
			c := calls.Next()
			seen := make([]bool, n)
			for k := range n {
				i := p.Pick(c)
				if i < 0 || i >= n {
					return fmt.Errorf("%d of %d servers were tried and the next pick was %d", k, n, i)
				}
				if seen[i] {
					return fmt.Errorf("server %d was picked again though it was in Tried", i)
				}
				seen[i] = true
				c.Tried.Add(set[i].Stats)
				c.Random++
			}
			if i := p.Pick(c); i != -1 {
				return fmt.Errorf("all %d servers were tried; want -1, got %d", n, i)
			}
		}
	}
	return nil
}

func (s *suite) avoided() error {
	set := Nodes(6)
	set[0].Weight = 0
	set[1].Avoid = true
	set[4].Weight = -1
	p, calls := s.build(set), NewCalls(3)
	for range 2000 {
		c := calls.Next()
		for range 3 { // the three that are left
			i := p.Pick(c)
			if i < 0 || set[i].Avoid || set[i].Weight <= 0 {
				return fmt.Errorf("picked %d, which has weight 0 or is to be avoided, while another was left", i)
			}
			c.Tried.Add(set[i].Stats)
		}
		i := p.Pick(c)
		if i < 0 {
			return errors.New("a server of weight 0 was not picked when nothing else was left")
		}
	}
	return nil
}

func (s *suite) missingStats() error {
	set := Nodes(5)
	for i := range set {
		set[i].Stats = nil
	}
	p, calls := s.build(set), NewCalls(4)
	for range 100 {
		if i := p.Pick(calls.Next()); i < 0 || i >= len(set) {
			return fmt.Errorf("without Stats the pick was %d", i)
		}
	}
	return nil
}

func (s *suite) listUntouched() error {
	set := Nodes(9)
	for i := range set {
		set[i].Weight = i
	}
	handed := slices.Clone(set)
	s.balancer.Build(handed)
	if !slices.Equal(handed, set) {
		return errors.New("the list given to Build was changed")
	}
	return nil
}

func (s *suite) allocations() error {
	for _, n := range []int{1, 3, 1000} {
		set := Nodes(n)
		for i := range set {
			set[i].Weight = i%3 + 1
		}
		p := s.build(set)
		c := NewCalls(5).Next()
		if n > 3 {
			c.Tried.Add(set[0].Stats)
			c.Tried.Add(set[1].Stats)
		}
		allocs := testing.AllocsPerRun(200, func() {
			c.Random = c.Random*6364136223846793005 + 1442695040888963407
			i := p.Pick(c)
			set[i].Stats.Begin(c.Now)
			set[i].Stats.End(c.Now, 1e6, balance.OK)
		})
		if allocs != 0 {
			return fmt.Errorf("%v allocations for a pick of %d servers, want 0", allocs, n)
		}
	}
	return nil
}

// concurrent makes calls while the list changes, for the race detector.
func (s *suite) concurrent() error {
	set := Nodes(12)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	current := s.build(set)
	for g := range 4 {
		wg.Go(func() { // it ends after its calls
			calls := NewCalls(uint64(g))
			for k := range 1000 {
				if g == 0 && k%200 == 0 {
					next := slices.Clone(set)
					next[k/200%12].Avoid = true
					p := s.balancer.Build(next)
					mu.Lock()
					current = p
					mu.Unlock()
				}
				mu.Lock()
				p := current
				mu.Unlock()
				c := calls.Next()
				i := p.Pick(c)
				if i < 0 || i >= len(set) {
					mu.Lock()
					failed = fmt.Errorf("picked %d of %d servers", i, len(set))
					mu.Unlock()
					return
				}
				calls.serve(set[i].Stats, c.Now)
			}
		})
	}
	wg.Wait()
	for i, n := range set {
		if n.Stats.InFlight() != 0 && failed == nil {
			failed = fmt.Errorf("server %d has %d calls in flight after all ended", i, n.Stats.InFlight())
		}
	}
	return failed
}

func (s *suite) deterministic() error {
	run := func() []int {
		set := Nodes(10)
		p, calls := s.build(set), NewCalls(6)
		var picks []int
		for range 1000 {
			c := calls.Next()
			i := p.Pick(c)
			calls.serve(set[i].Stats, c.Now)
			picks = append(picks, i)
		}
		return picks
	}
	if !slices.Equal(run(), run()) {
		return errors.New("two pickers of one list gave different picks for the same calls: take randomness and time from the call only")
	}
	return nil
}

// shares counts the calls of each server when only one is in flight at a time.
func (s *suite) shares() error {
	const calls = 20000
	set := Nodes(4)
	total := 0
	for i := range set {
		set[i].Weight = i + 1
		if s.cfg.Unweighted {
			set[i].Weight = 1 + i*i
		}
		total += set[i].Weight
	}
	counts := countPicks(s.build(set), set, calls)
	tolerance := 0.08
	switch {
	case s.cfg.Keyed:
		tolerance = 0.35 // the shares of a hash differ from the weights
	case s.cfg.LoadAware:
		tolerance = 0.25
	}
	for i, n := range set {
		want := float64(n.Weight) / float64(total)
		if s.cfg.Unweighted {
			want = 1 / float64(len(set))
		}
		got := float64(counts[i]) / calls
		if s.cfg.Unweighted && s.cfg.LoadAware {
			continue // the fastest may get all
		}
		if got < want*(1-tolerance) || got > want*(1+tolerance) {
			return fmt.Errorf("server %d of weight %d got %.3f of the calls, want %.3f ± %.0f %%", i, n.Weight, got, want, tolerance*100)
		}
	}
	return nil
}

func countPicks(p balance.Picker, set []balance.Node, n int) []int {
	counts, calls := make([]int, len(set)), NewCalls(7)
	for range n {
		c := calls.Next()
		i := p.Pick(c)
		calls.serve(set[i].Stats, c.Now)
		counts[i]++
	}
	return counts
}

// place returns the ID of the server of each of n keys.
func place(p balance.Picker, set []balance.Node, n int) []string {
	calls, ids := NewCalls(rand.Uint64()), make([]string, n)
	for k := range ids {
		c := calls.Next()
		c.Key = "user-" + strconv.Itoa(k)
		ids[k] = set[p.Pick(c)].ID
	}
	return ids
}

func (s *suite) keys() error {
	set := Nodes(10)
	want := place(s.build(set), set, 3000)
	source := rand.New(rand.NewPCG(8, 8))
	for range 5 {
		source.Shuffle(len(set), func(i, k int) { set[i], set[k] = set[k], set[i] })
		if got := place(s.build(set), set, 3000); !slices.Equal(got, want) {
			return errors.New("another order of the list sent keys to other servers")
		}
	}
	return nil
}

func (s *suite) removal() error {
	const keys = 10000
	set := Nodes(10)
	before := place(s.build(set), set, keys)
	for i := range set {
		if s.cfg.Numbered {
			i = len(set) - 1
		}
		left := slices.Delete(slices.Clone(set), i, i+1)
		moved := 0
		for k, id := range place(s.build(left), left, keys) {
			if id != before[k] {
				moved++
			}
		}
		if limit := 0.12 * keys; float64(moved) > limit {
			return fmt.Errorf("removal of server %d of 10 moved %d of %d keys, want at most %.0f", i, moved, keys, limit)
		}
	}
	return nil
}
