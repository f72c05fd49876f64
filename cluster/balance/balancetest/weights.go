package balancetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weftrpc/weft/cluster/balance"
)

const (
	weightedCalls = 10000
	// weightsOff is how far the share of a server may be from its weight, of all calls.
	weightsOff = 0.02
)

// weights holds shares to the weights from the first call of a client on: all servers
// have just been found, and answer equally fast, one time in a hundred slowly.
func (s *suite) weights() error {
	callers := []int{1, 4, 64}
	if s.cfg.Bounds {
		callers = callers[:1]
	}
	for _, weights := range [][]int{{1, 1}, {100, 300}, {100, 100, 800}, {1, 2, 3, 4}, {1, 99}} {
		for _, n := range callers {
			if err := s.weightsOf(weights, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *suite) weightsOf(weights []int, callers int) error {
	set, total := Nodes(len(weights)), 0
	for i, w := range weights {
		set[i].Weight, set[i].Stats = w, balance.NewStats(0)
		total += w
	}
	noise := rand.New(rand.NewPCG(13, uint64(callers)))
	sim := &Simulation{Nodes: set, Callers: callers, Calls: weightedCalls, Seed: 13,
		Latency: func(int, time.Duration) time.Duration {
			took := time.Millisecond/2 + time.Duration(noise.ExpFloat64()*float64(time.Millisecond/2))
			if noise.IntN(100) == 0 {
				took *= 10
			}
			return took
		}}
	counts := sim.Run(s.build(slices.Clone(set)), 0, time.Hour)
	for i, w := range weights {
		got, want := float64(counts[i])/weightedCalls, float64(w)/float64(total)
		if got < want-weightsOff || got > want+weightsOff {
			return fmt.Errorf("weights %v, %d callers: server %d got %.3f of %d calls, want %.3f ± %.2f",
				weights, callers, i, got, weightedCalls, want, weightsOff)
		}
	}
	return nil
}

// slowAtFirst gives a new client two servers of which one is far slower.
func (s *suite) slowAtFirst() error {
	for slow := range 2 {
		for _, callers := range []int{4, 16} {
			set := Nodes(2)
			for i := range set {
				set[i].Stats = balance.NewStats(0)
			}
			sim := &Simulation{Nodes: set, Callers: callers, Seed: 14,
				Latency: func(node int, _ time.Duration) time.Duration {
					if node == slow {
						return 25 * time.Millisecond
					}
					return time.Millisecond
				}}
			counts := sim.Run(s.build(slices.Clone(set)), 0, time.Second)
			if got := shareOf(counts, slow); got > 0.06 {
				return fmt.Errorf("in the first second of a client with %d callers, the slower of two servers, 25 times as slow, got %.3f of the calls, want at most 0.06",
					callers, got)
			}
		}
	}
	return nil
}
