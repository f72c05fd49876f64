package socket

import (
	"math"
	"net"
	"time"
)

// Deadline gives each write of a connection a time, or a quarter more. A deadline for each write would be a timer for each. It belongs to the
// goroutine that writes.
type Deadline struct {
	conn  net.Conn
	time  time.Duration
	until time.Time // the deadline of writes that conn has
}

// NewDeadline returns the Deadline of a connection whose writes may take a time.
func NewDeadline(conn net.Conn, time time.Duration) Deadline {
	return Deadline{conn: conn, time: min(time, math.MaxInt64/2)} // a quarter more is a time.Duration too
}

// Renew gives the next write its time, unless the deadline of those before leaves it as much, and returns its deadline.
func (d *Deadline) Renew() time.Time {
	if now := time.Now(); d.until.Sub(now) < d.time {
		d.until = now.Add(d.time + d.time/4)
		_ = d.conn.SetWriteDeadline(d.until) // an error is that of the write
	}
	return d.until
}
