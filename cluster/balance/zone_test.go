package balance_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/balance/balancetest"
)

// TestZoneSpillsOver: a zone that takes too long sends the calls where they take less,
// with two servers in all, and gets them back.
func TestZoneSpillsOver(t *testing.T) {
	const away = 2 * time.Millisecond
	type phase struct {
		name        string
		home        time.Duration // how long a call takes there; below zero: it does not answer
		least, most float64       // the local share in the phase's last second
	}
	phases := []phase{
		{"at first", time.Millisecond, 0.96, 1},
		{"a little slower than elsewhere", 3 * time.Millisecond, 0.9, 1},
		{"overloaded", 40 * time.Millisecond, 0.001, 0.1},
		{"well again", time.Millisecond, 0.96, 1},
		{"frozen", -1, 0, 0.1},
	}
	for _, n := range []int{2, 8} {
		for _, callers := range []int{1, 10} {
			t.Run(fmt.Sprint(n, " servers, ", callers, " callers"), func(t *testing.T) {
				set := balancetest.Nodes(n)
				for i := range set {
					set[i].Zone = string(rune('a' + i%2))
				}
				home := time.Duration(0)
				sim := &balancetest.Simulation{Nodes: set, Callers: callers, Seed: 5, Timeout: 200 * time.Millisecond,
					Latency: func(node int, _ time.Duration) time.Duration {
						if node%2 == 1 {
							return away
						}
						return home
					}}
				p := balance.Zone("a", nil).Build(set)
				now := time.Duration(0)
				for _, phase := range phases {
					home = phase.home
					sim.Run(p, now, now+5*time.Second)
					now += 5 * time.Second
					counts := sim.Run(p, now, now+time.Second)
					now += time.Second
					local, total := 0, 0
					for i, k := range counts {
						total += k
						if i%2 == 0 {
							local += k
						}
					}
					if share := float64(local) / float64(total); share < phase.least || share > phase.most {
						t.Errorf("%s: %.3f of %d calls stay in the zone, want %.2f to %.2f", phase.name, share, total, phase.least, phase.most)
					}
				}
			})
		}
	}
}

// TestZoneStays: without spill-over and with headroom without end no call leaves a zone
// that has a server, however slow it is.
func TestZoneStays(t *testing.T) {
	set := balancetest.Nodes(4)
	set[0].Zone = "a"
	b := balance.ZoneWith(balance.ZoneConfig{Local: "a", Headroom: math.Inf(1), SpillOver: math.Inf(1)}, nil)
	if err := balance.Check(b); err != nil {
		t.Fatal(err)
	}
	sim := &balancetest.Simulation{Nodes: set, Callers: 4, Seed: 6, Latency: func(node int, _ time.Duration) time.Duration {
		return time.Duration(100-30*node) * time.Millisecond
	}}
	if counts := sim.Run(b.Build(set), 0, 10*time.Second); counts[0] == 0 || counts[1]+counts[2]+counts[3] > 0 {
		t.Errorf("the calls are %v, want all in the first zone", counts)
	}
}

// TestZoneKnowsTheOthers: few calls leave a healthy zone to see how the others are, and
// they are as few for a client that makes few calls.
func TestZoneKnowsTheOthers(t *testing.T) {
	for _, every := range []time.Duration{time.Millisecond, 500 * time.Millisecond} {
		set := balancetest.Nodes(2)
		set[0].Zone, set[1].Zone = "a", "b"
		p, calls, away := balance.Zone("a", nil).Build(set), balancetest.NewCalls(7), 0
		const n = 20000
		for k := range n {
			c := calls.Next()
			c.Now = time.Duration(k) * every
			i := p.Pick(c)
			set[i].Stats.Begin(c.Now)
			set[i].Stats.End(c.Now, time.Millisecond, balance.OK)
			away += i
		}
		if away == 0 || away > n/40 {
			t.Errorf("with a call each %v, %d of %d calls leave a healthy zone", every, away, n)
		}
	}
}

// TestZoneMinHealthy: zones count as long as the configured part is in use.
func TestZoneMinHealthy(t *testing.T) {
	for _, test := range []struct {
		least float64
		local bool
	}{{0, true}, {0.5, true}, {0.75, true}, {0.8, false}, {1, false}} {
		set := balancetest.Nodes(4)
		for i := range set {
			set[i].Zone = string(rune('a' + i%2))
		}
		set[3].Avoid = true
		p := balance.ZoneWith(balance.ZoneConfig{Local: "b", MinHealthy: test.least, Headroom: math.Inf(1)}, balance.Random()).Build(set)
		calls, local := balancetest.NewCalls(8), 0
		for range 300 {
			if set[p.Pick(calls.Next())].Zone == "b" {
				local++
			}
		}
		if (local == 300) != test.local {
			t.Errorf("MinHealthy %v, three of four servers in use: %d of 300 calls are local", test.least, local)
		}
	}
}
