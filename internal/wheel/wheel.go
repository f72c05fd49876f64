// Package wheel finds which of many timers are due, at a cost that does not depend on how many
// there are. Setting a timer that is set again and again costs nothing but the first time.
package wheel

// Timer is the timer of one thing, which has a number.
type Timer struct {
	Due  int64 // on any clock in nanoseconds, 0 for not set
	tick uint32
	in   bool // it has an entry, at tick

	// Used and Mark are the owner's. They are here because nothing else could use their bytes, and the owner's values are many.
	Used bool
	Mark uint16
}

// Wheel holds an entry for each timer that was set, in the bucket of a tick that is not later
// than the timer is due. An entry whose time has come and whose timer is due later, because it was
// set anew meanwhile or was far away, moves on. The zero value is ready.
type Wheel struct {
	buckets []bucket // nil: there is at most one entry, which is sole
	sole    entry
	spare   bucket // an empty one
	next    uint32 // no entry has an earlier tick
	count   int    // entries
}

type bucket []entry

type entry struct{ number, tick uint32 }

const (
	// tickBits is how many nanoseconds a tick has, as a power of two: 8 ms.
	tickBits = 23
	// ticks is how many buckets there are: half a second.
	ticks = 64
	// Spacing is the least time between two looks for timers that are due, ns: one that is
	// due soon after another may be late by so much.
	Spacing = 500_000
)

func tickOf(at int64) uint32 { return uint32(at >> tickBits) }

// before compares ticks, which may wrap around.
func before(a, b uint32) bool { return int32(a-b) < 0 }

// Add makes sure that a timer whose Due was set will be found.
func (w *Wheel) Add(number uint32, t *Timer, now int64) {
	at := tickOf(now)
	tick := at + ticks - 1 // from there it moves on
	if ahead := t.Due>>tickBits - now>>tickBits; ahead < ticks {
		tick = at + uint32(max(ahead, 0))
	}
	if !t.in || before(tick, t.tick) {
		w.put(number, t, tick)
	}
}

func (w *Wheel) put(number uint32, t *Timer, tick uint32) {
	if w.count == 0 || before(tick, w.next) {
		w.next = tick
	}
	t.tick, t.in = tick, true
	w.keep(entry{number, tick})
}

func (w *Wheel) keep(e entry) {
	if w.buckets == nil && w.count == 0 {
		w.sole, w.count = e, 1
		return
	}
	w.spread()
	w.count++
	b := &w.buckets[e.tick%ticks]
	*b = append(*b, e)
}

// spread makes the buckets, which a connection with a single call does without.
func (w *Wheel) spread() {
	if w.buckets != nil {
		return
	}
	w.buckets = make([]bucket, ticks)
	if w.count > 0 {
		b := &w.buckets[w.sole.tick%ticks]
		*b = append(*b, w.sole)
	}
}

// Expire calls late with the number of every timer that is due, and sets its Due to zero. timer
// returns the timer with a number. It returns when to call Expire again, 0 for not.
func (w *Wheel) Expire(now int64, timer func(number uint32) *Timer, late func(number uint32)) (next int64) {
	at := tickOf(now)
	if w.count > 0 {
		w.spread()
		first := w.next
		if before(first, at-ticks+1) {
			first = at - ticks + 1 // a look at each bucket finds all
		}
		for tick := first; !before(at, tick); tick++ {
			w.visit(tick, now, timer, late)
		}
	}
	return w.upcoming(now, timer)
}

// visit handles the entries of one bucket.
func (w *Wheel) visit(tick uint32, now int64, timer func(uint32) *Timer, late func(uint32)) {
	at := tickOf(now)
	list := w.buckets[tick%ticks]
	w.buckets[tick%ticks], w.spare = w.spare, nil
	w.count -= len(list)
	for _, e := range list {
		switch t := timer(e.number); {
		case before(at, e.tick):
			w.keep(e)
		case !t.in || t.tick != e.tick:
			// The timer has another entry.
		case t.Due == 0:
			t.in = false
		case t.Due <= now:
			t.Due, t.in = 0, false
			late(e.number)
		default:
			t.in = false
			w.Add(e.number, t, now)
		}
	}
	w.spare = list[:0]
}

// upcoming is when the next timer is due or the next entry moves on. All entries are in the ticks
// from now on.
func (w *Wheel) upcoming(now int64, timer func(uint32) *Timer) int64 {
	if w.count == 0 {
		return 0
	}
	w.next = tickOf(now)
	ahead := int64(0)
	for len(w.buckets[w.next%ticks]) == 0 {
		w.next++
		ahead++
	}
	begin := (now>>tickBits + ahead) << tickBits
	due := begin + 1<<tickBits
	for _, e := range w.buckets[w.next%ticks] {
		if t := timer(e.number); t.in && t.tick == e.tick && t.Due != 0 {
			if t.Due>>tickBits != begin>>tickBits {
				due = min(due, begin)
			}
			due = min(due, t.Due)
		}
	}
	return max(due, now+Spacing)
}

// Forget drops all entries. No timer may be used any more.
func (w *Wheel) Forget() { *w = Wheel{} }
