package zookeeper

import (
	"errors"
	"net"
	"sync/atomic"
	"time"
)

const (
	// leastPatience is how long a server may take to accept a connection, and then to begin a
	// session, at first.
	leastPatience = 3 * time.Second
	// mostPatience is what that grows to.
	mostPatience = 12 * time.Second
)

// patience is how long a server may take to begin a session. It doubles when no server was
// in time: servers that have much to do would have even more to do if every client gave up
// and began anew, and never be in time. The zero value is leastPatience.
type patience struct{ now atomic.Int64 }

func (p *patience) limit() time.Duration { return max(time.Duration(p.now.Load()), leastPatience) }

// late notes that no server was in time.
func (p *patience) late() { p.now.Store(int64(min(2*p.limit(), mostPatience))) }

// met notes that a server has begun a session within a time.
func (p *patience) met(took time.Duration) { p.now.Store(int64(min(2*took, mostPatience))) }

// isTimeout reports whether a server was not in time.
func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}
