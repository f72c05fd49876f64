package logger

import (
	"sync"
	"time"
)

// Interval is the time in which a Sparse lets an event be logged in full.
const Interval = time.Second

// Sparse limits how often an event that a peer can cause is logged. The zero value is ready;
// all methods may be called concurrently.
type Sparse struct {
	Most int // events that are logged in full in an Interval; 0: one. It is set before any call.

	mu      sync.Mutex
	next    time.Time // when the interval ends
	given   int       // events of it that were logged in full
	left    int       // events left out
	waiting bool      // more is going to be called
}

// Allow reports whether an event may be logged now, which is so for the first ones in an Interval. Otherwise
// it is counted, and more is called at the end of the interval with the number of events that
// were left out in it.
func (s *Sparse) Allow(more func(left int)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !s.waiting && !now.Before(s.next) {
		s.next, s.given = now.Add(Interval), 0
	}
	if !s.waiting && s.given < max(s.Most, 1) {
		s.given++
		return true
	}
	s.left++
	if !s.waiting {
		s.waiting = true
		time.AfterFunc(s.next.Sub(now), func() { s.tell(more) })
	}
	return false
}

// tell reports the events that were left out.
func (s *Sparse) tell(more func(left int)) {
	s.mu.Lock()
	left := s.left
	s.left, s.waiting = 0, false
	s.mu.Unlock()
	more(left)
}
