// Package balance chooses which of several servers gets a call.
//
// A [Balancer] is an immutable value of a client's configuration. For every change of
// the list of servers it builds a [Picker], which may take milliseconds. The picker
// then chooses a server for every call, without a lock and without allocating. What
// calls have shown of a server is in its [Stats], which the client keeps when the list
// changes.
//
//	stats   := balance.NewStats(now)          one for each server, kept by the client
//	picker  := balance.P2C().Build(nodes)     on every change of the list
//	i       := picker.Pick(call)              for every attempt; -1: no server is left
//	nodes[i].Stats.Begin(now)                 the attempt begins
//	nodes[i].Stats.End(now, latency, result)  the attempt ends
//
// Balancers:
//
//   - [P2C], the default: the better of two random servers, by latency and
//     calls in flight.
//   - [LeastReported]: the same, by the load that servers report.
//   - [LeastInFlight]: the fewest calls in flight.
//   - [Fastest]: the lowest measured latency.
//   - [Random], [RoundRobin], [WeightedRoundRobin]: by weight or in turn alone.
//   - [Ring], [Maglev], [Jump]: consistent hashes of the call's key.
//   - [Func]: the user's own function.
//
// Wrappers, which can be nested:
//
//   - [Zone]: the client's own zone first.
//   - [Nearest]: the geographically nearest first.
//   - [Sticky]: one server as long as it can be used.
//   - [Bounded]: no server gets far more than the average; for the hashes.
//   - [SlowStart]: the share of a new server grows over time.
//   - [Subset]: a fixed small part of a large list.
//
// Three rules hold for all of them. A server of weight 0 is picked only when no
// server with a weight is left to try, and one to avoid (draining, ejected)
// only after those. A picker reads neither clock nor random source: time and random
// bits come with the call, so equal calls in an equal order give equal picks. And wrong
// parameters are errors of [Check], not of the constructors.
package balance

import (
	"time"

	"github.com/weftrpc/weft/instance"
)

// A Balancer builds pickers. It is a value that never changes: any number of
// clients may share it, and Build may be called at the same time.
//
// Package balancetest tests these promises, also of a user's balancer. One whose
// parameters can be wrong has a method Check() error; see [Check].
type Balancer interface {
	// Build returns a picker for a list of servers, in any order. The list
	// belongs to the picker from then on and must not be changed. The picker of an
	// empty list always returns -1.
	Build(set []Node) Picker
}

// A Picker chooses a server for each call. It is used by many goroutines at the same
// time, and for a moment still after a newer one was built.
type Picker interface {
	// Pick returns an index into the list the picker was built from, or -1
	// when the list is empty or every server of it was tried by this call. It
	// takes no lock, allocates nothing, and never returns a server in
	// call.Tried.
	Pick(call Call) int
}

// Node is one server as a balancer sees it.
type Node struct {
	// ID is unique within a list, and the hashes place the server by it: the network
	// address, or a name that stays when the address changes.
	ID string

	// Weight is the share of calls relative to the other servers. 0 or less: calls
	// only when no server with a weight is left.
	Weight int

	// Avoid: calls only when no other server is left at all. It is for a server
	// that drains, was ejected, or cannot be reached.
	Avoid bool

	// Zone is the name of the failure domain the server runs in.
	Zone string

	// Position is the place of the server on Earth; nil: not known.
	Position *instance.Position

	// Stats is what calls to this server have shown. The same Stats must be given
	// again when the list changes. A nil one stands for one that stays empty, so the
	// balancers that look at load then see none.
	Stats *Stats

	// Load is what the server last reported of itself, for all its clients together;
	// nil if it reports nothing. It is up to half a minute old when it comes.
	Load *instance.Load
}

// Call describes one attempt of a call to a balancer.
type Call struct {
	// Method is the full name, "Service.Method". Only [Func] reads it.
	Method string

	// Key selects the server in the hashes: equal keys give equal servers. With an
	// empty key they pick at random.
	Key string

	// Random holds 64 random bits, fresh for each attempt: math/rand/v2.Uint64
	// in a program, a seeded source in a test.
	Random uint64

	// Now is the time since any fixed moment, by the clock that also times [Stats]. It
	// never goes back.
	Now time.Duration

	// Tried holds the servers that earlier attempts of this call were sent to.
	Tried Tried
}

// triedLimit is how many servers a Tried holds.
const triedLimit = 8

// Tried is the small set of servers that a call has tried. It identifies them by
// their Stats, so it stays valid when the list changes between two attempts. The zero
// value is empty. It has a fixed size, and a copy is independent.
type Tried struct {
	nodes [triedLimit]*Stats
	n     int
}

// Add puts a server into the set. The ninth takes the place of the first.
func (t *Tried) Add(s *Stats) {
	if !t.Has(s) {
		t.nodes[t.n%triedLimit] = s
		t.n++
	}
}

// Has reports whether a server is in the set.
func (t *Tried) Has(s *Stats) bool {
	for _, tried := range t.nodes[:min(t.n, triedLimit)] {
		if tried == s {
			return true
		}
	}
	return false
}

// Len returns the number of servers in the set, at most 8.
func (t *Tried) Len() int { return min(t.n, triedLimit) }
