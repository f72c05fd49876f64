package balance

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Subset gives inner (nil: [P2C]) only size of the servers, always the same ones
// for one client: with hundreds of clients and servers a connection from each client to
// each server would cost more than it is worth. A size of 0 means 32. A list that is not
// longer stays whole.
//
// The servers are those with the highest hash of client and server together
// (rendezvous hashing, Thaler and Ravishankar 1998, as in gRPC's proposal A68,
// random subsetting). When one leaves, only it is replaced; one to avoid or of
// weight 0 is replaced too as long as there are others. client must differ
// between clients, such as host name and port, or the name of the pod. A client that
// keeps its name over a restart keeps its servers.
func Subset(size int, client string, inner Balancer) Balancer {
	return subset{size, client, orDefault(inner)}
}

// defaultSubset is the size of a Subset that names none.
const defaultSubset = 32

type subset struct {
	size   int
	client string
	inner  Balancer
}

// Check refuses a size below zero, and a client without a name: all of those would
// use the same servers.
func (s subset) Check() error {
	if s.size < 0 {
		return fmt.Errorf("balance.Subset: the size is %d, want 0 (for %d) or more", s.size, defaultSubset)
	}
	if s.client == "" {
		return errors.New("balance.Subset: the client has no name, so all clients would use the same servers; name it by host and port, or by its pod")
	}
	return Check(s.inner)
}

func (s subset) Build(set []Node) Picker {
	size := s.size
	if size <= 0 {
		size = defaultSubset
	}
	if len(set) <= size {
		return s.inner.Build(set)
	}
	client := hash(s.client)
	score := make([]uint64, len(set))
	index := make([]int, len(set))
	for i, n := range set {
		score[i], index[i] = mix(client^next(hash(n.ID))), i
	}
	slices.SortFunc(index, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(rank(set[a]), rank(set[b])),
			cmp.Compare(score[b], score[a]),
			cmp.Compare(set[a].ID, set[b].ID))
	})
	index = index[:size]
	part := make([]Node, size)
	for k, i := range index {
		part[k] = set[i]
	}
	return tiers{{s.inner.Build(part), index}}
}
