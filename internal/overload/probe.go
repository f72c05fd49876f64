package overload

const (
	epoch       = 30_000_000_000 // ns, for two of which the least time of a method is remembered
	firstQuiet  = 5_000_000_000  // after a probe that found no queue
	longestRest = 60_000_000_000
	asMany      = 0.92 // the share of completions that counts as no fewer
	enoughDone  = 200  // completions that are counted in a probe
)

// Mode is what a probe does.
type Mode uint8

// The modes.
const (
	Open     Mode = iota // there is no limit
	Settling             // fewer calls are let in, and those before are waited for
	Counting             // completions are counted
	Limited              // there was a queue: the limit stays
)

// String is the name of the mode.
func (m Mode) String() string { return [...]string{"open", "settling", "counting", "limited"}[m&3] }

// probe finds out whether the calls of a method wait in a queue behind the server.
type probe struct {
	mode  Mode
	limit int64
	base  float64 // completions in a second before fewer calls were let in
	baseR int64   // the mean time then
	wait  int64   // how long the phase lasts at least
	high  int     // windows in a row that took long
	found bool    // there was a queue, and the limit is there since
	fast  [2]int64
	ever  [2]int64 // as fast, but not forgotten when the method is found to be slower
	epoch int64    // when the epoch began
	quiet int64    // until when no probe begins
	rest  int64    // how long that was
}

// reading is what a window has shown.
type reading struct {
	now, passed, done int64
	r                 int64   // mean time in the handler
	rate              float64 // completions in a second
	inflight          int64
	busy              bool // more than few were in flight throughout
	refused           uint64
	target            int64 // a queue in which calls wait less than that may be
}

// needs is how long the window lasts at least, and how many completions it needs.
func (p *probe) needs() (least, done int64) {
	switch p.mode {
	case Settling:
		return p.wait, 0
	case Counting:
		return p.wait, enoughDone
	}
	return window, sample
}

// least is the least time that the method has taken since it was found to be slower.
func (p *probe) least() int64 { return leastOf(p.fast) }

// leastOf is the least time of two epochs; 0: none is known.
func leastOf(epochs [2]int64) int64 {
	if epochs[0] == 0 || epochs[1] != 0 && epochs[1] < epochs[0] {
		return epochs[1]
	}
	return epochs[0]
}

// learn notes the time of a window.
func (p *probe) learn(v reading) {
	if v.done == 0 || v.r == 0 {
		return
	}
	if p.epoch == 0 {
		p.epoch = v.now
	}
	// What was fast before a queue began must not be forgotten while there is one.
	if v.now-p.epoch >= epoch && p.mode == Open {
		p.fast[1], p.fast[0] = p.fast[0], 0
		p.ever[1], p.ever[0] = p.ever[0], 0
		p.epoch = v.now
	}
	if p.fast[0] == 0 || v.r < p.fast[0] {
		p.fast[0] = v.r
	}
	if p.ever[0] == 0 || v.r < p.ever[0] {
		p.ever[0] = v.r
	}
}

// step takes a window and returns the limit, 0 for none.
func (p *probe) step(v reading, tell func(Decision)) int64 {
	p.learn(v)
	f := p.least()
	slow := v.done > 0 && v.r > max(2*f, f+v.target)
	switch p.mode {
	case Open:
		if !slow || !v.busy || p.quiet != 0 && v.now < p.quiet {
			p.high = 0
			break
		}
		if p.high++; p.high >= 2 {
			p.base, p.baseR = v.rate, v.r
			p.narrow(v, tell)
		}
	case Settling:
		p.mode, p.wait = Counting, max(window, v.r)
	case Counting:
		p.count(v, slow, f, tell)
	case Limited:
		p.hold(v, slow, tell)
	}
	return p.limit
}

// narrow lets fewer calls in.
func (p *probe) narrow(v reading, tell func(Decision)) {
	from := v.inflight
	if p.limit > 0 {
		from = min(from, p.limit)
	}
	to := from * 3 / 4
	if p.found {
		// What was seen before says how many calls are needed for the rate.
		to = max(from/2, min(to, int64(2*p.base*float64(p.least())/1e9)))
	}
	p.limit = max(to, floor)
	p.baseR = v.r
	p.mode, p.wait, p.high = Settling, max(window, v.r*3/2), 0
	tell(Decision{What: ProbeBegan, From: from, To: p.limit, Ratio: float64(v.r) / float64(max(p.least(), 1))})
}

// count judges what was counted.
func (p *probe) count(v reading, slow bool, f int64, tell func(Decision)) {
	// In a queue calls take less time when fewer are let in, which shows also where the rate
	// changes for other reasons.
	if v.rate >= asMany*p.base || v.done >= sample && v.r*100 <= p.baseR*85 && v.rate*2 >= p.base {
		p.found = true
		if slow && p.limit > floor {
			p.narrow(v, tell)
			return
		}
		p.mode, p.rest = Limited, 0
		tell(Decision{What: QueueFound, To: p.limit, Ratio: v.rate})
		return
	}
	if p.rest = min(2*p.rest, longestRest); p.rest == 0 {
		p.rest = firstQuiet
	}
	p.quiet = v.now + p.rest
	p.fast = [2]int64{v.r, 0}
	p.epoch = v.now
	p.open()
	tell(Decision{What: MethodSlower, Ratio: float64(v.r) / float64(max(f, 1))})
}

// hold moves the limit of a method behind which there was a queue.
func (p *probe) hold(v reading, slow bool, tell func(Decision)) {
	switch {
	case slow && v.busy:
		if p.high++; p.high >= 2 {
			p.base, p.baseR = v.rate, v.r
			p.narrow(v, tell)
		}
		return
	case v.refused > 0 && v.inflight == 0:
		p.limit += p.limit/5 + 1 // they came in a burst, and there was time for them
	case v.refused > 0 || v.inflight*10 >= p.limit*9:
		p.limit += max(p.limit/50, 1)
	case v.inflight*2 < p.limit:
		p.open()
		tell(Decision{What: LimitLifted})
	}
	p.high = 0
}

func (p *probe) open() { p.mode, p.limit, p.high, p.found = Open, 0, 0, false }
