package cluster

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
)

// limits holds a method's calls to the numbers of its policy. It takes no lock.
type limits struct {
	inFlight atomic.Int64
	rate     atomic.Uint64 // that next is of: bits of a float64
	next     atomic.Int64  // when the next call has its turn, in nanoseconds of the client's clock
}

// burst is how much of a second a rate may be ahead of itself.
const burst = time.Second / 10

// enter lets a call in, or says why not. leave must be called for one that was let
// in.
func (l *limits) enter(p *policy, method string, now time.Duration) error {
	if p.inFlight > 0 {
		if n := l.inFlight.Add(1); n > p.inFlight {
			l.inFlight.Add(-1)
			return refused(method, fmt.Sprintf("as many calls as are allowed are in flight: %d", p.inFlight))
		}
	}
	if p.rate > 0 && !l.turn(p.rate, now) {
		l.leave(p)
		return refused(method, fmt.Sprintf("more calls than are allowed: %g a second", p.rate))
	}
	return nil
}

func (l *limits) leave(p *policy) {
	if p.inFlight > 0 {
		l.inFlight.Add(-1)
	}
}

// turn takes one call out of a rate: the generic cell rate algorithm of ATM (ITU-T
// I.371), which needs one word.
func (l *limits) turn(rate float64, now time.Duration) bool {
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
