package overload

import (
	"fmt"
	"sync"
)

// What is a kind of decision.
type What uint8

// The kinds of decisions.
const (
	LimitLowered What = iota // of the server: calls waited too long
	LimitLifted              // of the server or the method: there is none any more
	CallsTooLate             // calls of the method are refused that would be answered too late
	ProbeBegan               // fewer calls of the method are let in, to see what becomes of its rate
	QueueFound               // as many calls ended: the rest had waited in a queue
	MethodSlower             // fewer calls ended: the method takes longer
)

// Decision is one that the controller has made.
type Decision struct {
	At       int64 // as the clock had it that it was told
	What     What
	Method   string // "" for one over the whole server
	From, To int64  // limits, or calls in flight
	Ratio    float64
}

// String is a sentence that says what was decided, and why.
func (d Decision) String() string {
	switch d.What {
	case LimitLowered:
		return fmt.Sprintf("limit %d, from %d in flight: calls wait %.1f times as long for a processor as they should", d.To, d.From, d.Ratio)
	case LimitLifted:
		return "limit lifted"
	case CallsTooLate:
		return fmt.Sprintf("refusing calls that would be too late: %d in flight, %.0f ended in a second", d.From, d.Ratio)
	case ProbeBegan:
		return fmt.Sprintf("trying limit %d, from %d in flight: calls take %.1f times as long as they did", d.To, d.From, d.Ratio)
	case QueueFound:
		return fmt.Sprintf("keeping limit %d: no fewer calls ended, %.0f in a second", d.To, d.Ratio)
	case MethodSlower:
		return fmt.Sprintf("no limit: the method itself takes %.1f times as long as it did", d.Ratio)
	}
	return "unknown decision"
}

// kept is how many decisions the journal holds.
const kept = 10

// journal holds the last decisions.
type journal struct {
	mu   sync.Mutex
	ring [kept]Decision
	n    int
}

func (j *journal) add(d Decision) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ring[j.n%kept] = d
	j.n++
}

// last returns the decisions, the latest first.
func (j *journal) last() []Decision {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []Decision
	for i := j.n - 1; i >= 0 && i >= j.n-kept; i-- {
		out = append(out, j.ring[i%kept])
	}
	return out
}
