package balance

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// Bounded keeps inner (nil: [P2C]) from giving a server more than factor times
// the average number of calls in flight, in proportion to its weight: such a
// call goes where inner sends it when that server was tried. It is for the
// hashes, where one popular key would fill one server (Mirrokni, Thorup,
// Zadimoghaddam: Consistent Hashing with Bounded Loads, SODA 2018). The factor has to
// be above 1: a small one spreads better and moves more keys. 0 means 1.25.
//
// A call looks at no more than 8 servers; then it takes the least loaded of them. The
// average is computed anew after as many microseconds as there are servers. Calls in
// flight move calls away from where weights would send them.
func Bounded(factor float64, inner Balancer) Balancer {
	return bounded{factor, orDefault(inner)}
}

type bounded struct {
	factor float64
	inner  Balancer
}

// defaultFactor is the factor of a Bounded that names none.
const defaultFactor = 1.25

// valid reports whether the factor is one to use. 0 is not: it means the default.
func (b bounded) valid() bool { return b.factor > 1 && !math.IsInf(b.factor, 1) }

// Check refuses a factor of 1 or less, by which no server might have more than the average.
func (b bounded) Check() error {
	if b.factor != 0 && !b.valid() {
		return fmt.Errorf("balance.Bounded: the factor is %v, want a number above 1, or 0 for %v", b.factor, defaultFactor)
	}
	return Check(b.inner)
}

func (b bounded) Build(set []Node) Picker {
	factor := b.factor
	if !b.valid() {
		factor = defaultFactor
	}
	return inTiers(set, func(set []Node) Picker {
		p := &boundedPicker{inner: b.inner.Build(set), factor: factor, pool: newPool(set)}
		p.renewed.Store(math.MinInt64)
		return p
	})
}

type boundedPicker struct {
	inner   Picker
	factor  float64
	pool    pool
	total   atomic.Int64 // calls in flight, of all servers
	renewed atomic.Int64 // when total was computed
}

func (p *boundedPicker) Pick(c Call) int {
	i := p.inner.Pick(c)
	if i < 0 {
		return -1
	}
	n := float64(len(p.pool.stats))
	average := p.factor * (float64(p.inFlight(c.Now)) + 1) / n
	best, least := i, math.Inf(1)
	for {
		s := p.pool.stats[i]
		crowding := p.pool.crowding(i)
		load := float64(s.inFlight.Load())
		if load+1 <= math.Ceil(average/crowding) {
			return i
		}
		if load*crowding < least {
			best, least = i, load*crowding
		}
		if c.Tried.n >= triedLimit {
			return best
		}
		c.Tried.Add(s)
		if i = p.inner.Pick(c); i < 0 {
			return best
		}
	}
}

// inFlight returns the calls in flight of all servers, as last computed.
func (p *boundedPicker) inFlight(now time.Duration) int64 {
	last := p.renewed.Load()
	age := time.Duration(len(p.pool.stats)) * time.Microsecond
	if last != math.MinInt64 && now < time.Duration(last)+age || !p.renewed.CompareAndSwap(last, int64(now)) {
		return p.total.Load()
	}
	total := int64(0)
	for _, s := range p.pool.stats {
		total += s.inFlight.Load()
	}
	p.total.Store(total)
	return total
}
