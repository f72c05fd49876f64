package balancetest

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weftrpc/weft/cluster/balance"
)

// faulty builds pickers from a function, and so can break any promise.
type faulty func(set []balance.Node) func(balance.Call) int

func (f faulty) Build(set []balance.Node) balance.Picker { return pickFunc(f(set)) }

type pickFunc func(balance.Call) int

func (f pickFunc) Pick(c balance.Call) int { return f(c) }

// around changes the picks of a correct balancer.
func around(b balance.Balancer, change func(set []balance.Node, c balance.Call, i int) int) balance.Balancer {
	return faulty(func(set []balance.Node) func(balance.Call) int {
		p := b.Build(set)
		return func(c balance.Call) int { return change(set, c, p.Pick(c)) }
	})
}

// passesBy is P2C, but of part of the picks it takes another server.
func passesBy(part float64) balance.Balancer {
	return faulty(func(set []balance.Node) func(balance.Call) int {
		p := balance.P2C().Build(set)
		return func(c balance.Call) int {
			i := p.Pick(c)
			if float64(c.Random%1000) < part*1000 {
				c.Tried.Add(set[i].Stats)
				if other := p.Pick(c); other >= 0 {
					return other
				}
			}
			return i
		}
	})
}

// leastOfAll picks the server with the fewest calls in flight for its weight, by weight
// among equals.
func leastOfAll(set []balance.Node) func(balance.Call) int {
	p := balance.Random().Build(set)
	return func(c balance.Call) int {
		best := p.Pick(c)
		load := func(i int) float64 { return float64(set[i].Stats.InFlight()) / float64(set[i].Weight) }
		for i := range set {
			if load(i) < load(best) {
				best = i
			}
		}
		return best
	}
}

// TestFaults: each fault is found by the check that is for it.
func TestFaults(t *testing.T) {
	kept := make([][]byte, 1)
	all := Config{LoadAware: true, Keyed: true, Reports: true, SlowStart: time.Second}
	for _, test := range []struct {
		name     string
		check    string
		balancer balance.Balancer
	}{
		{"index for an empty list", "empty list", faulty(func([]balance.Node) func(balance.Call) int {
			return func(balance.Call) int { return 0 }
		})},
		{"nothing for one server", "single server", faulty(func([]balance.Node) func(balance.Call) int {
			return func(balance.Call) int { return -1 }
		})},
		{"one beyond", "range", around(balance.Random(), func(set []balance.Node, _ balance.Call, i int) int {
			return i + 1
		})},
		{"ignores Tried", "tried servers", faulty(func(set []balance.Node) func(balance.Call) int {
			return func(c balance.Call) int { return int(c.Random % uint64(len(set))) }
		})},
		{"ignores Avoid and weight 0", "avoided servers", faulty(func(set []balance.Node) func(balance.Call) int {
			set = slices.Clone(set)
			for i := range set {
				set[i].Weight, set[i].Avoid = 1, false
			}
			return balance.Random().Build(set).Pick
		})},
		{"needs Stats", "missing stats", around(balance.Random(), func(set []balance.Node, _ balance.Call, i int) int {
			if set[i].Stats == nil {
				return -1
			}
			return i
		})},
		{"sorts the list in place", "list untouched", faulty(func(set []balance.Node) func(balance.Call) int {
			slices.Reverse(set)
			return balance.Random().Build(set).Pick
		})},
		{"allocates", "allocations", around(balance.Random(), func(_ []balance.Node, _ balance.Call, i int) int {
			kept[0] = make([]byte, 100)
			return i
		})},
		{"own random source", "determinism", faulty(func(set []balance.Node) func(balance.Call) int {
			return func(balance.Call) int { return rand.IntN(len(set)) }
		})},
		{"ignores weights", "shares", balance.RoundRobin()},
		{"ignores weights", "weights", balance.RoundRobin()},
		{"spares the server in use while all are new", "weights", passesBy(0.9)},
		{"prefers the server with fewer calls in flight, by a whole call", "weights", faulty(leastOfAll)},
		{"ignores the key", "keys", balance.Random()},
		{"depends on the order of the list", "keys", faulty(func(set []balance.Node) func(balance.Call) int {
			set = slices.Clone(set)
			for i := range set {
				set[i].ID = string(rune('a' + i))
			}
			return balance.Ring().Build(set).Pick
		})},
		{"moves the keys of all servers behind", "removal", balance.Jump()},
		{"blind to latency", "slow server", balance.RoundRobin()},
		{"spares the fast server while all are new", "slow at first", passesBy(0.9)},
		{"blind to silence", "frozen server", balance.Random()},
		{"forgets at a rebuild", "stats over rebuilds", faulty(func(set []balance.Node) func(balance.Call) int {
			return balance.Random().Build(set).Pick
		})},
		{"blind to reports", "reports", balance.P2C()},
		{"uses old reports", "reports", faulty(func(set []balance.Node) func(balance.Call) int {
			p := balance.Random().Build(set)
			return func(c balance.Call) int {
				if i := p.Pick(c); i != 0 || c.Random%16 == 0 {
					return i
				}
				return 1
			}
		})},
		{"all at once", "slow start", balance.Random()},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &suite{balancer: test.balancer, cfg: all}
			checks := s.checks()
			i := slices.IndexFunc(checks, func(c check) bool { return c.name == test.check })
			if err := checks[i].run(); err == nil {
				t.Errorf("the check %q did not find it", test.check)
			} else {
				t.Log(err)
			}
		})
	}
}

// TestSimulationRepeats: the same seed gives the same counts.
func TestSimulationRepeats(t *testing.T) {
	run := func() []int {
		sim := &Simulation{Nodes: Nodes(3), Callers: 5, Seed: 3, Latency: func(int, time.Duration) time.Duration {
			return time.Millisecond
		}}
		return sim.Run(balance.P2C().Build(sim.Nodes), 0, time.Second)
	}
	if a, b := run(), run(); !slices.Equal(a, b) || a[0] == 0 {
		t.Errorf("two runs gave %v and %v", a, b)
	}
}
