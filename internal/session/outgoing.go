package session

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/internal/bindings"
	"github.com/weftrpc/weft/internal/outbuf"
	"github.com/weftrpc/weft/internal/slots"
	"github.com/weftrpc/weft/internal/wheel"
	"github.com/weftrpc/weft/internal/wire"
)

// outgoing is the table of the calls that this side has open. A call has a slot,
// whose number is in the call's id; the slot stays taken until the peer has
// ended the call, also when its caller has given up.
//
// Everything but the two pointers of a slot is guarded by the writer's lock,
// which a caller holds anyway. Only the goroutine that swaps a call out of its slot
// completes it: the reader, a caller that gives up, the timer, or the end of the
// session.
type outgoing struct {
	slots    slots.Table[slot]
	made     uint32   // slots ever used
	free     []uint32 // slots used before and free again
	open     int      // slots taken
	bindings bindings.Table
	goneAway bool   // no more calls may be opened: one of the sides drains
	barred   bool   // the same, or no call may be opened yet
	most     uint32 // slots from here on are not used again; 0 for no such bound

	wheel wheel.Wheel // the deadlines
	timer *time.Timer
	due   int64 // when the timer fires, 0 for never
}

type slot struct {
	call   atomic.Pointer[Call]
	stream atomic.Pointer[Stream] // of a call that is one
	gen    uint16
	taken  bool
	at     uint64 // where the request begins in the byte stream
	timer  wheel.Timer
}

func (o *outgoing) slot(n uint32) *slot { return o.slots.At(n) }

// take finds a slot for c. It returns nil when all are taken. The call is put into it once
// its request has been appended: until then no answer can end it.
func (o *outgoing) take(c *Call, most uint32) *slot {
	var n uint32
	if k := len(o.free); k > 0 {
		n = o.free[k-1]
		o.free = o.free[:k-1]
	} else if o.made < most {
		n = o.made
		o.made++
	} else {
		return nil
	}
	sl := o.slots.Need(n)
	sl.gen++
	sl.taken = true
	sl.timer.Due = c.Deadline
	c.id = wire.ID(n, sl.gen)
	o.open++
	return sl
}

// answered is release for a call that the peer has answered: it has read what came before the request.
func (o *outgoing) answered(id uint32, w *outbuf.Writer) bool {
	if sl := o.slot(wire.Slot(id)); sl != nil && sl.at != ^uint64(0) {
		w.PeerReadLocked(sl.at)
	}
	return o.release(id)
}

// release frees the slot of an ended call. It reports whether there was such a call.
func (o *outgoing) release(id uint32) bool {
	if !o.holds(id) {
		return false
	}
	sl := o.slot(wire.Slot(id))
	sl.taken = false
	sl.timer.Due = 0
	if sl.stream.Load() != nil {
		sl.stream.Store(nil)
	}
	o.open--
	if n := wire.Slot(id); o.most == 0 || n < o.most {
		o.free = append(o.free, n)
	}
	return true
}

// limit takes the slots beyond the peer's limit out of use: calls may have been opened
// before it was known.
func (o *outgoing) limit(most uint32) {
	if o.made <= most {
		return
	}
	o.most = max(most, 1)
	o.free = slices.DeleteFunc(o.free, func(n uint32) bool { return n >= most })
}

// holds reports whether a call has its slot.
func (o *outgoing) holds(id uint32) bool {
	sl := o.slot(wire.Slot(id))
	return sl != nil && sl.taken && sl.gen == uint16(id>>16)
}

// mark notes where a large request begins in the byte stream.
func (o *outgoing) mark(id uint32, at uint64) {
	if sl := o.slot(wire.Slot(id)); sl != nil && sl.gen == uint16(id>>16) {
		sl.at = at
	}
}

// bindLocked returns the number for a method and a codec, and appends a BIND when the
// peer does not know it. It is called with the writer's lock held.
func (s *Session) bindLocked(codec, method string) (uint16, *wire.Status) {
	if n, ok := s.out.bindings.Last(codec, method); ok {
		return n, nil
	}
	return s.bindNewLocked(codec, method)
}

