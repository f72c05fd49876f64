package calls

import (
	"time"

	"github.com/weftrpc/weft/internal/wheel"
	"github.com/weftrpc/weft/internal/wire"
)

// Owner is the session of a Table.
type Owner interface {
	// Now is the clock of all times here, in nanoseconds. It is never 0.
	Now() int64
	// Expire is called on a goroutine of the table's timer, without the lock, when a deadline may have passed. It calls
	// Table.Expire.
	Expire()
}

// deadlines finds the calls whose deadline has passed. There is one timer for all calls; it is set anew only for a
// deadline earlier than all, so that calls with the same timeout cost nothing.
type deadlines struct {
	owner Owner
	wheel wheel.Wheel
	timer *time.Timer
	due   int64 // when the timer fires, 0 for never
}

// ring sets the timer.
func (d *deadlines) ring(at int64) {
	d.due = at
	left := time.Duration(at - d.owner.Now())
	if d.timer == nil {
		d.timer = time.AfterFunc(left, d.owner.Expire)
		return
	}
	d.timer.Reset(left)
}

func (d *deadlines) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}

// Watch has a call that was put into its slot at a time ended when its deadline has passed, if it has one.
func (t *Table[C, S]) Watch(sl *Slot[C], id uint32, at int64) {
	d, due := &t.deadlines, sl.timer.Due
	if due == 0 {
		return
	}
	d.wheel.Add(wire.Slot(id), &sl.timer, at)
	if d.due == 0 || due < d.due {
		d.ring(due)
	}
}

// Expire takes the calls whose deadline has passed out of their slots. The slots stay taken. It sets the timer for the next
// deadline, unless the calls have come to their end.
func (t *Table[C, S]) Expire(ended bool, late func(*C)) {
	d := &t.deadlines
	d.due = 0
	next := d.wheel.Expire(d.owner.Now(), func(n uint32) *wheel.Timer { return &t.slots.At(n).timer }, func(n uint32) {
		if c := t.slots.At(n).Call.Swap(nil); c != nil {
			late(c)
		}
	})
	if next != 0 && !ended {
		d.ring(next)
	}
}
