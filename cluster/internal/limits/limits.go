// Package limits holds the calls of a method to the numbers of its policy: how many are in flight, and how many begin
// in a second. It takes no lock.
package limits

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
)

// Policy is what a method is held to.
type Policy struct {
	InFlight int64   // 0: no limit
	Rate     float64 // calls a second; 0: no limit
}

// None reports whether there is no limit.
func (p Policy) None() bool { return p.InFlight <= 0 && p.Rate <= 0 }

// Limits are the calls of one method. The zero value is ready. Its methods may be called from any goroutine.
type Limits struct {
	inFlight atomic.Int64
	rate     atomic.Uint64 // that next is of: bits of a float64
	next     atomic.Int64  // when the next call has its turn, in nanoseconds of the client's clock
}

// burst is how much of a second a rate may be ahead of itself.
const burst = time.Second / 10

// Enter lets a call in, or says why not. Leave must be called for one that was let in.
func (l *Limits) Enter(p Policy, method string, now time.Duration) error {
	if p.InFlight > 0 {
		if n := l.inFlight.Add(1); n > p.InFlight {
			l.inFlight.Add(-1)
			return refused(method, fmt.Sprintf("as many calls as are allowed are in flight: %d", p.InFlight))
		}
	}
	if p.Rate > 0 && !l.turn(p.Rate, now) {
		l.Leave(p)
		return refused(method, fmt.Sprintf("more calls than are allowed: %g a second", p.Rate))
	}
	return nil
}

// Leave ends a call that was let in under a policy.
func (l *Limits) Leave(p Policy) {
	if p.InFlight > 0 {
		l.inFlight.Add(-1)
	}
}

// turn takes one call out of a rate: the generic cell rate algorithm of ATM (ITU-T
// I.371), which needs one word.
func (l *Limits) turn(rate float64, now time.Duration) bool {
	each := int64(float64(time.Second) / rate)
	ahead := max(int64(burst), each)
	if bits := math.Float64bits(rate); l.rate.Swap(bits) != bits {
		l.next.Store(0) // turns of another rate mean nothing
	}
	for {
		at := l.next.Load()
		from := max(at, int64(now))
		if from+each-int64(now) > ahead {
			return false
		}
		if l.next.CompareAndSwap(at, from+each) {
			return true
		}
	}
}

func refused(method, why string) error {
	return &weft.Error{Code: weft.ResourceExhausted, Outcome: weft.NotSent, Method: method, Reason: weft.ReasonClientLimit, Message: why}
}
