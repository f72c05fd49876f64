// Package pending bounds the connections of a server that have not been admitted.
package pending

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Table holds the connections that have not been admitted yet. Their number and their
// time are bounded, without a timer and a deadline for each. When there are as many as may
// be, a new one takes the place of one that has made no progress for long, above all of one
// from an address that has many: connections that send nothing do not keep others out.
// The exported fields are set before it is used; all methods may be called concurrently.
type Table struct {
	Most  int
	Limit time.Duration // within which a connection must be admitted; something must come from the peer within half of it
	TLS   bool          // a connection may take Limit for TLS too
	// Hung is called with a lock held when the user's code has decided about a connection for
	// too long; the connection is closed then, and keeps its place until Leave.
	Hung func(conn net.Conn)

	mu     sync.Mutex
	all    []*Entry            // in no order
	from   map[netip.Addr]int  // how many of each origin
	hung   map[*Entry]struct{} // those whose time is over and that user code has not returned for
	timer  *time.Timer         // set when there is one
	closed bool
}

// Entry is one of them. The zero value is ready.
type Entry struct {
	conn   net.Conn
	origin netip.Addr
	since  time.Time
	index  int // in Table.all; below zero when it is not there any more
	state  atomic.Int32
	why    error // why it has to end; guarded by Table.mu until Leave has returned
}

// State is how far a connection is.
type State int32

// The states.
const (
	Silent   State = iota // nothing has come from the peer
	Speaking              // something has
	Deciding              // the user's code decides about it
)

// Set changes the state.
func (e *Entry) Set(s State) { e.state.Store(int32(s)) }

func (e *Entry) get() State { return State(e.state.Load()) }

// The errors of Leave, beside a *LateError.
var (
	ErrCrowded = errors.New("the handshake was given up for another connection: too many are in it (ServerConfig.MaxPending)")
	ErrClosed  = errors.New("the server is shutting down")
)

// LateError is the error of a handshake whose time was over.
type LateError struct {
	silent, tls bool
	limit       time.Duration // as it is configured
}

func (e *LateError) Error() string {
	what := "it was not over within"
	switch {
	case e.silent && e.tls:
		what = "the client's first message of TLS has not come within half of"
	case e.silent:
		what = "nothing has come within half of"
	case e.tls:
		what = "with TLS it was not over within twice"
	}
	return fmt.Sprintf("handshake: %s Limits.HandshakeTimeout (%v)", what, e.limit)
}

// sampled is how many connections are looked at to find the one that must go.
const sampled = 16

// originOf is what counts as one address: an address of IPv4, or the 64 bits of one of IPv6
// that name a network. All connections without such an address have one origin.
func originOf(conn net.Conn) netip.Addr {
	a, ok := conn.RemoteAddr().(interface{ AddrPort() netip.AddrPort })
	if !ok {
		return netip.Addr{}
	}
	ip := a.AddrPort().Addr().Unmap().WithZone("")
	if ip.Is6() {
		network, _ := ip.Prefix(64)
		return network.Addr()
	}
	return ip
}

// Enter takes a new connection in, in place of another one if need be, which dropped says. It
// returns false when there is none that can go, or the server is closed.
func (t *Table) Enter(n *Entry, conn net.Conn) (ok, dropped bool) {
	n.conn, n.origin, n.since, n.index = conn, originOf(conn), time.Now(), -1
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false, false
	}
	if len(t.all)+len(t.hung) >= t.Most {
		victim := t.victimLocked(n.since)
		if victim == nil {
			return false, false
		}
		dropped = true
		t.expireLocked(victim, ErrCrowded)
	}
	n.index = len(t.all)
	t.all = append(t.all, n)
	if t.from == nil {
		t.from, t.hung = make(map[netip.Addr]int), make(map[*Entry]struct{})
	}
	t.from[n.origin]++
	if t.timer == nil {
		t.timer = time.AfterFunc(t.Limit/2, t.look)
	}
	return true, dropped
}

// victimLocked chooses the connection that has to go: of some, the one with the greatest
// product of its age and the number of connections of its origin, which counts twice while
// nothing has come from it. nil: the user's code decides about all that were looked at.
func (t *Table) victimLocked(at time.Time) *Entry {
	var found *Entry
	var worst float64
	for range min(sampled, len(t.all)) {
		n := t.all[rand.IntN(len(t.all))]
		state := n.get()
		if state == Deciding {
			continue
		}
		score := float64(at.Sub(n.since)+1) * float64(t.from[n.origin])
		if state == Silent {
			score *= 2
		}
		if score > worst {
			found, worst = n, score
		}
	}
	return found
}

// expireLocked ends the handshake of a connection: what reads from it or writes to it fails.
func (t *Table) expireLocked(n *Entry, why error) {
	n.why = why
	t.removeLocked(n)
	n.conn.SetDeadline(time.Unix(1, 0))
}

func (t *Table) removeLocked(n *Entry) {
	last := len(t.all) - 1
	t.all[n.index] = t.all[last]
	t.all[n.index].index = n.index
	t.all[last] = nil
	t.all = t.all[:last]
	n.index = -1
	if t.from[n.origin]--; t.from[n.origin] == 0 {
		delete(t.from, n.origin)
	}
}

// Leave takes a connection out that was admitted or has failed. The error says why the
// connection cannot be used any more.
func (t *Table) Leave(n *Entry) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n.index >= 0 {
		t.removeLocked(n)
	}
	delete(t.hung, n)
	return n.why
}

// look ends the handshakes whose time is over.
func (t *Table) look() {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := time.Now()
	wait := t.Limit / 2 // one that comes now is due no earlier
	for i := 0; i < len(t.all); {
		n := t.all[i]
		state, limit := n.get(), t.Limit
		if state == Silent {
			limit /= 2
		} else if t.TLS {
			limit *= 2
		}
		if left := limit - at.Sub(n.since); left > 0 {
			wait = min(wait, left)
			i++
			continue
		}
		t.expireLocked(n, &LateError{state == Silent, t.TLS, t.Limit})
		if state == Deciding {
			// Its place is kept: what hangs must not become more and more.
			t.hung[n] = struct{}{}
			n.conn.Close()
			t.Hung(n.conn)
		}
	}
	t.timer = nil
	if len(t.all) > 0 && !t.closed {
		t.timer = time.AfterFunc(wait, t.look)
	}
}

// Close ends all handshakes, and lets no more connections in.
func (t *Table) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	for len(t.all) > 0 {
		n := t.all[0]
		t.expireLocked(n, ErrClosed)
		if n.get() == Deciding {
			t.hung[n] = struct{}{}
		}
	}
}

// Sever closes the connections that the user's code still decides about after Close.
func (t *Table) Sever() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for n := range t.hung {
		n.conn.Close()
	}
}
