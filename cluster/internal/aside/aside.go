// Package aside brings what ends the goroutine of a part of a call back to the goroutine that made the call.
package aside

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// End is how a part of a call ended that ran on a goroutine of its own. Interceptors, credentials and messages are the user's code:
// what one of them panics with, and its runtime.Goexit, must reach the goroutine that made the call, where a handler's recover waits for it.
type End struct {
	value  any    // what it panicked with
	stack  []byte // where
	exited bool
}

// Run calls f, and keeps the value that f panics with.
func (e *End) Run(f func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if e.value = recover(); e.value != nil {
			e.stack = debug.Stack()
		} else {
			e.exited = true
		}
	}()
	f()
	returned = true
}

// Crashed reports whether f has not returned.
func (e *End) Crashed() bool { return e.exited || e.value != nil }

// Resume ends the calling goroutine as f ended its own, if f has not returned.
func (e *End) Resume() {
	switch {
	case e.exited:
		runtime.Goexit()
	case e.value != nil:
		panic(&relayed{e.value, e.stack})
	}
}

// relayed is the value of a panic of another goroutine.
type relayed struct {
	value any
	stack []byte
}

// Error has the stack of the goroutine that panicked, which that of the caller's panic does not show.
func (r *relayed) Error() string { return fmt.Sprintf("%v\n\n%s", r.value, r.stack) }

// Unwrap returns the value if it is an error.
func (r *relayed) Unwrap() error {
	err, _ := r.value.(error)
	return err
}
