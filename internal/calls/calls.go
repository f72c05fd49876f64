// Package calls is the table of the calls that one side of a connection has open. A call has a slot, whose number is in
// the call's id; the slot stays taken until the peer has ended the call, also when its caller has given up.
package calls

import (
	"slices"
	"sync/atomic"

	"github.com/weftrpc/weft/internal/slots"
	"github.com/weftrpc/weft/internal/wheel"
	"github.com/weftrpc/weft/internal/wire"
)

// Table holds open calls of type C, some of which are streams of type S. Init makes it ready.
//
// It is used under one lock of its owner, but for Slot, the pointer of a slot, and Stream. Only the goroutine that swaps a call
// out of its slot completes the call.
type Table[C, S any] struct {
	slots     slots.Table[Slot[C]]
	streams   atomic.Pointer[slots.Table[atomic.Pointer[S]]] // of the calls that are streams; nil as long as none was
	made      uint32                                         // slots ever used
	free      []uint32                                       // slots used before and free again
	few       [2]uint32                                      // what holds them as long as they are few
	open      int                                            // slots taken
	most      uint32                                         // slots from here on are not used again; 0 for no such bound
	deadlines deadlines
}

// Slot is the place of one call. With thousands of calls open each line of the processor's cache counts: a slot is half of one.
type Slot[C any] struct {
	Call  atomic.Pointer[C]
	At    uint64      // where the request begins in the stream of bytes; Unsent: that is not known yet
	timer wheel.Timer // Used: the slot is taken; Mark: the generation
}

// Holds reports whether the slot is that of the call with an id. Besides under the lock, the goroutine that has swapped the call out
// may ask until it releases the slot.
func (sl *Slot[C]) Holds(id uint32) bool { return sl.timer.Used && sl.timer.Mark == uint16(id>>16) }

// Unsent is the place of a request in the stream of bytes that no part of was appended.
const Unsent = ^uint64(0)

// Init makes the table ready.
func (t *Table[C, S]) Init(owner Owner) { t.deadlines.owner = owner }

// Slot is slot n, or nil if it was never used.
func (t *Table[C, S]) Slot(n uint32) *Slot[C] { return t.slots.At(n) }

// Open is how many slots are taken.
func (t *Table[C, S]) Open() int { return t.open }

// Take finds a slot for a call with a deadline, 0 for none. It returns nil when as many are taken as the peer takes calls, which
// is most. The call is put into it once its request has been appended: until then no answer can end it.
func (t *Table[C, S]) Take(deadline int64, most uint32) (id uint32, sl *Slot[C]) {
	var n uint32
	if k := len(t.free); k > 0 {
		n = t.free[k-1]
		t.free = t.free[:k-1]
	} else if t.made < most {
		n = t.made
		t.made++
	} else {
		return 0, nil
	}
	sl = t.slots.Need(n)
	sl.timer.Mark++
	sl.timer.Used = true
	sl.timer.Due = deadline
	t.open++
	return wire.ID(n, sl.timer.Mark), sl
}

// Release frees the slot of a call that has ended. It reports whether there was such a call, and where its request began.
func (t *Table[C, S]) Release(id uint32) (at uint64, ok bool) {
	sl := t.held(id)
	if sl == nil {
		return Unsent, false
	}
	sl.timer.Used = false
	sl.timer.Due = 0
	n := wire.Slot(id)
	if streams := t.streams.Load(); streams != nil {
		if st := streams.At(n); st != nil && st.Load() != nil {
			st.Store(nil)
		}
	}
	t.open--
	if t.most == 0 || n < t.most {
		if t.free == nil {
			t.free = t.few[:0]
		}
		t.free = append(t.free, n)
	}
	return sl.At, true
}

// held is the slot of a call that has one, or nil.
func (t *Table[C, S]) held(id uint32) *Slot[C] {
	if sl := t.slots.At(wire.Slot(id)); sl != nil && sl.Holds(id) {
		return sl
	}
	return nil
}

// Holds reports whether a call has its slot.
func (t *Table[C, S]) Holds(id uint32) bool { return t.held(id) != nil }

// Mark notes where a large request begins in the stream of bytes.
func (t *Table[C, S]) Mark(id uint32, at uint64) {
	if sl := t.held(id); sl != nil {
		sl.At = at
	}
}

// Limit takes the slots beyond the peer's limit out of use: calls may have been opened before it was known.
func (t *Table[C, S]) Limit(most uint32) {
	if t.made <= most {
		return
	}
	t.most = max(most, 1)
	t.free = slices.DeleteFunc(t.free, func(n uint32) bool { return n >= most })
}

// Begin notes the stream of a call that is one.
func (t *Table[C, S]) Begin(id uint32, st *S) {
	streams := t.streams.Load()
	if streams == nil {
		streams = new(slots.Table[atomic.Pointer[S]])
		t.streams.Store(streams)
	}
	streams.Need(wire.Slot(id)).Store(st)
}

// Stream is the stream of the call that has a slot, or nil.
func (t *Table[C, S]) Stream(n uint32) *S {
	if streams := t.streams.Load(); streams != nil {
		if st := streams.At(n); st != nil {
			return st.Load()
		}
	}
	return nil
}

// Streams calls f with every stream.
func (t *Table[C, S]) Streams(f func(*S)) {
	if streams := t.streams.Load(); streams != nil {
		for st := range streams.All {
			if st := st.Load(); st != nil {
				f(st)
			}
		}
	}
}

// End takes every call out of its slot, with the place where its request begins, and stops the timer. The slots stay taken.
func (t *Table[C, S]) End(f func(c *C, at uint64)) {
	t.deadlines.stop()
	for n := range t.made {
		sl := t.slots.At(n)
		if !sl.timer.Used {
			continue
		}
		if c := sl.Call.Swap(nil); c != nil {
			f(c, sl.At)
		}
	}
}
