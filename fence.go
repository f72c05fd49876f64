package weft

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"

	"github.com/weftrpc/weft/internal/logger"
)

// fence contains the panics of the user's code: each is logged with its stack, at most one a
// second of each function, and the number of those left out afterwards.
type fence struct {
	log  *slog.Logger
	what sync.Map // "ConnOpened", or the name of a method → *logger.Sparse
}

// panicked logs a panic. It is called by the function that recovered, so that the stack is
// still there. kind is "method" or "function", and name says which one it was.
func (f *fence) panicked(kind, name string, peer net.Addr, v any) {
	msg := "handler panicked"
	if kind != "method" {
		msg = "user code panicked"
	}
	found, ok := f.what.Load(name)
	if !ok {
		found, _ = f.what.LoadOrStore(name, new(logger.Sparse))
	}
	full := found.(*logger.Sparse).Allow(func(left int) {
		f.log.Error(msg+" again", kind, name, "times", left)
	})
	if !full {
		return
	}
	attrs := []slog.Attr{slog.String(kind, name), slog.String("panic", fmt.Sprint(v)), slog.String("stack", string(debug.Stack()))}
	if peer != nil {
		attrs = append(attrs, slog.String("peer", peer.String()))
	}
	f.log.LogAttrs(context.Background(), slog.LevelError, msg, attrs...)
}

// run calls a hook or another function of the user's and contains its panic. It returns false
// when the function has panicked.
func (f *fence) run(name string, peer net.Addr, call func()) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			f.panicked("function", name, peer, v)
		}
	}()
	call()
	return true
}
