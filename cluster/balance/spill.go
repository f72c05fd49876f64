package balance

import (
	"math"
	"sync/atomic"
	"time"
)

const (
	// spillRenewed is how often zones are compared.
	spillRenewed = 10 * time.Millisecond
	// zoneForgotten is after how long without a call to a zone one call in zoneProbe goes
	// there.
	zoneForgotten = 10 * time.Second
	zoneProbe     = 1.0 / 64
)

// spill decides which calls leave the local zone because others answer sooner.
type spill struct {
	limit   float64 // how many times longer calls may take at home
	servers [][]zoneServer
	keep    []uint64 // of the zones but the local one, by weight
	alias   []int32
	chance  []atomic.Uint64 // bits of a float64: the part of the calls that go to each of these
	renewed atomic.Int64    // when
}

type zoneServer struct {
	stats  *Stats
	weight float64
}

// newSpill takes the zones as lists of places in the set, the local one first.
func newSpill(set []Node, zones [][]int, weights []float64, limit float64) *spill {
	s := &spill{limit: limit, servers: make([][]zoneServer, len(zones)), chance: make([]atomic.Uint64, len(zones)-1)}
	s.renewed.Store(math.MinInt64)
	total := 0.0
	for k, zone := range zones {
		for _, i := range zone {
			s.servers[k] = append(s.servers[k], zoneServer{set[i].Stats, float64(set[i].Weight)})
		}
		if k > 0 {
			total += weights[k]
		}
	}
	share := make([]float64, len(zones)-1)
	for k := range share {
		share[k] = weights[k+1] / total * float64(len(share))
	}
	s.keep, s.alias = aliasTable(share)
	return s
}

// zone returns where a call goes: 0, the local zone, or another.
func (s *spill) zone(now time.Duration, random uint64) int {
	s.renew(now)
	k, rest := below(random, len(s.chance))
	if rest >= s.keep[k] {
		k = int(s.alias[k])
	}
	if chance := math.Float64frombits(s.chance[k].Load()); chance > 0 && unit(next(random)) < chance {
		return k + 1
	}
	return 0
}

// renew compares the zones, unless that was done just before.
func (s *spill) renew(now time.Duration) {
	last := s.renewed.Load()
	if last != math.MinInt64 && now < time.Duration(last)+spillRenewed || !s.renewed.CompareAndSwap(last, int64(now)) {
		return
	}
	home, known, _ := latencyOf(s.servers[0], now)
	for k := range s.chance {
		chance := 0.0
		away, visited, seen := latencyOf(s.servers[k+1], now)
		switch {
		case !known: // nothing to compare with
		case !visited:
			chance = zoneProbe
		case home > s.limit*away:
			chance = 1 - square(s.limit*away/home)
		case now-seen > zoneForgotten:
			chance = zoneProbe
		}
		s.chance[k].Store(math.Float64bits(chance))
	}
}

// latencyOf is how long a call takes in a zone whose servers get calls in the measure in
// which they are fast, whether that is known, and when the last call ended.
func latencyOf(zone []zoneServer, now time.Duration) (latency float64, known bool, seen time.Duration) {
	speed, weight := 0.0, 0.0
	for _, server := range zone {
		seen = max(seen, time.Duration(server.stats.seen.Load()))
		if latency, sure := server.stats.lasting(now); sure {
			speed += server.weight / latency
			weight += server.weight
		}
	}
	return weight / speed, weight > 0, seen
}

func square(x float64) float64 { return x * x }
