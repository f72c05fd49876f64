// Package taps keeps lists of functions that see something happen, such as each call of a server.
package taps

import (
	"slices"
	"sync"
	"sync/atomic"
)

// List is a list of functions of type F. The zero value is empty; all methods may be called concurrently.
type List[F any] struct {
	all atomic.Pointer[[]*F] // nil: there are none
	mu  sync.Mutex           // held to change all
}

// All is the list, nil while it is empty. It must not be changed. To ask costs an atomic load.
func (l *List[F]) All() []*F {
	if all := l.all.Load(); all != nil {
		return *all
	}
	return nil
}

// Empty reports whether there are no functions.
func (l *List[F]) Empty() bool { return l.all.Load() == nil }

// Add adds a function until stop is called.
func (l *List[F]) Add(f F) (stop func()) {
	one := &f
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setLocked(append(slices.Clone(l.All()), one))
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.setLocked(slices.DeleteFunc(slices.Clone(l.All()), func(other *F) bool { return other == one }))
	})
}

func (l *List[F]) setLocked(all []*F) {
	if len(all) == 0 {
		l.all.Store(nil)
		return
	}
	l.all.Store(&all)
}
