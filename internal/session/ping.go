package session

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/weftrpc/weft/internal/wire"
)

// pings are the PING frames that callers of Ping wait for. There is one on the wire
// at a time, and callers that come meanwhile share the next one: however many call,
// the peer gets no more pings than it must take. The writer's lock guards it.
type pings struct {
	current *pong // on the wire; nil for none
	next    *pong // is sent when current was answered; nil when no caller waits for it
	last    uint64
	sent    int64 // when the last one was sent
}

// pong is the answer that callers wait for.
type pong struct {
	number uint64 // the payload
	done   chan struct{}
}

// pingSpace is the least time between two pings of Ping: a peer may end a connection
// that brings more than 100 in a second.
const pingSpace = 20 * time.Millisecond

// Ping sends a PING frame and waits until the peer has answered it, ctx ends, or the
// session does. Without a deadline in ctx it waits for at most Limits.PingTimeout. Any
// number of goroutines may call it: those that come while a ping is on the wire share
// the next one. The peer answers on its reader, whatever its handlers do.
func (s *Session) Ping(ctx context.Context) *wire.Status {
	if err := ctx.Err(); err != nil {
		return pingEnded(ctx, wire.NotSent)
	}
	if !s.met() {
		if st := s.awaitHello(ctx, 0); st != nil {
			return st
		}
	}
	var late <-chan time.Time
	if _, ok := ctx.Deadline(); !ok && s.cfg.Limits.PingTimeout > 0 {
		t := time.NewTimer(s.cfg.Limits.PingTimeout)
		defer t.Stop()
		late = t.C
	}
	p := s.joinPing()
	s.rouse() // no caller reads the answer
	select {
	case <-p.done:
		return nil
	case <-s.closed:
		lost := *s.failed.Load()
		return &lost
	case <-ctx.Done():
		return pingEnded(ctx, wire.OutcomeUnknown)
	case <-late:
		return &wire.Status{Code: wire.DeadlineExceeded, Message: fmt.Sprintf("no answer to a ping within %v (Limits.PingTimeout)", s.cfg.Limits.PingTimeout)}
	}
}

func pingEnded(ctx context.Context, outcome wire.Outcome) *wire.Status {
	st := fromContext(ctx)
	st.Outcome = outcome
	if st.Code == wire.DeadlineExceeded {
		st.Message = "deadline exceeded before the ping was answered"
	}
	return st
}

// joinPing returns the pong that a caller waits for, which begins to be sent no earlier than now.
func (s *Session) joinPing() *pong {
	s.w.Lock()
	p := s.pings.next
	if p == nil {
		s.pings.last++
		p = &pong{number: s.pings.last, done: make(chan struct{})}
		s.pings.next = p
		if s.pings.current == nil {
			s.sendNextPingLocked()
		}
	}
	s.w.FlushElsewhereAndUnlock()
	return p
}

// sendNextPingLocked sends the next ping, at once or when it may be.
func (s *Session) sendNextPingLocked() {
	pg, at := &s.pings, now()
	if wait := pingSpace - time.Duration(at-pg.sent); pg.sent != 0 && wait > 0 {
		time.AfterFunc(wait, func() {
			s.w.Lock()
			if pg.current == nil && pg.next != nil {
				s.sendNextPingLocked()
			}
			s.w.FlushElsewhereAndUnlock()
			s.rouse()
		})
		return
	}
	pg.current, pg.next, pg.sent = pg.next, nil, at
	if s.w.ClosedLocked() {
		return
	}
	var b [pingSize]byte
	binary.LittleEndian.PutUint64(b[:], pg.current.number)
	s.w.FrameLocked(wire.Header{Type: wire.TypePing}, b[:])
	if !s.w.WritingLocked() || s.cfg.Limits.WriteTimeout <= 0 {
		// The keeper checks its answer as it does for its own pings. Behind a write that
		// is under way, which has a limit of its own, it could not leave in time.
		s.pinged.CompareAndSwap(0, at)
	}
}

// ponged takes the answer to a ping. One that was not asked for is skipped.
func (s *Session) ponged(payload []byte) {
	number := binary.LittleEndian.Uint64(payload)
	s.w.Lock()
	defer s.w.Unlock()
	pg := &s.pings
	if pg.current == nil || pg.current.number != number {
		return
	}
	close(pg.current.done)
	pg.current = nil
	if pg.next != nil {
		s.sendNextPingLocked()
	}
}
