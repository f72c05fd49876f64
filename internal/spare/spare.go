// Package spare keeps values that are not in use, to be used again.
package spare

import (
	"sync"
	"sync/atomic"
)

// Pool holds values that are not in use. Until two of them are, at a time, it holds one: an owner that uses one value
// after the other, or only one, does without a sync.Pool, which allocates and is known to the garbage collector. The
// fields that are exported are set before it is used; all methods may be called concurrently.
type Pool[T any] struct {
	Make func() *T // makes a value when none is left

	sole atomic.Pointer[T]
	many atomic.Bool
	pool sync.Pool
}

// Take returns a value that was given, or a new one.
func (p *Pool[T]) Take() *T {
	if !p.many.Load() {
		if v := p.sole.Swap(nil); v != nil {
			return v
		}
	} else if v, ok := p.pool.Get().(*T); ok {
		return v
	}
	return p.Make()
}

// Give takes a value that is not used any more.
func (p *Pool[T]) Give(v *T) {
	if !p.many.Load() {
		if p.sole.CompareAndSwap(nil, v) {
			return
		}
		p.many.Store(true)
	}
	p.pool.Put(v)
}
