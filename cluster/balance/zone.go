package balance

import (
	"errors"
	"fmt"
	"math"
)

// ZoneConfig sets when calls leave the zone of their client.
type ZoneConfig struct {
	// Local is the zone of the client, as instances name theirs. It must be set.
	Local string

	// Headroom is how many times the even part of all calls the local zone is taken to
	// carry. With servers for a third of the part that its clients need, a zone serves a
	// third times Headroom of their calls, and the rest goes to zones that have more
	// servers than their clients need. 0 means 1.4; 1 spreads the calls evenly over all
	// servers as soon as the local ones are too few; +Inf keeps every call in the zone
	// that SpillOver leaves there.
	Headroom float64

	// SpillOver is how many times longer calls may take in the local zone than
	// elsewhere before they go there, the more the longer. 0 means 2; +Inf: they never do.
	SpillOver float64

	// MinHealthy is the part of all known servers that has to be in use, neither to be
	// avoided nor of weight 0, for zones to count: when more have failed, every one left is
	// needed. 0 means 0.5.
	MinHealthy float64
}

// The defaults of a ZoneConfig. The first and the last are Envoy's: its overprovisioning
// factor and its panic threshold.
const (
	defaultHeadroom   = 1.4
	defaultSpillOver  = 2
	defaultMinHealthy = 0.5
)

// Zone is [ZoneWith] the defaults.
func Zone(local string, inner Balancer) Balancer {
	return ZoneWith(ZoneConfig{Local: local}, inner)
}

// ZoneWith picks a server of the client's own zone, with inner (nil: [P2C]), as long as
// that zone is there, large enough and not overloaded. Two servers in two zones are
// enough.
//
// Large enough: after Envoy's zone-aware routing, the clients are taken to be spread
// evenly over the zones that have servers. A zone whose servers have that share of all
// weight, or 1/Headroom of it, serves its own clients alone. A smaller one serves the part
// it has servers for; the rest is spilled over to zones that have more than their share,
// in proportion to what they have to spare. So a zone that lost servers is not overrun by
// its own clients.
//
// Not overloaded: the latencies that this client has seen in its zone and in the others
// are compared a hundred times a second, the zone's good servers counting most. While it
// takes more than SpillOver times as long at home, calls go where it takes less. To know
// the others, a call in 64 goes there when none has for ten seconds.
//
// Zones do not count in a panic; see MinHealthy. When no local server is left the calls
// go to the other zones. With a consistent hash inside, equal keys get one server for each
// zone.
func ZoneWith(cfg ZoneConfig, inner Balancer) Balancer {
	return zone{cfg, orDefault(inner)}
}

type zone struct {
	cfg   ZoneConfig
	inner Balancer
}

// Check refuses an empty zone and factors that are out of range.
func (z zone) Check() error {
	c := z.cfg
	switch {
	case c.Local == "":
		return errors.New("balance.Zone: the client's zone is empty; name it, or leave Zone out where there are no zones")
	case c.Headroom != 0 && !(c.Headroom >= 1):
		return fmt.Errorf("balance.Zone: Headroom is %v, want 1 or more, or 0 for %v", c.Headroom, defaultHeadroom)
	case c.SpillOver != 0 && !(c.SpillOver >= 1):
		return fmt.Errorf("balance.Zone: SpillOver is %v, want 1 or more, or 0 for %v", c.SpillOver, defaultSpillOver)
	case !(c.MinHealthy >= 0 && c.MinHealthy <= 1):
		return fmt.Errorf("balance.Zone: MinHealthy is %v, want a part of 1, or 0 for %v", c.MinHealthy, defaultMinHealthy)
	}
	return Check(z.inner)
}

// resolve fills in the defaults, also for what Check refuses.
func (c ZoneConfig) resolve() ZoneConfig {
	if !(c.Headroom >= 1) {
		c.Headroom = defaultHeadroom
	}
	if !(c.SpillOver >= 1) {
		c.SpillOver = defaultSpillOver
	}
	if !(c.MinHealthy > 0 && c.MinHealthy <= 1) {
		c.MinHealthy = defaultMinHealthy
	}
	return c
}

func (z zone) Build(set []Node) Picker {
	z.cfg = z.cfg.resolve()
	usable := 0
	for _, n := range set {
		if rank(n) == 0 {
			usable++
		}
	}
	if float64(usable) < z.cfg.MinHealthy*float64(len(set)) {
		return z.inner.Build(set)
	}
	return inTiers(set, z.split)
}

func (z zone) split(set []Node) Picker {
	parts := [][]int{nil} // the first one is the local zone, if empty too
	weights := []float64{0}
	total := 0.0
	byName := map[string]int{z.cfg.Local: 0}
	for i, n := range set {
		k, known := byName[n.Zone]
		if !known {
			k = len(parts)
			byName[n.Zone] = k
			parts, weights = append(parts, nil), append(weights, 0)
		}
		parts[k] = append(parts[k], i)
		weights[k] += float64(n.Weight)
		total += float64(n.Weight)
	}
	if len(parts) == 1 {
		return z.inner.Build(set)
	}
	shares := zoneShares(weights, total, z.cfg.Headroom)
	p := &zonePicker{all: inParts(set, parts, z.inner.Build).(tiers)}
	if len(parts[0]) == 0 {
		shares = shares[1:] // inParts left it out too
	} else if !math.IsInf(z.cfg.SpillOver, 1) {
		p.spill = newSpill(set, parts, weights, z.cfg.SpillOver)
	}
	mean := 1 / float64(len(shares))
	for k := range shares {
		shares[k] /= mean
	}
	p.keep, p.alias = aliasTable(shares)
	return p
}

// zoneShares is the part of the calls for each zone, the local one first.
func zoneShares(weights []float64, total, headroom float64) []float64 {
	populated := 0.0
	for _, w := range weights {
		if w > 0 {
			populated++
		}
	}
	fair := 1 / populated
	shares := make([]float64, len(weights))
	if weights[0] > 0 { // otherwise +Inf times 0
		shares[0] = min(headroom*weights[0]/total/fair, 1)
	}
	spare := 0.0
	for k, w := range weights[1:] {
		shares[k+1] = max(w/total-fair, 0)
		spare += shares[k+1]
	}
	for k, w := range weights[1:] {
		if spare > 0 {
			shares[k+1] *= (1 - shares[0]) / spare
		} else { // no zone has more than its share: all carry alike
			shares[k+1] = (1 - shares[0]) * w / (total - weights[0])
		}
	}
	return shares
}

// zonePicker draws a zone by its share, then a server of it.
type zonePicker struct {
	all   tiers
	keep  []uint64
	alias []int32
	spill *spill // nil: no call leaves a local zone that is overloaded, or there is none
}

func (p *zonePicker) Pick(c Call) int {
	random := aside(c.Random)
	k, rest := below(random, len(p.all))
	if rest >= p.keep[k] {
		k = int(p.alias[k])
	}
	if k == 0 && p.spill != nil {
		k = p.spill.zone(c.Now, next(random))
	}
	if i := p.all[k].picker.Pick(c); i >= 0 {
		return p.all[k].index[i]
	}
	return p.all.Pick(c)
}
