package jsonrpc

import (
	"sync"

	"github.com/weftrpc/weft"
)

// values counts the values of a connection that were read and not answered.
type values struct {
	mu       sync.Mutex
	open     int
	draining bool
	idle     chan struct{} // closed when the connection drains and no value is open
	empty    chan struct{} // closed when no value is open, for settle
}

// enter counts a value, and returns why its calls are refused, if they are.
func (v *values) enter() *weft.Error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open++
	if v.draining {
		return draining()
	}
	return nil
}

// draining is the error of a call that comes while the server shuts down.
func draining() *weft.Error {
	return &weft.Error{Code: weft.Unavailable, Outcome: weft.Refused, Reason: weft.ReasonDraining,
		Message: "the server is shutting down; call another server"}
}

// answered notes that a value is no longer open.
func (v *values) answered() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open--; v.open > 0 {
		return
	}
	if v.draining {
		v.endLocked()
	}
	if v.empty != nil {
		close(v.empty)
		v.empty = nil
	}
}

// endLocked tells that no value is open. One that comes later ends too.
func (v *values) endLocked() {
	select {
	case <-v.idle:
	default:
		close(v.idle)
	}
}

// refuse has the calls of values that come from now on refused. The channel is closed when no value is open.
func (v *values) refuse() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.draining, v.idle = true, make(chan struct{})
	if v.open == 0 {
		v.endLocked()
	}
	return v.idle
}

// busy reports whether a value is open.
func (v *values) busy() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.open > 0
}

// drain waits until the server shuts down, has the calls refused that come from then on, and calls end when those that are
// open have been answered. It returns when reading has ended, which closes over.
func (v *values) drain(c *weft.DoorConn, over <-chan struct{}, end func()) {
	select {
	case <-c.Draining():
	case <-over:
		return
	}
	select {
	case <-v.refuse():
		end()
		<-over
	case <-over:
	}
}

// settle waits until no value is open, or late is closed.
func (v *values) settle(late <-chan struct{}) {
	v.mu.Lock()
	if v.open == 0 {
		v.mu.Unlock()
		return
	}
	empty := make(chan struct{})
	v.empty = empty
	v.mu.Unlock()
	select {
	case <-empty:
	case <-late:
	}
}

// drained reports whether the connection ended because it was drained.
func (v *values) drained() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.draining && v.open == 0
}
