package balance_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weftrpc/weft/cluster/balance"
)

// A client builds a picker for its servers, picks one for each attempt, and tells
// its Stats how the attempt went.
func Example() {
	started := time.Now()
	nodes := []balance.Node{
		{ID: "tcp://10.0.0.1:8972", Weight: 1, Stats: balance.NewStats(0)},
		{ID: "tcp://10.0.0.2:8972", Weight: 1, Stats: balance.NewStats(0)},
	}
	picker := balance.P2C().Build(nodes)

	call := balance.Call{Random: rand.Uint64(), Now: time.Since(started)}
	first := picker.Pick(call)
	nodes[first].Stats.Begin(call.Now)
	nodes[first].Stats.End(time.Since(started), time.Since(started)-call.Now, balance.Failed)

	call.Tried.Add(nodes[first].Stats) // the next attempt goes elsewhere
	second := picker.Pick(call)
	call.Tried.Add(nodes[second].Stats)
	fmt.Println(first != second, picker.Pick(call))
	// Output: true -1
}

// Equal keys reach the same server from every client.
func ExampleRing() {
	nodes := []balance.Node{{ID: "a", Weight: 1}, {ID: "b", Weight: 1}, {ID: "c", Weight: 1}}
	reversed := []balance.Node{nodes[2], nodes[1], nodes[0]}
	one, other := balance.Ring().Build(nodes), balance.Ring().Build(reversed)
	for _, user := range []string{"ann", "bob"} {
		call := balance.Call{Key: user}
		fmt.Println(nodes[one.Pick(call)].ID == reversed[other.Pick(call)].ID)
	}
	// Output:
	// true
	// true
}

// A user's own balancer is a function.
func ExampleFunc() {
	longest := balance.Func(func(set []balance.Node, call balance.Call) int {
		best := -1
		for i, n := range set {
			if !call.Tried.Has(n.Stats) && (best < 0 || len(n.ID) > len(set[best].ID)) {
				best = i
			}
		}
		return best
	})
	nodes := []balance.Node{{ID: "ab", Weight: 1}, {ID: "abc", Weight: 1}}
	fmt.Println(longest.Build(nodes).Pick(balance.Call{}))
	// Output: 1
}
