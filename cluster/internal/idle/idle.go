// Package idle holds the services that a client watches, and says which of them are to be closed: those that are not called. The names of
// services may come from the callers of a program that passes calls on, so those without instances are closed soon, and are bounded.
package idle

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// VacantTimeout is how long a service without instances may go without a call before it is closed.
	VacantTimeout = time.Minute
	// MostVacant is how many services without instances are open. Of more, the one goes first whose last call was longest ago.
	MostVacant = 256

	// grain is how exactly the time of the last call is known: one store in it is enough.
	grain = 10 * time.Millisecond
	// lookEvery is the time between two looks at all services.
	lookEvery = time.Second
	// linger is how long a closed service still counts for what calls use that had begun before.
	linger = 10 * time.Second
)

// Use is when a service was last called, and how many calls wait for it. The zero value is ready.
type Use struct {
	last   atomic.Int64 // on the client's clock
	waits  atomic.Int64 // calls between two attempts
	held   int          // guarded by the lock of the table's owner
	closed time.Duration
}

// Note notes a call. It may be called from any goroutine.
func (u *Use) Note(now time.Duration) {
	if now-time.Duration(u.last.Load()) >= grain {
		u.last.Store(int64(now))
	}
}

// Wait notes a call that waits between two attempts until Waited is called. It does not keep the service open. Both may be called from any
// goroutine.
func (u *Use) Wait() { u.waits.Add(1) }

// Waited ends one Wait.
func (u *Use) Waited() { u.waits.Add(-1) }

// Hold keeps the service open until Release is called as often. Both are called with the lock of the table's owner held.
func (u *Use) Hold() { u.held++ }

// Release ends one Hold.
func (u *Use) Release() { u.held-- }

// Service is one that a Table holds. Its methods are called with the lock of the table's owner held.
type Service interface {
	comparable
	Used() *Use
	// Needed reports whether what is known of the service could not be learned again now.
	Needed() bool
}

// Table holds the services that are open. Its owner guards it with a lock. New makes one.
type Table[S Service] struct {
	// Open are the services by name. It is for reading alone.
	Open map[string]S

	vacant  map[string]S // those without instances
	left    map[string]S // those that were closed without instances, and at which calls waited between two attempts
	closed  []S          // those that linger, in the order in which they were closed
	timeout time.Duration
	looked  time.Duration
}

// New returns an empty table. A service with instances is closed when it was not called for the timeout; below zero: never.
func New[S Service](timeout time.Duration) *Table[S] {
	return &Table[S]{Open: make(map[string]S), vacant: make(map[string]S), left: make(map[string]S), timeout: timeout}
}

// Add opens a service, which has no instances yet. It returns the services that were closed for it. ok is false if it cannot be opened,
// since calls wait for as many services without instances as are allowed.
func (t *Table[S]) Add(name string, s S, now time.Duration) (closed []S, ok bool) {
	for len(t.vacant) >= MostVacant {
		if !t.closeOldest(now, &closed) {
			return closed, false
		}
	}
	s.Used().last.Store(int64(now))
	t.Open[name], t.vacant[name] = s, s
	return closed, true
}

// closeOldest closes the service without instances that was not called for longest.
func (t *Table[S]) closeOldest(now time.Duration, closed *[]S) bool {
	oldest, since := "", int64(0)
	for name, s := range t.vacant {
		if u := s.Used(); u.held == 0 && (oldest == "" || u.last.Load() < since) {
			oldest, since = name, u.last.Load()
		}
	}
	if oldest == "" {
		return false
	}
	*closed = append(*closed, t.close(oldest, now))
	return true
}

func (t *Table[S]) close(name string, now time.Duration) S {
	s := t.Open[name]
	if _, vacant := t.vacant[name]; !vacant {
		s.Used().closed = now
		t.closed = append(t.closed, s)
	} else if s.Used().waits.Load() > 0 {
		t.left[name] = s
	}
	delete(t.Open, name)
	delete(t.vacant, name)
	return s
}

// TakeLeft returns the service that was open before under a name, if it was closed without instances while calls waited between two attempts,
// and forgets it.
func (t *Table[S]) TakeLeft(name string) (s S, ok bool) {
	s, ok = t.left[name]
	delete(t.left, name)
	return s, ok
}

// Has reports whether a service is open under a name.
func (t *Table[S]) Has(name string, s S) bool { return t.Open[name] == s }

// Tell notes whether a service that is open has instances.
func (t *Table[S]) Tell(name string, instances bool) {
	if instances {
		delete(t.vacant, name)
	} else {
		t.vacant[name] = t.Open[name]
	}
}

// Due reports whether it is time for Sweep.
func (t *Table[S]) Due(now time.Duration) bool { return now-t.looked >= lookEvery }

// Sweep closes the services that were not called for long, and returns them, and those that linger no longer.
func (t *Table[S]) Sweep(now time.Duration) (closed, ended []S) {
	t.looked = now
	maps.DeleteFunc(t.left, func(_ string, s S) bool { return s.Used().waits.Load() == 0 })
	n := 0
	for n < len(t.closed) && now-t.closed[n].Used().closed >= linger {
		n++
	}
	ended, t.closed = slices.Clone(t.closed[:n]), slices.Delete(t.closed, 0, n)
	for name, s := range t.Open {
		most := t.timeout
		if _, vacant := t.vacant[name]; vacant && (most < 0 || most > VacantTimeout) {
			most = VacantTimeout
		}
		u := s.Used()
		if most >= 0 && u.held == 0 && now-time.Duration(u.last.Load()) >= most && !s.Needed() {
			closed = append(closed, t.close(name, now))
		}
	}
	for len(t.vacant) > MostVacant && t.closeOldest(now, &closed) {
	}
	return closed, ended
}

// Lingering are the services with instances that were closed just now. What they had is kept for calls that had begun before.
func (t *Table[S]) Lingering() []S { return t.closed }
