package overload

import "sync/atomic"

// use is what is known of how much the processors have to do.
type use struct {
	processors atomic.Int64 // of the process
	drained    atomic.Bool  // hardly any call was in flight at some moment of the window
	empty      atomic.Int64 // since when no call was in flight, if none is
	idle       idle         // while there is a limit
	pressed    atomic.Bool  // calls were refused for want of places in the last window
	need       need         // the lock of the Controller guards it
}

// idle is for how long fewer calls were in flight than there are processors: these had nothing to do then, unless it was something else.
type idle struct {
	from atomic.Int64 // when that began; 0: it is not so, or it is not known since when
	sum  atomic.Int64 // of the window, ns
}

// begin notes that from now on fewer calls are in flight.
func (i *idle) begin(now int64) { i.from.Store(now) }

// end notes that now as many calls are in flight.
func (i *idle) end(now int64) {
	if from := i.from.Swap(0); from != 0 {
		i.sum.Add(max(now-from, 0))
	}
}

// take returns the time since the window began, and begins a new one. still: fewer calls are in flight now.
func (i *idle) take(began, now int64, still bool) int64 {
	sum := i.sum.Swap(0)
	if from := i.from.Load(); still && from != 0 {
		sum += max(now-max(from, began), 0)
		i.from.Store(now)
	}
	return min(sum, now-began)
}

// reset forgets the time, while there is no limit.
func (i *idle) reset() {
	i.from.Store(0)
	i.sum.Store(0)
}

// need is a limit with which processors had nothing to do, and when that was. Limits that are lowered again and again below what is needed
// cost a part of the time each time.
type need struct {
	limit, at int64
}

// least is what no limit goes below for a while.
func (n need) least(now int64) int64 {
	if n.at != 0 && now-n.at < remembered {
		return n.limit + 1
	}
	return 0
}
