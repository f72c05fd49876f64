package overload

import "sync/atomic"

// places is a limit of calls in flight, and how fast calls leave their places.
type places struct {
	limit atomic.Int64 // what calls of class Default may use
	rate  atomic.Int64 // calls that end in 1000 s
}

// note takes a window, of at least a millisecond, in which n calls ended. The rate rises at once.
func (p *places) note(n, passed int64) {
	old, now := p.rate.Load(), n*1_000_000/(passed/1_000_000)
	p.rate.Store(max(now, old+int64(smooth*float64(now-old))))
}

// of is how many places calls of the class may use that have budget ns, above a limit that counts
// as least at least.
func (p *places) of(class Class, budget, least int64) int64 {
	return class.share(max(p.limit.Load(), least), p.rate.Load(), budget)
}
