package spare

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestOne has one value used again and again.
func TestOne(t *testing.T) {
	made := 0
	p := Pool[int]{Make: func() *int {
		made++
		return new(int)
	}}
	v := p.Take()
	p.Give(v)
	if n := testing.AllocsPerRun(100, func() { p.Give(p.Take()) }); n != 0 || made != 1 {
		t.Errorf("a value that is used again costs %v allocations, %d were made", n, made)
	}
	if got := p.Take(); got != v {
		t.Errorf("the pool returned %p, want %p", got, v)
	}
	if got := p.Take(); got == v {
		t.Error("the pool returned a value twice")
	}
}

// TestMany has no value used by two goroutines at a time.
func TestMany(t *testing.T) {
	p := Pool[atomic.Bool]{Make: func() *atomic.Bool { return new(atomic.Bool) }}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				v := p.Take()
				if v.Swap(true) {
					t.Error("a value is used twice at a time")
				}
				v.Store(false)
				p.Give(v)
			}
		})
	}
	all.Wait()
}
