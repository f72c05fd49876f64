package yield

import (
	"slices"
	"sync"
	"time"
)

// Line holds pieces of work back while the processors have other work. The next piece starts when every goroutine that was ready has run
// and the network was asked for more. So what comes while a piece computes is read before the next one starts, and not after all of
// those that are ready: Go's scheduler looks at the network when no goroutine is ready, or every 10 ms, and then runs the goroutines for
// which something came behind all others.
//
// A piece that waits leaves the processors free, so that any number of those may run at once. Pieces that are short go together, for about
// a millisecond of work; so do long ones, which the scheduler interrupts.
type Line[W any] struct {
	start func(W)
	pipe  pipe

	mu      sync.Mutex
	waiting []W
	size    int  // how many go together
	moving  bool // a goroutine lets them go
}

const (
	// leastRound and mostRound bound how long the pieces take that go together.
	leastRound, mostRound = 500 * time.Microsecond, 2 * time.Millisecond
	// hopeless is how long a round takes, for each piece in it, when other goroutines keep the processors, or pieces are so long that they
	// are interrupted. To hold others back for them would only add to their wait.
	hopeless = 4 * time.Millisecond
	// mostTogether is how many go together at most.
	mostTogether = 64
)

// Init makes the line ready. start starts a piece of work, and does not wait for it.
func (l *Line[W]) Init(start func(W)) { l.start, l.size = start, 1 }

// Put puts work into the line, and does not wait for it.
func (l *Line[W]) Put(work W) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.putLocked(work)
}

// looked is how many pieces Replace looks at, at most.
const looked = 256

// Replace puts work into the line, and takes the last piece out of it that gives way, if one of the last 256 does: fewer others are before the
// new one then.
func (l *Line[W]) Replace(work W, givesWay func(W) bool) (out W, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.waiting) - 1; i >= max(len(l.waiting)-looked, 0) && !ok; i-- {
		if ok = givesWay(l.waiting[i]); ok {
			out = l.waiting[i]
			l.waiting = slices.Delete(l.waiting, i, i+1)
		}
	}
	l.putLocked(work)
	return out, ok
}

func (l *Line[W]) putLocked(work W) {
	l.waiting = append(l.waiting, work)
	if !l.moving {
		l.moving = true
		// It ends when no work waits.
		go l.move()
	}
}

// Close has the pieces that wait start without regard for others, and those that are put into the line later.
func (l *Line[W]) Close() { l.pipe.close() }

// move starts what waits.
func (l *Line[W]) move() {
	// It ends with the write.
	start := func(poke func()) { go poke() }
	for from := (time.Time{}); ; {
		l.pipe.pause(start)
		now := time.Now()
		if !from.IsZero() { // otherwise no piece has gone yet
			l.took(now.Sub(from))
		}
		next := l.next()
		if next == nil {
			return
		}
		from = now
		for i, work := range next {
			var none W
			next[i] = none // the array stays while the line is not empty
			l.start(work)
		}
	}
}

// took notes how long the pieces took that went together.
func (l *Line[W]) took(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.size = resize(l.size, d)
}

// next takes the pieces that go now. It returns nil when none waits.
func (l *Line[W]) next() []W {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(l.size, len(l.waiting))
	if n == 0 {
		l.waiting, l.moving = nil, false
		return nil
	}
	l.size = n
	next := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	return next
}

// resize returns how many pieces go together when the last n have taken so long.
func resize(n int, took time.Duration) int {
	switch {
	case took < leastRound || took > time.Duration(n)*hopeless:
		return min(2*n, mostTogether)
	case took > mostRound:
		return max(n/2, 1)
	}
	return n
}
