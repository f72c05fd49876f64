package reserve

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// shorter is the context of a handler: it ends at until, before the context of the call. A Done channel
// and its timer are made when the handler, or what it calls, asks for the channel.
type shorter struct {
	context.Context // that of the call
	until           time.Time
	watched         atomic.Pointer[watched] // stored under mu

	mu     sync.Mutex
	err    error // the first one, which stays
	parent bool  // err is that of the call's context
}

// watched is a context with a Done channel.
type watched struct {
	context.Context
	cancel context.CancelFunc
}

// Deadline implements context.Context.
func (s *shorter) Deadline() (time.Time, bool) { return s.until, true }

// Done implements context.Context.
func (s *shorter) Done() <-chan struct{} {
	if w := s.watched.Load(); w != nil {
		return w.Done()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.watched.Load()
	if w == nil {
		w = s.watchLocked()
		s.watched.Store(w)
	}
	return w.Done()
}

// watchLocked makes the context with the channel. One that has ended already has the error that was told.
func (s *shorter) watchLocked() *watched {
	if err := s.errLocked(); err == nil || s.parent {
		ctx, cancel := context.WithDeadline(s.Context, s.until)
		return &watched{ctx, cancel}
	} else if err == context.DeadlineExceeded {
		ctx, cancel := context.WithDeadline(context.WithoutCancel(s.Context), time.Unix(0, 0))
		return &watched{ctx, cancel}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context))
	cancel()
	return &watched{ctx, cancel}
}

// Err implements context.Context.
func (s *shorter) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.errLocked()
}

// errLocked is the error of now, nil if there is none; the first one is kept.
func (s *shorter) errLocked() error {
	if s.err != nil {
		return s.err
	}
	if w := s.watched.Load(); w != nil {
		s.err = w.Err()
	} else if s.err = s.Context.Err(); s.err != nil {
		s.parent = true
	} else if !time.Now().Before(s.until) {
		s.err = context.DeadlineExceeded
	}
	return s.err
}

// Value implements context.Context. Package context finds the context with the channel by it, and follows
// that without a goroutine.
func (s *shorter) Value(key any) any {
	if w := s.watched.Load(); w != nil {
		return w.Value(key)
	}
	return s.Context.Value(key)
}

// end ends the context when the handler has returned.
func (s *shorter) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.watched.Load(); w != nil {
		w.cancel() // its error says what was first
	} else if s.errLocked() == nil {
		s.err = context.Canceled
	}
}
