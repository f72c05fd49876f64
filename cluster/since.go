package cluster

import (
	"time"

	"github.com/weftrpc/weft"
)

// longAgo is the age of servers that were there before the client.
const longAgo = 24 * time.Hour

// newSince returns when a server was new, on the client's clock, for balance.SlowStart. The instance says when it has started; otherwise a
// server of the client's first list of a service was there before, and one that joins later is new now. An instance that starts in the
// future has another clock, and says nothing.
func (c *Client) newSince(i *weft.Instance, first bool) time.Duration {
	now := c.now()
	if age := time.Since(i.Started); !i.Started.IsZero() && age >= 0 {
		return now - min(age, longAgo)
	}
	if first {
		return now - longAgo
	}
	return now
}

// noteStartLocked has a server begin anew whose instance says that it was restarted. The client's lock is held.
func (s *server) noteStartLocked(i *weft.Instance) {
	if !i.Started.After(s.started) {
		return
	}
	if !s.started.IsZero() {
		s.stats.Restart(s.c.newSince(i, false))
	}
	s.started = i.Started
}
