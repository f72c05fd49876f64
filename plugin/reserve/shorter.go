package reserve

import (
	"context"
	"sync/atomic"
	"time"
)

// shorter is the context of a handler: it ends at until, before the context of the call. A Done channel
// and its timer are made when the handler, or what it calls, asks for the channel.
type shorter struct {
	context.Context // that of the call
	until           time.Time
	state           atomic.Uint32
	watched         atomic.Pointer[watched]
}

// watched is a context with a Done channel.
type watched struct {
	context.Context
	cancel context.CancelFunc
}

// The states of a shorter without a Done channel.
const (
	live uint32 = iota
	expired
	over // the handler has returned
)

// Deadline implements context.Context.
func (s *shorter) Deadline() (time.Time, bool) { return s.until, true }

// Done implements context.Context.
func (s *shorter) Done() <-chan struct{} {
	w := s.watched.Load()
	if w == nil {
		w = s.watch()
	}
	return w.Done()
}

// watch makes the channel. end changes the state before it looks for the channel, and watch looks at the state
// when the channel is there: one of them cancels it.
func (s *shorter) watch() *watched {
	ctx, cancel := context.WithDeadline(s.Context, s.until)
	w := &watched{ctx, cancel}
	if !s.watched.CompareAndSwap(nil, w) {
		cancel()
		return s.watched.Load()
	}
	if s.state.Load() == over {
		cancel()
	}
	return w
}

// Err implements context.Context.
func (s *shorter) Err() error {
	if w := s.watched.Load(); w != nil {
		return w.Err()
	}
	switch s.state.Load() {
	case expired:
		return context.DeadlineExceeded
	case over:
		return context.Canceled
	}
	if err := s.Context.Err(); err != nil {
		return err
	}
	if time.Now().Before(s.until) {
		return nil
	}
	s.state.CompareAndSwap(live, expired)
	return s.Err()
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
	s.state.CompareAndSwap(live, over)
	if w := s.watched.Load(); w != nil {
		w.cancel()
	}
}
