package balance_test

import (
	"testing"
	"time"

	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/balance/balancetest"
)

// TestFrozenAndBack: with a timeout of a second, a server that freezes for 30 s
// gets a few probes, and its share when it is back.
func TestFrozenAndBack(t *testing.T) {
	for _, test := range []struct {
		name        string
		balancer    balance.Balancer
		returned    time.Duration // after it woke up
		least, most float64       // its share from then on
	}{
		{"P2C", balance.P2C(), 15 * time.Second, 0.3, 0.36},
		{"Fastest", balance.Fastest(), 5 * time.Second, 0.1, 0.5},
	} {
		t.Run(test.name, func(t *testing.T) {
			const freeze, wake = 5 * time.Second, 35 * time.Second
			set := balancetest.Nodes(3)
			sim := &balancetest.Simulation{Nodes: set, Callers: 6, Seed: 1, Timeout: time.Second,
				Latency: func(node int, now time.Duration) time.Duration {
					if node == 1 && now >= freeze && now < wake {
						return -1
					}
					return 5 * time.Millisecond
				}}
			p := test.balancer.Build(set)
			sim.Run(p, 0, freeze)
			frozen := sim.Run(p, freeze, wake)
			if frozen[1] > 30 || frozen[0]+frozen[2] < 25000 {
				t.Errorf("in 30 s the calls were %v, want at most 30 of them to the frozen server in the middle", frozen)
			}
			sim.Run(p, wake, wake+test.returned)
			back := sim.Run(p, wake+test.returned, wake+test.returned+10*time.Second)
			share := float64(back[1]) / float64(back[0]+back[1]+back[2])
			if share < test.least || share > test.most {
				t.Errorf("%v after it woke up the server gets %.3f of the calls, want %.2f to %.2f", test.returned, share, test.least, test.most)
			}
		})
	}
}

// TestCanary: one server of weight 1 beside one of weight 99 gets about its
// hundredth, though it is idle and looks faster.
func TestCanary(t *testing.T) {
	for _, test := range []struct {
		name     string
		balancer balance.Balancer
		callers  int
	}{
		{"P2C, one caller", balance.P2C(), 1},
		{"P2C, 50 callers", balance.P2C(), 50},
		{"least in flight, one caller", balance.LeastInFlight(), 1},
		{"least in flight, 50 callers", balance.LeastInFlight(), 50},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := balancetest.Nodes(2)
			set[0].Weight = 99
			sim := &balancetest.Simulation{Nodes: set, Callers: test.callers, Seed: 2,
				Latency: func(int, time.Duration) time.Duration { return 2 * time.Millisecond }}
			counts := sim.Run(test.balancer.Build(set), 0, 20*time.Second)
			share := float64(counts[1]) / float64(counts[0]+counts[1])
			if share < 0.005 || share > 0.025 {
				t.Errorf("the canary of weight 1 in 100 gets %.4f of the calls", share)
			}
		})
	}
}

// TestFastestGoesToTheFastest, and sees when another one becomes it.
func TestFastestGoesToTheFastest(t *testing.T) {
	set := balancetest.Nodes(10)
	sim := &balancetest.Simulation{Nodes: set, Callers: 1, Seed: 3,
		Latency: func(node int, now time.Duration) time.Duration {
			if node == 7 && now < 10*time.Second || node == 2 && now >= 10*time.Second {
				return time.Millisecond
			}
			return 5 * time.Millisecond
		}}
	p := balance.Fastest().Build(set)
	first := sim.Run(p, 0, 10*time.Second)
	sim.Run(p, 10*time.Second, 15*time.Second)
	second := sim.Run(p, 15*time.Second, 25*time.Second)
	for _, test := range []struct {
		name   string
		counts []int
		best   int
	}{{"at first", first, 7}, {"later", second, 2}} {
		total := 0
		for _, n := range test.counts {
			total += n
		}
		if share := float64(test.counts[test.best]) / float64(total); share < 0.9 {
			t.Errorf("%s the fastest server, %d, gets %.2f of the calls, want 0.9: %v", test.name, test.best, share, test.counts)
		}
	}
}

// TestManyServers: the promises about a slow server hold in a large list too.
func TestManyServers(t *testing.T) {
	for _, test := range []struct {
		name     string
		balancer balance.Balancer
	}{{"P2C", balance.P2C()}, {"LeastInFlight", balance.LeastInFlight()}} {
		t.Run(test.name, func(t *testing.T) {
			set := balancetest.Nodes(100)
			sim := &balancetest.Simulation{Nodes: set, Callers: 300, Seed: 4,
				Latency: func(node int, _ time.Duration) time.Duration {
					if node == 42 {
						return 20 * time.Millisecond
					}
					return 2 * time.Millisecond
				}}
			counts := sim.Run(test.balancer.Build(set), 0, time.Second)
			total := 0
			for _, n := range counts {
				total += n
			}
			if share := float64(counts[42]) / float64(total); share > 0.01/5 {
				t.Errorf("a server ten times slower gets %.4f of the calls, want a fifth of its hundredth at most", share)
			}
		})
	}
}
