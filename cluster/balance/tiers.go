package balance

// tier is a part of a list with its own picker.
type tier struct {
	picker Picker
	index  []int // of each of its servers in the whole list
}

// tiers picks from the first part of the list, and from the next when every server
// of the one before was tried.
type tiers []tier

func (t tiers) Pick(c Call) int {
	for i := range t {
		if k := t[i].picker.Pick(c); k >= 0 {
			return t[i].index[k]
		}
	}
	return -1
}

// inTiers builds pickers for the servers to use, for those of weight 0, and for
// those to avoid, in this order. Where there is no weight, all have the same.
// build never sees an empty list, a weight below 1 or a nil Stats.
func inTiers(set []Node, build func(set []Node) Picker) Picker {
	parts := make([][]int, 3)
	for i, n := range set {
		parts[rank(n)] = append(parts[rank(n)], i)
	}
	if len(set) > 0 && len(parts[0]) == len(set) {
		return build(partOf(set, parts[0])) // the usual case
	}
	return inParts(set, parts, build)
}

func rank(n Node) int {
	switch {
	case n.Avoid:
		return 2
	case n.Weight <= 0:
		return 1
	}
	return 0
}

// inParts builds a picker for each part, given by indices into set.
func inParts(set []Node, parts [][]int, build func(set []Node) Picker) Picker {
	var all tiers
	for _, index := range parts {
		if len(index) > 0 {
			all = append(all, tier{build(partOf(set, index)), index})
		}
	}
	return all
}

func partOf(set []Node, index []int) []Node {
	part := make([]Node, len(index))
	for k, i := range index {
		part[k] = set[i]
		part[k].Weight = max(set[i].Weight, 1)
		part[k].Avoid = false
		if part[k].Stats == nil {
			part[k].Stats = new(Stats)
		}
	}
	return part
}
