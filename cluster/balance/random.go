package balance

import "errors"

// Random picks at random, in proportion to the weights.
func Random() Balancer { return random{} }

type random struct{}

func (random) Build(set []Node) Picker {
	return inTiers(set, func(set []Node) Picker { return &randomPicker{newPool(set)} })
}

type randomPicker struct{ pool pool }

func (p *randomPicker) Pick(c Call) int { return p.pool.untried(&c, c.Random) }

// Func is the user's own balancer: a function of the servers and the call. It
// gets the servers of equal rank (those in use; if none is left those of weight 0; then
// those to avoid), and must not keep or change the list. It may be called by several
// goroutines at the same time. Its result is an index into set. When that is out of range
// or of a server that the call has tried, such as -1, a random server is picked.
//
// A balancer with a state of its own implements [Balancer] instead.
type Func func(set []Node, call Call) int

// Check refuses a nil function.
func (f Func) Check() error {
	if f == nil {
		return errors.New("balance.Func: the function is nil")
	}
	return nil
}

// Build returns a picker that asks the function. A nil function picks at random.
func (f Func) Build(set []Node) Picker {
	if f == nil {
		return Random().Build(set)
	}
	return inTiers(set, func(set []Node) Picker { return &funcPicker{f, set, newPool(set)} })
}

type funcPicker struct {
	choose Func
	set    []Node
	pool   pool
}

func (p *funcPicker) Pick(c Call) int {
	i := p.choose(p.set, c)
	if i < 0 || i >= len(p.set) || c.Tried.Has(p.set[i].Stats) {
		return p.pool.untried(&c, c.Random)
	}
	return i
}
