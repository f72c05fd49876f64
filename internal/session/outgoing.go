package session

import (
	"fmt"
	"sync/atomic"

	"github.com/weftrpc/weft/internal/bindings"
	"github.com/weftrpc/weft/internal/calls"
	"github.com/weftrpc/weft/internal/drain"
	"github.com/weftrpc/weft/internal/wire"
)

// outgoing are the calls that this side has open, and whether it may open more. The writer's lock guards all of it but load,
// as package calls says: a caller holds it anyway. A call is taken out of its slot by the reader, a caller that gives up, the
// timer, or the end of the session; that goroutine completes it, without the lock.
type outgoing struct {
	calls.Table[Call, Stream]
	bindings bindings.Table
	goneAway bool // no more calls may be opened: one of the sides drains
	barred   bool // the same, or no call may be opened yet

	load   atomic.Int32 // about Open, for those that do not hold the lock
	cfg    *Config
	w      *writer
	drain  *drain.State                 // told when no call is open any more
	failed *atomic.Pointer[wire.Status] // why the session ended
}

// slot is the place of a call.
type slot = calls.Slot[Call]

// callsOwner is a session as its table of calls sees it.
type callsOwner Session

func (*callsOwner) Now() int64 { return now() }

func (o *callsOwner) Expire() {
	if o.out.expire() {
		o.direct.poke()
	}
}

// bindLocked returns the number for a method and a codec, and appends a BIND when the
// peer does not know it. It is called with the writer's lock held.
func (o *outgoing) bindLocked(codec, method string) (uint16, *wire.Status) {
	if n, ok := o.bindings.Last(codec, method); ok {
		return n, nil
	}
	return o.bindNewLocked(codec, method)
}

//go:noinline
func (o *outgoing) bindNewLocked(codec, method string) (uint16, *wire.Status) {
	k := bindings.Key{Codec: codec, Method: method}
	n, ok := o.bindings.Find(k)
	if !ok {
		peer := o.w.peer.takes()
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
		o.w.FinishLocked(wire.AppendBind(o.w.StartLocked(), codec, method), wire.Header{Type: wire.TypeBind, Code: n})
	}
	return n, nil
}

// mayOpenLocked returns why no call can be opened now; nil when one can.
func (o *outgoing) mayOpenLocked() *wire.Status {
	if o.w.ClosedLocked() {
		st := wire.Status{Code: wire.Unavailable, Message: "connection closed"}
		if why := o.failed.Load(); why != nil {
			st = *why
		}
		st.Outcome = wire.NotSent
		return &st
	}
	if o.goneAway {
		return &wire.Status{Code: wire.Unavailable, Outcome: wire.NotSent, Reason: wire.ReasonDraining,
			Message: "one of the sides is shutting down: there are no more calls on this connection"}
	}
	return nil
}

// barLocked lets no more calls be opened.
func (o *outgoing) barLocked() { o.goneAway, o.barred = true, true }

// expire ends the calls whose deadline has passed. It reports whether there were some.
func (o *outgoing) expire() bool {
	w := o.w
	w.Lock()
	var few [64]*Call
	late := few[:0]
	o.Expire(w.ClosedLocked(), func(c *Call) {
		late = append(late, c)
		o.cancelLocked(c.id, wire.DeadlineExceeded)
	})
	if len(late) > 0 {
		w.RelieveLocked()
	}
	w.FlushElsewhereAndUnlock()
	for _, c := range late {
		c.Status = &wire.Status{Code: wire.DeadlineExceeded, Message: "deadline exceeded before the reply came"}
		o.complete(c)
	}
	return len(late) > 0
}

// cancelLocked tells the peer that a call was given up. It is called
// with the writer's lock held.
func (o *outgoing) cancelLocked(id uint32, code wire.Code) {
	if o.w.Large.Drop(id) {
		// The peer does not know of the call and will not end it.
		o.Release(id)
		if o.Open() == 0 {
			o.drain.Wake()
		}
		return
	}
	o.w.FrameLocked(wire.Header{Type: wire.TypeCancel, Code: uint16(code), ID: id}, nil)
}

// givenUp reports whether a call without a caller is open. It returns the call if it was opened at that moment.
//
//go:noinline
func (o *outgoing) givenUp(id uint32, sl *slot) (c *Call, open bool) {
	o.w.Lock()
	defer o.w.Unlock()
	return sl.Call.Swap(nil), o.Holds(id)
}

// free gives the slots of calls back whose final frames have come. It returns how many calls are still open.
func (o *outgoing) free(ids []uint32) (open int, err error) {
	w := o.w
	w.Lock()
	for _, id := range ids {
		if !w.Large.Empty() {
			w.Large.Drop(id) // what this side still had to send is of no use any more
		}
		at, held := o.Release(id)
		if at != calls.Unsent {
			w.PeerReadLocked(at) // what came before the request
		}
		if !held {
			err = fmt.Errorf("answer to call %#x, which is not open", id)
		}
	}
	open = o.Open()
	o.load.Store(int32(open))
	w.Unlock()
	if open == 0 {
		o.drain.Wake()
	}
	return open, err
}

// withdrawLocked takes back the large requests of which nothing was sent: after the ack
// of a GOAWAY none may begin. It is called with the writer's lock held, and returns
// the calls to be completed.
func (o *outgoing) withdrawLocked() (calls []*Call) {
	for _, id := range o.w.Large.DropUnsent() {
		if c := o.Slot(wire.Slot(id)).Call.Swap(nil); c != nil {
			calls = append(calls, c)
		}
		o.Release(id)
	}
	if o.Open() == 0 {
		o.drain.Wake()
	}
	return calls
}

// abort completes every open call when the session has ended: those whose bytes
// never were handed to the connection as not sent, the others as unknown, unless st says
// that the peer has read none.
func (o *outgoing) abort(st *wire.Status) {
	w := o.w
	w.Lock()
	sent := w.CloseLocked()
	var ended []*Call
	o.End(func(c *Call, at uint64) {
		failed := *st
		if at >= sent {
			failed.Outcome = wire.NotSent
		} else if st.Outcome != wire.NotSent {
			failed.Outcome = wire.OutcomeUnknown
		}
		c.Status = &failed
		ended = append(ended, c)
	})
	w.Unlock()
	for _, c := range ended {
		o.complete(c)
	}
}