//go:noinline
func (s *Session) bindNewLocked(codec, method string) (uint16, *wire.Status) {
	o, k := &s.out, bindings.Key{Codec: codec, Method: method}
	n, ok := o.bindings.Find(k)
	if !ok {
		peer := s.peer.Load()
		if peer.MaxCalls == 0 || peer.MaxBindings == 0 {
			return 0, &wire.Status{Code: wire.Unimplemented, Outcome: wire.NotSent, Reason: wire.ReasonNoMethod,
				Message: "the peer serves no methods"}
		}
		// The peer would end the connection over such a name.
		err := wire.CheckMethod(method)
		if err == nil {
			if err = wire.CheckName(codec); err != nil {
				err = fmt.Errorf("codec has a %w", err)
			}
		}
		if err != nil {
			return 0, &wire.Status{Code: wire.InvalidArgument, Outcome: wire.NotSent, Message: err.Error()}
		}
		n = o.bindings.Bind(k, int(peer.MaxBindings))
		s.w.FinishLocked(wire.AppendBind(s.w.StartLocked(), codec, method), wire.Header{Type: wire.TypeBind, Code: n})
	}
	return n, nil
}

// watchLocked has a call with a deadline ended in time. It is called with the writer's lock
// held, at a time. There is one timer for all calls; it is set anew only for a deadline earlier
// than all, so that calls with the same timeout cost nothing.
func (s *Session) watchLocked(sl *slot, id uint32, at int64) {
	o, due := &s.out, sl.timer.Due
	if due == 0 {
		return
	}
	o.wheel.Add(wire.Slot(id), &sl.timer, at)
	if o.due == 0 || due < o.due {
		o.ringLocked(due, s.expire)
	}
}

// ringLocked sets the timer.
func (o *outgoing) ringLocked(at int64, f func()) {
	o.due = at
	d := time.Duration(at - now())
	if o.timer == nil {
		o.timer = time.AfterFunc(d, f)
		return
	}
	o.timer.Reset(d)
}

// timerOf is what the wheel knows of a slot.
func (o *outgoing) timerOf(n uint32) *wheel.Timer { return &o.slot(n).timer }

// expire ends the calls whose deadline has passed and sets the timer for the next.
func (s *Session) expire() {
	w, o := &s.w, &s.out
	w.Lock()
	var few [64]*Call
	late := few[:0]
	o.due = 0
	next := o.wheel.Expire(now(), o.timerOf, func(n uint32) {
		if c := o.slot(n).call.Swap(nil); c != nil {
			late = append(late, c)
			s.cancelFrameLocked(c.id, wire.DeadlineExceeded)
		}
	})
	if next != 0 && !w.ClosedLocked() {
		o.ringLocked(next, s.expire)
	}
	if len(late) > 0 {
		w.RelieveLocked()
	}
	w.FlushElsewhereAndUnlock()
	for _, c := range late {
		c.Status = &wire.Status{Code: wire.DeadlineExceeded, Message: "deadline exceeded before the reply came"}
		s.complete(c)
	}
	if len(late) > 0 {
		s.poke()
	}
}

// cancelFrameLocked tells the peer that a call was given up. It is called
// with the writer's lock held.
func (s *Session) cancelFrameLocked(id uint32, code wire.Code) {
	if s.w.Large.Drop(id) {
		// The peer does not know of the call and will not end it.
		s.out.release(id)
		if s.out.open == 0 {
			s.drain.Wake()
		}
		return
	}
	s.w.FrameLocked(wire.Header{Type: wire.TypeCancel, Code: uint16(code), ID: id}, nil)
}

// abort completes every open call when the session has ended: those whose bytes
// never were handed to the connection as not sent, the others as unknown, unless st says
// that the peer has read none.
func (s *Session) abort(st *wire.Status) {
	w, o := &s.w, &s.out
	w.Lock()
	sent := w.CloseLocked()
	s.keep.stopLocked()
	if o.timer != nil {
		o.timer.Stop()
	}
	var calls []*Call
	for n := range o.made {
		sl := o.slot(n)
		if !sl.taken {
			continue
		}
		if c := sl.call.Swap(nil); c != nil {
			failed := *st
			if sl.at >= sent {
				failed.Outcome = wire.NotSent
			} else if st.Outcome != wire.NotSent {
				failed.Outcome = wire.OutcomeUnknown
			}
			c.Status = &failed
			calls = append(calls, c)
		}
	}
	w.Unlock()
	for _, c := range calls {
		s.complete(c)
	}
}
