package streams

import (
	"context"
	"errors"
	"sync/atomic"
)

// receiving is the direction in which the peer sends. The lock of the State guards it, but for unfinished.
type receiving struct {
	inbox
	window  int           // what the peer may send ahead
	closed  bool          // the peer sends no more
	arrived chan struct{} // a message has come, or the end

	unfinished atomic.Bool // a message has begun that comes in pieces
}

var (
	// ErrCredit is the error of Put for a message that was begun without credit.
	ErrCredit = errors.New("a message was begun without credit")
	// ErrFull is the error of Put when too much is held for the connection. The message was taken.
	ErrFull = errors.New("too many bytes were not received")
)

// Put takes a message of the peer. owned says that body may be kept. A message that comes after the end is discarded and costs
// credit all the same: the peer may not have seen the end, but has no more to send than its credit.
func (s *State) Put(body []byte, owned, compressed bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.in.used() >= s.in.window:
		return ErrCredit
	case s.over || s.in.closed:
		s.in.discard(body)
		return nil
	}
	s.in.put(body, owned, compressed)
	if n, memory := s.in.count(); (n != 0 || memory != 0) && !s.owner.Count(n, memory) {
		return ErrFull
	}
	wake(s.in.arrived)
	return nil
}

// CloseRecv notes that the peer sends no more. It returns false when that is known.
func (s *State) CloseRecv() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.in.closed
	s.in.closed = true
	wake(s.in.arrived)
	return !was
}

// Next waits for the next message, or until ctx ends. give is the credit that the peer gets for what was received, 0 for none yet.
func (s *State) Next(ctx context.Context) (m Message, give int, o Outcome) {
	for {
		s.mu.Lock()
		switch {
		case len(s.in.queue) > 0:
			m = s.in.take()
			if len(s.in.queue) == 0 {
				s.out.flow.answer = true
			}
			if n, memory := s.in.count(); n != 0 || memory != 0 {
				s.owner.Count(n, memory)
			}
			if !s.over && !s.in.closed {
				give = s.in.owed(s.in.window / 2)
			}
			s.mu.Unlock()
			return m, give, Ready
		case s.over:
			s.mu.Unlock()
			return m, 0, Over
		case s.in.closed:
			s.mu.Unlock()
			return m, 0, Closed
		}
		s.out.flow.answer = true
		s.mu.Unlock()
		select {
		case <-s.in.arrived:
		case <-ctx.Done():
			if !s.Over() { // else there may still be messages
				return m, 0, Left
			}
		}
	}
}

// Forget has the messages count no more that were not received: the application has given the stream up, or will receive them
// soon.
func (s *State) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, memory := s.in.forget(); n != 0 || memory != 0 {
		s.owner.Count(n, memory)
	}
}

// Began notes that a message of the peer has begun that comes in pieces.
func (s *State) Began() {
	s.in.unfinished.Store(true)
	if s.Over() {
		s.lapse()
	}
}

// Finished notes that the message which has begun is whole, or is given up.
func (s *State) Finished() { s.in.unfinished.Store(false) }

// lapse tells the owner of an unfinished message, once.
func (s *State) lapse() {
	if s.in.unfinished.CompareAndSwap(true, false) {
		s.owner.Lapsed()
	}
}
