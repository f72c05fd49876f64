package turns

import (
	"container/list"
	"context"
	"runtime"
	"sync"
)

// Shared are turns for what computes for long, on behalf of several connections. While all processors compute for long, the runtime
// looks at the network only every 10 ms, and each goroutine that is ready waits for 10 ms of all that compute before it. So all
// connections together leave one processor free, if there is a second one, and one connection has half of the processors at most.
//
// A turn is for computing alone: while its holder waits for something else, the turn helps no other connection.
// A connection that waits costs the others one turn before each of theirs, whatever it has waiting. An attacker with many connections
// delays the large requests of others so, in proportion, as without turns. Small requests, which take none, go on.
//
// The zero value is ready.
type Shared struct {
	mu    sync.Mutex
	taken int
	lines list.List // of *Line in which a goroutine waits; the next turn is for the first one that may have it
}

// Line is where the goroutines of one connection wait. The zero value is ready. All fields are guarded by Shared.mu.
type Line struct {
	taken   int
	waiting list.List     // of chan struct{}; each is closed with its turn
	at      *list.Element // in Shared.lines; nil: none waits
}

// Take waits for a turn: first come, first served in a line, and one line after the other. When ctx ends before, Take returns its error
// and has taken none.
func (s *Shared) Take(ctx context.Context, l *Line) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	one, all := bounds()
	if l.at == nil && l.taken < one && s.taken < all {
		s.taken++
		l.taken++
		s.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	at := l.waiting.PushBack(turn)
	if l.at == nil {
		l.at = s.lines.PushBack(l)
	}
	s.mu.Unlock()
	select {
	case <-turn:
	case <-ctx.Done():
	}
	err := ctx.Err()
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-turn:
		s.giveLocked(l)
	default:
		s.removeLocked(l, at)
	}
	return err
}

// Give gives a turn of a line back.
func (s *Shared) Give(l *Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveLocked(l)
}

func (s *Shared) giveLocked(l *Line) {
	s.taken--
	l.taken--
	one, all := bounds()
	for at := s.lines.Front(); at != nil && s.taken < all; {
		next := at.Next()
		if l := at.Value.(*Line); l.taken < one {
			s.taken++
			l.taken++
			s.lines.MoveToBack(at)
			first := l.waiting.Front()
			close(first.Value.(chan struct{}))
			s.removeLocked(l, first)
		}
		at = next
	}
}

// removeLocked takes a goroutine that waits out of its line.
func (s *Shared) removeLocked(l *Line, at *list.Element) {
	l.waiting.Remove(at)
	if l.waiting.Len() == 0 {
		s.lines.Remove(l.at)
		l.at = nil
	}
}

// bounds are how many turns one line, and all together, may have.
func bounds() (one, all int) {
	n := runtime.GOMAXPROCS(0)
	return max(1, n/2), max(1, n-1)
}

// Small is how many bytes a message has at most that takes no turn.
const Small = 64 << 10
