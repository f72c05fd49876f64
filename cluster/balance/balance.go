// Package balance decides which of several servers gets a call.
//
// A [Balancer] is an immutable value of a client's configuration. It is asked
// once for every change of the list of servers to build a [Picker], which may
// take milliseconds; the picker then answers for every call, without a lock and
// without allocating. What is learnt from calls lies in the [Stats] of each
// server, which its owner keeps over rebuilds.
//
//	calls   := &balance.Stats{...}            one for each server, kept by the client
//	picker  := balance.P2C().Build(nodes)     on every change of the list
//	i       := picker.Pick(call)              for every attempt; -1: no server left
//	nodes[i].Stats.Begin(now)                 the attempt begins
//	nodes[i].Stats.End(now, latency, result)  and ends
//
// Balancers:
//
//   - [P2C], the default: the better of two random servers, by latency and
//     calls in flight.
//   - [Random], [RoundRobin], [WeightedRoundRobin]: blind to load.
//   - [LeastInFlight]: fewest calls in flight.
//   - [Fastest]: lowest measured latency, with exploration.
//   - [Ring], [Maglev], [Jump]: consistent hashes of the call's key.
//   - [Func]: the user's own function.
//
// Wrappers, which can be nested:
//
//   - [Zone]: the client's own zone first.
//   - [Nearest]: the geographically nearest first.
//   - [Sticky]: stays with one server.
//   - [Bounded]: no server gets far more than the average, for the hashes.
//   - [SlowStart]: a new server gets its share by and by.
//   - [Subset]: a fixed small part of a large list.
//
// Two rules hold for all of them. A server of weight 0 is picked only when no
// server with a weight is left to try, and one to avoid (draining, ejected)
// only after those. And a picker reads neither clock nor random source: time
// and random bits come with the call, so equal calls in an equal order give
// equal picks.
package balance

import (
	"time"

	"github.com/weftrpc/weft/instance"
)

// A Balancer builds pickers. It is a value that never changes: any number of
// clients may share it, and Build may be called at the same time.
//
// Package balancetest proves that a balancer, also a user's, keeps the promises. One
// whose parameters can be wrong has a method Check() error; see [Check].
type Balancer interface {
	// Build returns a picker for a list of servers, in any order. The list
	// belongs to the picker from then on: nobody changes it. An empty list
	// gives a picker that always answers -1.
	Build(set []Node) Picker
}

// A Picker chooses a server for each call. All goroutines use it at the same
// time, and go on using it for a moment after a newer one was built.
type Picker interface {
	// Pick returns an index into the list the picker was built from, or -1
	// when the list is empty or every server of it was tried by this call. It
	// takes no lock, allocates nothing, and never returns a server in
	// call.Tried.
	Pick(call Call) int
}

// Node is one server as a balancer sees it.
type Node struct {
	// ID tells servers apart and places them for the hashes: the network
	// address, or a name that outlives it. Unique within a list.
	ID string

	// Weight is the share this server gets relative to the others. 0 or less
	// means: only when no server with a weight is left.
	Weight int

	// Avoid means: only when nothing else is left at all. It is for a server
	// that drains, was ejected, or has an open breaker.
	Avoid bool

	// Zone is the name of the failure domain the server runs in.
	Zone string

	// Position is where the server stands; nil: not known.
	Position *instance.Position

	// Stats is what calls to this server have shown. Keep it over rebuilds. A
	// nil one is replaced by an empty one that stays empty, so the balancers
	// that look at load then see none.
	Stats *Stats

	// Load is what the server last reported of itself, for all its clients together;
	// nil if it reports nothing. It is up to half a minute old when it comes.
	Load *instance.Load
}

// Call is what a balancer may know about one attempt of a call.
type Call struct {
	// Method is the full name, "Service.Method". Only [Func] reads it.
	Method string

	// Key selects the server in the hashes: equal keys, equal server. An empty
	// key is no key: the hashes then spread the calls at random.
	Key string

	// Random holds 64 random bits, fresh for each attempt: math/rand/v2.Uint64
	// in a program, a seeded source in a test.
	Random uint64

	// Now is the time, by the clock that also times [Stats]: since any fixed
	// moment, never going back.
	Now time.Duration

	// Tried holds the servers that earlier attempts of this call were sent to.
	Tried Tried
}

// triedLimit is how many servers a Tried holds.
const triedLimit = 8

// Tried is the small set of servers that a call has tried. It knows them by
// their Stats, so it holds over a rebuild between two attempts. The zero value
// is empty. It is a value of fixed size: a copy is independent.
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

// Has tells whether a server is in the set.
func (t *Tried) Has(s *Stats) bool {
	for _, tried := range t.nodes[:min(t.n, triedLimit)] {
		if tried == s {
			return true
		}
	}
	return false
}

// Len is how many servers are in the set, 8 at most.
func (t *Tried) Len() int { return min(t.n, triedLimit) }
