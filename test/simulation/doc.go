// Package simulation runs clients, servers, a registry and the network between them in
// one process, on a clock of its own ([testing/synctest]), with faults that follow from a
// seed. It has only tests:
//
//	go test ./test/simulation
//	go test -run 'TestSeeds$' -seed=17 -v
//	go test -run 'TestSeeds$' -first=1 -seeds=100000
//
// A seed gives a plan: how many servers and clients there are and how they are
// configured, every call with its time, its deadline and what its handler does, the delay
// of every segment of bytes, and the faults: connections that are cut, stall, vanish, are closed
// on one side or overtake one another, servers that restart, die or are slow, dials that are refused or
// not answered, a registry that is away or has lost its data, clients that leave.
//
// When a plan has ended, the ledger of all calls is checked: see verdict_test.go for what
// must hold. A seed that fails is printed with the command that runs it again.
//
// # How repeatable a seed is
//
// The plan depends on the seed alone, and so does the delay of the n-th segment in a direction of the
// n-th connection between two programs. Since delays differ by nanoseconds, few things happen at the
// same moment of the clock. What does happen at the same moment runs in the order in which Go's scheduler
// chooses, and the balancers, backoffs and hedges of package cluster draw their random numbers
// from math/rand/v2, which cannot be seeded. So the same seed gives the same faults at
// the same times to the same calls, and not always the same run: TestRepeat prints how often it does.
// A failure that depends on the order may need more than one run; -again=100 runs a seed a
// hundred times.
package simulation
