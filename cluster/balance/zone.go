package balance

import "errors"

// fewestZoned is below how many servers zones do not count: the shares of so few
// are too coarse to keep to.
const fewestZoned = 6

// Zone picks a server of the client's own zone, with inner (nil: [P2C]), as long
// as the zone is large enough for its clients.
//
// After Envoy's zone-aware routing, it takes the clients to be spread evenly
// over the zones that have servers. A zone whose servers have that share of all
// weight serves its own clients alone. A smaller one serves the part it has
// servers for; the rest is spilled over to zones that have more than their share,
// in proportion to what they have to spare. So a zone that lost servers is not
// overrun by its own clients.
//
// Zones do not count with fewer than 6 servers, and in a panic: when more than
// half of the list is to be avoided or has weight 0, every one left is needed.
// With a consistent hash inside, equal keys get one server for each zone.
func Zone(local string, inner Balancer) Balancer {
	return zone{local, orDefault(inner)}
}

type zone struct {
	local string
	inner Balancer
}

// Check refuses an empty zone.
func (z zone) Check() error {
	if z.local == "" {
		return errors.New("balance.Zone: the client's zone is empty; name it, or leave Zone out where there are no zones")
	}
	return Check(z.inner)
}

func (z zone) Build(set []Node) Picker {
	usable := 0
	for _, n := range set {
		if rank(n) == 0 {
			usable++
		}
	}
	if 2*usable < len(set) {
		return z.inner.Build(set)
	}
	return inTiers(set, z.split)
}

func (z zone) split(set []Node) Picker {
	names := []string{z.local} // the first part is the local one, if empty too
	parts := [][]int{nil}
	weights := []float64{0}
	total := 0.0
	byName := map[string]int{z.local: 0}
	for i, n := range set {
		k, known := byName[n.Zone]
		if !known {
			k = len(names)
			byName[n.Zone] = k
			names, parts, weights = append(names, n.Zone), append(parts, nil), append(weights, 0)
		}
		parts[k] = append(parts[k], i)
		weights[k] += float64(n.Weight)
		total += float64(n.Weight)
	}
	if len(set) < fewestZoned || len(names) == 1 {
		return z.inner.Build(set)
	}
	shares := zoneShares(weights, total)
	p := &zonePicker{all: inParts(set, parts, z.inner.Build).(tiers)}
	if len(parts[0]) == 0 {
		shares = shares[1:] // inParts left it out too
	}
	mean := 1 / float64(len(shares))
	for k := range shares {
		shares[k] /= mean
	}
	p.keep, p.alias = aliasTable(shares)
	return p
}

// zoneShares is the part of the calls for each zone, the local one first.
func zoneShares(weights []float64, total float64) []float64 {
	populated := 0.0
	for _, w := range weights {
		if w > 0 {
			populated++
		}
	}
	fair := 1 / populated
	shares := make([]float64, len(weights))
	shares[0] = min(weights[0]/total/fair, 1)
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
}

func (p *zonePicker) Pick(c Call) int {
	k, rest := below(next(c.Random), len(p.all))
	if rest >= p.keep[k] {
		k = int(p.alias[k])
	}
	if i := p.all[k].picker.Pick(c); i >= 0 {
		return p.all[k].index[i]
	}
	return p.all.Pick(c)
}
