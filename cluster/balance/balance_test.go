package balance_test

import (
	"testing"
	"time"

	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/balance/balancetest"
	"github.com/weftrpc/weft/instance"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// firstLeft is a user's function: the first server that was not tried.
func firstLeft(set []balance.Node, c balance.Call) int {
	for i, n := range set {
		if !c.Tried.Has(n.Stats) {
			return i
		}
	}
	return -1
}

func TestConformance(t *testing.T) {
	loadAware := balancetest.Config{LoadAware: true}
	keyed := balancetest.Config{Keyed: true}
	for _, test := range []struct {
		name     string
		balancer balance.Balancer
		cfg      balancetest.Config
	}{
		{"P2C", balance.P2C(), loadAware},
		{"P2C with reports", balance.P2CWith(balance.P2CConfig{Reports: true}), balancetest.Config{LoadAware: true, Reports: true}},
		{"LeastReported", balance.LeastReported(), balancetest.Config{LoadAware: true, Reports: true}},
		{"Random", balance.Random(), balancetest.Config{}},
		{"RoundRobin", balance.RoundRobin(), balancetest.Config{Unweighted: true}},
		{"WeightedRoundRobin", balance.WeightedRoundRobin(), balancetest.Config{}},
		{"LeastInFlight", balance.LeastInFlight(), loadAware},
		{"Fastest", balance.Fastest(), balancetest.Config{LoadAware: true, Unweighted: true}},
		{"Ring", balance.Ring(), keyed},
		{"Maglev", balance.Maglev(), keyed},
		{"Jump", balance.Jump(), balancetest.Config{Keyed: true, Numbered: true}},
		{"Func", balance.Func(firstLeft), balancetest.Config{Pinned: true}},
		{"Func nil", balance.Func(nil), balancetest.Config{}},
		{"Func out of range", balance.Func(func([]balance.Node, balance.Call) int { return 99 }), balancetest.Config{}},
		{"Nearest", balance.Nearest(instance.Position{}, nil), loadAware},
		{"Zone", balance.Zone("a", nil), loadAware},
		{"Zone of servers that name none", balance.ZoneWith(balance.ZoneConfig{Local: "a", Headroom: 3, SpillOver: 4, MinHealthy: 0.9}, nil), loadAware},
		{"Sticky", balance.Sticky(nil), balancetest.Config{Pinned: true}},
		{"Bounded ring", balance.Bounded(1.25, balance.Ring()), balancetest.Config{Keyed: true, Bounds: true}},
		{"Bounded random", balance.Bounded(0, balance.Random()), balancetest.Config{Bounds: true}},
		{"SlowStart P2C", balance.SlowStart(time.Minute, nil), balancetest.Config{LoadAware: true, SlowStart: time.Minute}},
		{"SlowStart weighted", balance.SlowStart(0, balance.WeightedRoundRobin()), balancetest.Config{SlowStart: 30 * time.Second}},
		{"Subset", balance.Subset(32, "client-1", nil), loadAware},
		{"nested", balance.Zone("a", balance.Subset(8, "c", balance.SlowStart(time.Second, balance.Bounded(2, nil)))), balancetest.Config{LoadAware: true, Bounds: true}},
	} {
		t.Run(test.name, func(t *testing.T) { balancetest.Run(t, test.balancer, test.cfg) })
	}
}
