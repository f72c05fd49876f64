package streams

import (
	"context"
	"fmt"
)

// sending is the direction in which this side sends. The lock of the State guards it.
type sending struct {
	credit  int  // what may be sent; below zero, nothing
	closed  bool // this side sends no more
	bytes   int  // of all messages, on the wire
	flow    flow
	allowed chan struct{} // credit has come, or the end
}

// AwaitCredit waits until a message may be begun or never can, or until ctx ends.
func (s *State) AwaitCredit(ctx context.Context) Outcome {
	for {
		s.mu.Lock()
		over, closed, credit := s.over, s.out.closed, s.out.credit
		s.mu.Unlock()
		switch {
		case over:
			return Over
		case closed:
			return Closed
		case credit > 0:
			return Ready
		}
		select {
		case <-s.out.allowed:
		case <-ctx.Done():
			if !s.Over() { // else the end of the call has ended the context
				return Left
			}
		}
	}
}

// AwaitEnd waits until the call has ended. The goroutine that sends calls it.
func (s *State) AwaitEnd() {
	for !s.Over() {
		<-s.out.allowed
	}
}

// Sent takes the credit for a message of size bytes whose Send began at a time, before the peer can give it back. It reports
// whether the message follows another one closely.
func (s *State) Sent(size int, at int64) (follows bool) {
	s.mu.Lock()
	s.out.credit -= size + Cost
	s.out.bytes += size
	follows = s.out.flow.next(at)
	s.mu.Unlock()
	return follows
}

// Wrote notes when a message was written that does not follow another one closely.
func (s *State) Wrote(at int64) {
	s.mu.Lock()
	s.out.flow.sent = at
	s.mu.Unlock()
}

// CloseSend notes that this side sends no more. It returns false when that is known, or the call has ended.
func (s *State) CloseSend() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.out.closed {
		return false
	}
	s.out.closed = true
	return true
}

// Allow takes credit from the peer. It fails when that is more than there may be.
func (s *State) Allow(n uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if int64(n) > MaxCredit-int64(s.out.credit) {
		return fmt.Errorf("more credit than %d bytes", MaxCredit)
	}
	s.out.credit += int(n)
	wake(s.out.allowed)
	return nil
}
