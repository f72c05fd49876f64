package session

import (
	"context"
	"fmt"
	"time"

	"github.com/weftrpc/weft/internal/wire"
)

// Ping sends a PING frame and waits until the peer has answered it, ctx ends, or the
// session does. Without a deadline in ctx it waits for at most Limits.PingTimeout. Any
// number of goroutines may call it: those that come while a ping is on the wire share
// the next one. The peer answers on its reader, whatever its handlers do.
func (s *Session) Ping(ctx context.Context) *wire.Status {
	if err := ctx.Err(); err != nil {
		return pingEnded(ctx, wire.NotSent)
	}
	if !s.Met() {
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
	select {
	case <-s.alive.Ping():
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
