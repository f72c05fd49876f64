package overload

// Class says how much a call matters.
type Class uint8

// The classes.
const (
	Default   Class = iota
	Critical        // refused last
	Sheddable       // refused first
)

const (
	// spare is the least number of places above a limit that critical calls have.
	spare = 8
	// mostSpared is the longest time of a call, ns, that gives it such places: the caller names it.
	mostSpared = 1_000_000_000
)

// share is how much of a limit calls of the class may use that have budget ns, where rate calls end in
// 1000 s. Critical calls get as many places more as are free again in the time for which they may
// wait longer than others, with at most a second to go: a fixed number is too few for those that are read together after a pause.
func (c Class) share(limit, rate, budget int64) int64 {
	switch c {
	case Critical:
		budget = min(budget, mostSpared)
		longer := Critical.patience(budget) - Default.patience(budget)
		return limit + max(limit/3, spare, within(rate, longer))
	case Sheddable:
		return limit - limit/3
	}
	return limit
}

// within is how many calls end in a time, ns, of which rate end in 1000 s.
func within(rate, time int64) int64 { return rate * (time / 1_000_000) / 1_000_000 }

// patience is how much of the time that a call has may pass before its answer.
func (c Class) patience(budget int64) int64 {
	switch c {
	case Critical:
		return budget * 2 / 3
	case Sheddable:
		return budget / 3
	}
	return budget / 2
}

// Verdict is what becomes of a call.
type Verdict uint8

// The verdicts.
const (
	Admitted  Verdict = iota
	Waits             // calls wait too long for a processor
	TooLate           // the call would not be answered in time
	Full              // as many calls of the method are in flight as it can use
	FullFixed         // as many calls of the method are in flight as its fixed limit allows
	Most              // as many calls are in flight as there may be at most
)

// Verdicts is how many there are.
const Verdicts = 6
