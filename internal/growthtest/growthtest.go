// Package growthtest finds work whose time grows faster than its input: with that a peer keeps a server busy with little.
package growthtest

import (
	"runtime"
	"testing"
	"time"
)

const (
	// Times is how many times longer the long input of Check is.
	Times = 8
	// most is how many times longer it may take: in proportion to the length it takes eight times as long, to its square sixty-four.
	most = 24
	// free is a time that is always allowed.
	free = 100 * time.Millisecond
	// tries is how often the two are compared before t fails.
	tries = 5
	// repeats is how much time the short work gets, done again and again, and tick how exactly that is known: systems count the
	// processor time of a thread at each tick of theirs. By the clock a busy machine may leave time for one run, of which a tick is much.
	repeats = 200 * time.Millisecond
	tick    = 10 * time.Millisecond
)

// Check fails t when the time that work takes grows much faster than the length of its input. input returns one of about n bytes.
// what names the work in the message. The bound is generous, and one good result of several is enough: work that takes time in
// proportion passes on any machine, however busy it is, as long as 8 n bytes take less than a tenth of a second or the ratio is right
// once. On Linux the time is the processor time of the calling thread: by the clock a busy machine stretches the long work, which loses the
// processor meanwhile, and not the short one, which does not. Elsewhere it is the time of the clock: a machine that stretches the long work
// threefold in every comparison can fail t.
func Check(t testing.TB, what string, n int, input func(n int) []byte, work func(input []byte)) {
	t.Helper()
	short, long := input(n), input(Times*n)
	var before, after time.Duration
	for range tries {
		if after = timed(func() { work(long) }, 0); after <= free {
			return
		}
		before = timed(func() { work(short) }, repeats)
		if after <= most*before {
			return
		}
	}
	t.Errorf("%s takes %v for %d bytes and %v for %d, which begin with %.32x", what, before, len(short), after, len(long), long)
}

// timed returns the time that f takes, which is called until all its calls have taken least. Where that is more than nothing, the time is the
// longest that the ticks of the system allow.
func timed(f func(), least time.Duration) time.Duration {
	runtime.LockOSThread() // of whose time now may be
	defer runtime.UnlockOSThread()
	runs, all := time.Duration(0), time.Duration(0)
	for began := now(); runs == 0 || all < least; runs++ {
		f()
		all = now() - began
	}
	if least > 0 {
		all += tick
	}
	return all / runs
}

// Repeat returns a function for Check: what is before, a piece as often as n bytes have room for it, and what is after.
func Repeat(before, piece, after []byte) func(n int) []byte {
	return func(n int) []byte {
		b := append(make([]byte, 0, n+len(before)+len(piece)+len(after)), before...)
		for len(piece) > 0 && len(b) < n {
			b = append(b, piece...)
		}
		return append(b, after...)
	}
}
