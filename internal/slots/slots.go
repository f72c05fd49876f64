// Package slots holds a value for each slot that a call can have.
package slots

import (
	"math/bits"
	"sync/atomic"

	"github.com/weftrpc/weft/internal/wire"
)

// Table holds a value for each slot. It grows without moving
// what it has: its first page is small and part of the table, since most connections have few
// calls open, and each further one is as large as all before it together.
type Table[T any] struct {
	pages [tablePages]atomic.Pointer[[]T]
	first []T // the first page, which is mem
	mem   [1 << firstBits]T
}

const (
	firstBits  = 2 // the first page has 4 slots
	tablePages = 15
)

// The pages have room for every slot there is.
var _ [wire.MaxSlots]struct{} = [1 << (firstBits + tablePages - 1)]struct{}{}

// place is the page of a slot, and where it is there.
func place(n uint32) (page int, at uint32) {
	if page = bits.Len32(n >> firstBits); page > 0 {
		n -= 1 << (firstBits + page - 1)
	}
	return page, n
}

// At is the value of slot n, or nil when its page was not made yet.
func (t *Table[T]) At(n uint32) *T {
	page, i := place(n)
	p := t.pages[page].Load()
	if p == nil {
		return nil
	}
	return &(*p)[i]
}

// Need is the value of slot n, whose page is made if need be. It is called by one
// goroutine at a time.
func (t *Table[T]) Need(n uint32) *T {
	page, i := place(n)
	p := t.pages[page].Load()
	if p == nil {
		p = t.make(page)
	}
	return &(*p)[i]
}

//go:noinline
func (t *Table[T]) make(page int) *[]T {
	p := &t.first
	if page == 0 {
		t.first = t.mem[:]
	} else {
		made := make([]T, 1<<(firstBits+page-1))
		p = &made
	}
	t.pages[page].Store(p)
	return p
}

// All calls f with every value that was made, until it returns false.
func (t *Table[T]) All(f func(*T) bool) {
	for i := range t.pages {
		p := t.pages[i].Load()
		if p == nil {
			continue
		}
		for j := range *p {
			if !f(&(*p)[j]) {
				return
			}
		}
	}
}
