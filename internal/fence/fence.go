// Package fence contains what code of the user's does: panics, hangs, ended goroutines.
package fence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/weftrpc/weft/internal/logger"
)

// Fence contains the panics of the user's code: each is logged with its stack, at most one a
// second of each function, and the number of those left out afterwards. Log is set before it is
// used.
type Fence struct {
	Log *slog.Logger

	what sync.Map // "ConnOpened", or the name of a method → *logger.Sparse

	running atomic.Int32 // calls of Within that have not returned
}

// ErrPanicked is the error of a function of the user's that has panicked or ended its
// goroutine.
var ErrPanicked = errors.New("the function has panicked or ended its goroutine")

// maxWithin is how many functions may run in Within, those that hang among them.
const maxWithin = 128

// Panicked logs a panic. It is called by the function that recovered, so that the stack is
// still there. kind is "method" or "function", and name says which one it was.
func (f *Fence) Panicked(kind, name string, peer net.Addr, v any) {
	msg := "handler panicked"
	if kind != "method" {
		msg = "user code panicked"
	}
	found, ok := f.what.Load(name)
	if !ok {
		found, _ = f.what.LoadOrStore(name, new(logger.Sparse))
	}
	full := found.(*logger.Sparse).Allow(func(left int) {
		f.Log.Error(msg+" again", kind, name, "times", left)
	})
	if !full {
		return
	}
	attrs := []slog.Attr{slog.String(kind, name), slog.String("panic", fmt.Sprint(v)), slog.String("stack", string(debug.Stack()))}
	if peer != nil {
		attrs = append(attrs, slog.String("peer", peer.String()))
	}
	f.Log.LogAttrs(context.Background(), slog.LevelError, msg, attrs...)
}

// Run calls a hook or another function of the user's and contains its panic. It returns false
// when the function has panicked.
func (f *Fence) Run(name string, peer net.Addr, call func()) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			f.Panicked("function", name, peer, v)
		}
	}()
	call()
	return true
}

// Within calls a function of the user's on a goroutine of its own and returns what it
// returns, or an error when ctx has ended first, or it has panicked or ended its goroutine. One that
// never returns keeps its goroutine.
func Within[T any](ctx context.Context, f *Fence, name string, call func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	if f.running.Add(1) > maxWithin {
		f.running.Add(-1)
		var none T
		return none, fmt.Errorf("%s has not returned from %d calls", name, maxWithin)
	}
	done := make(chan result, 1)
	// It ends when the function returns.
	go func() {
		r := result{err: ErrPanicked}
		defer func() {
			f.running.Add(-1)
			done <- r
		}()
		f.Run(name, nil, func() { r.v, r.err = call() })
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("%s has not returned in time: %w", name, ctx.Err())
	}
}
