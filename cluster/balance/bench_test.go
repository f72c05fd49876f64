package balance_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/balance/balancetest"
	"github.com/weftrpc/weft/instance"
)

func benchmarked() []struct {
	name     string
	balancer balance.Balancer
} {
	return []struct {
		name     string
		balancer balance.Balancer
	}{
		{"P2C", balance.P2C()},
		{"P2C_reports", balance.P2CWith(balance.P2CConfig{Reports: true})},
		{"LeastReported", balance.LeastReported()},
		{"Random", balance.Random()},
		{"RoundRobin", balance.RoundRobin()},
		{"WeightedRoundRobin", balance.WeightedRoundRobin()},
		{"LeastInFlight", balance.LeastInFlight()},
		{"Fastest", balance.Fastest()},
		{"Ring", balance.Ring()},
		{"Maglev", balance.Maglev()},
		{"Jump", balance.Jump()},
		{"Sticky", balance.Sticky(nil)},
		{"Zone", balance.Zone("z0", nil)},
		{"Nearest", balance.Nearest(instance.Position{}, nil)},
		{"SlowStart", balance.SlowStart(time.Minute, nil)},
		{"Bounded_Ring", balance.Bounded(1.25, balance.Ring())},
		{"Subset", balance.Subset(32, "client", nil)},
	}
}

// servers are of three weights and three zones, have answered a few calls each, and
// report their load.
func servers(n int) []balance.Node {
	set := balancetest.Nodes(n)
	for i := range set {
		set[i].Weight = i%3 + 1
		set[i].Zone = fmt.Sprint("z", i%3)
		for range 5 {
			set[i].Stats.Begin(0)
			set[i].Stats.End(0, time.Millisecond, balance.OK)
		}
		set[i].Load = &instance.Load{InFlight: i % 7}
	}
	return set
}

func someKeys() *[1024]string {
	var keys [1024]string
	for k := range keys {
		keys[k] = fmt.Sprint("user-", k)
	}
	return &keys
}

func BenchmarkPick(b *testing.B) {
	for _, bb := range benchmarked() {
		for _, n := range []int{3, 100, 1000} {
			p := bb.balancer.Build(servers(n))
			b.Run(fmt.Sprintf("%s/%d", bb.name, n), func(b *testing.B) {
				b.ReportAllocs()
				c, keys := balance.Call{}, someKeys()
				for b.Loop() {
					c.Key = keys[c.Random%1024]
					c.Random = rand.Uint64()
					c.Now += time.Microsecond
					p.Pick(c)
				}
			})
		}
	}
}

func BenchmarkPickParallel(b *testing.B) {
	for _, bb := range benchmarked() {
		p := bb.balancer.Build(servers(1000))
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				c, keys := balance.Call{}, someKeys()
				for pb.Next() {
					c.Key = keys[c.Random%1024]
					c.Random = rand.Uint64()
					c.Now += time.Microsecond
					p.Pick(c)
				}
			})
		})
	}
}

// BenchmarkCall is a pick with the statistics of the call around it.
func BenchmarkCall(b *testing.B) {
	set := servers(1000)
	p := balance.P2C().Build(set)
	b.ReportAllocs()
	var c balance.Call
	for b.Loop() {
		c.Random = rand.Uint64()
		c.Now += time.Microsecond
		s := set[p.Pick(c)].Stats
		s.Begin(c.Now)
		s.End(c.Now, time.Millisecond, balance.OK)
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, bb := range benchmarked() {
		for _, n := range []int{1000, 10_000} {
			set := servers(n)
			b.Run(fmt.Sprintf("%s/%d", bb.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					bb.balancer.Build(set)
				}
			})
		}
	}
}
