// Package table finds the streams of a connection by their numbers, and remembers the newest of those that are no more.
package table

import "iter"

const minSlots = 32

// Table holds the open streams. They are found by their numbers: the slot of one whose place is taken is a map. The zero value is empty.
type Table[T any] struct {
	slots []slot[T]
	more  map[uint32]*T
	n     int
}

type slot[T any] struct {
	id uint32
	st *T
}

// Len is how many streams are open.
func (t *Table[T]) Len() int { return t.n }

func (t *Table[T]) place(id uint32) *slot[T] { return &t.slots[int(id>>1)&(len(t.slots)-1)] }

// Get returns the stream with a number, or nil.
func (t *Table[T]) Get(id uint32) *T {
	if t.n == 0 {
		return nil
	}
	if s := t.place(id); s.id == id && s.st != nil {
		return s.st
	}
	return t.more[id]
}

// Put adds a stream, with a number that none has.
func (t *Table[T]) Put(id uint32, st *T) {
	if t.n++; 2*t.n > len(t.slots) {
		old := t.slots
		t.slots = make([]slot[T], max(2*len(old), minSlots))
		for _, s := range old {
			if s.st != nil {
				*t.place(s.id) = s // two that differed before differ now
			}
		}
	}
	if s := t.place(id); s.st == nil {
		*s = slot[T]{id, st}
		return
	}
	if t.more == nil {
		t.more = make(map[uint32]*T)
	}
	t.more[id] = st
}

// Take takes the stream with a number out, which is in.
func (t *Table[T]) Take(id uint32) {
	t.n--
	if s := t.place(id); s.id == id && s.st != nil {
		*s = slot[T]{}
	} else {
		delete(t.more, id)
	}
	if t.n == 0 && len(t.slots) > 64*minSlots {
		t.slots = nil
	}
}

// All goes over the open streams, of which none is put in or taken out meanwhile.
func (t *Table[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, s := range t.slots {
			if s.st != nil && !yield(s.st) {
				return
			}
		}
		for _, st := range t.more {
			if !yield(st) {
				return
			}
		}
	}
}

// Aborted remembers the newest streams that were ended by this side while the peer may have been sending.
type Aborted struct {
	ids [64]uint32
	n   int
}

// Add notes one more.
func (a *Aborted) Add(id uint32) {
	a.ids[a.n%len(a.ids)] = id
	a.n++
}

// Has reports whether frames of the stream may still come, since the peer did not know of its end.
func (a *Aborted) Has(id uint32) bool {
	for _, one := range a.ids {
		if one == id && id != 0 {
			return true
		}
	}
	return false
}

// Recent tells which of the newest streams the client has opened: bit k stands for the stream whose number is 2k
// below that of the newest one.
type Recent uint64

// Open notes that the client opens a stream behind the newest one.
func (r *Recent) Open(newest, id uint32) {
	if newest != 0 {
		*r <<= (id - newest) / 2
	}
	*r |= 1
}

// Skipped reports whether a stream is one of the newest and was never opened.
func (r Recent) Skipped(newest, id uint32) bool {
	k := (newest - id) / 2
	return k < 64 && r>>k&1 == 0
}
