package http2

import (
	"iter"
	"slices"
	"sync"
)

// Stream is one stream. It is part of what its user knows of a call, which Owner refers to.
type Stream struct {
	Owner any

	// What most streams need fills a line of the processor's cache.
	id     uint32
	Reads  bool // the caller that opens it calls ReadFor
	last   bool // the end of rest ends the stream
	heard  bool // the peer has ended it
	said   bool // this side has ended it
	over   bool // it is not in the table any more
	queue  queueing
	ahead  int64  // the part of what the peer may still send that the goroutine that reads counts without the lock
	length int64  // what content-length has promised less what has come; -1: nothing
	from   uint64 // of a client's stream: how many bytes were sent before its first
	delta  int64  // what the peer gave in updates less what was sent

	left    int64         // what the peer may still send on it, beside ahead
	held    int64         // what has come and was not given back
	rest    []byte        // waits for room in the windows
	tail    func()        // appends what ends the stream behind rest; called with the lock held
	waiting chan struct{} // of a client's stream: closed when it may be opened
	sent    *sync.Cond    // rest was sent, or the stream has ended; nil until a goroutine waits for that
}

// wakeLocked has the goroutines look again that wait for what the stream has to send.
func (st *Stream) wakeLocked() {
	if st.sent != nil {
		st.sent.Broadcast()
	}
}

// ID is the number of the stream.
func (st *Stream) ID() uint32 { return st.id }

// EndedLocked reports whether both sides have ended the stream, each by its last frame: the connection refers to it no more.
func (st *Stream) EndedLocked() bool { return st.over && st.said && st.heard && st.queue == waitsNot }

// table holds the open streams. They are found by their numbers: the slot of one whose place is taken is a map.
type table struct {
	slots []*Stream
	more  map[uint32]*Stream
	open  int

	// aborted are streams that were ended by this side while the peer may have been sending.
	aborted   [64]uint32
	abortions int
}

const minSlots = 32

func (t *table) getLocked(id uint32) *Stream {
	if st := t.slots[int(id>>1)&(len(t.slots)-1)]; st != nil && st.id == id {
		return st
	}
	return t.more[id]
}

func (t *table) putLocked(st *Stream) {
	if t.open++; 2*t.open > len(t.slots) {
		old := t.slots
		t.slots = make([]*Stream, 2*len(old))
		for _, o := range old {
			if o != nil {
				t.slots[int(o.id>>1)&(len(t.slots)-1)] = o // two that differed before differ now
			}
		}
	}
	p := &t.slots[int(st.id>>1)&(len(t.slots)-1)]
	if *p == nil {
		*p = st
		return
	}
	if t.more == nil {
		t.more = make(map[uint32]*Stream)
	}
	t.more[st.id] = st
}

// takeLocked takes a stream out; false if it is out.
func (t *table) takeLocked(st *Stream) bool {
	if st.over {
		return false
	}
	st.over = true
	t.open--
	if p := &t.slots[int(st.id>>1)&(len(t.slots)-1)]; *p == st {
		*p = nil
	} else {
		delete(t.more, st.id)
	}
	if !st.heard {
		t.aborted[t.abortions%len(t.aborted)] = st.id
		t.abortions++
	}
	if t.open == 0 && len(t.slots) > 64*minSlots {
		t.slots = make([]*Stream, minSlots)
	}
	return true
}

// wasAbortedLocked reports whether frames of the stream may still come, since the peer did not know of its end.
func (t *table) wasAbortedLocked(id uint32) bool {
	for _, a := range t.aborted {
		if a == id && id != 0 {
			return true
		}
	}
	return false
}

// allLocked lists the open streams.
func (t *table) allLocked() []*Stream {
	return slices.AppendSeq(make([]*Stream, 0, t.open), t.eachLocked())
}

// eachLocked goes over the open streams, of which none is put in or taken out meanwhile.
func (t *table) eachLocked() iter.Seq[*Stream] {
	return func(yield func(*Stream) bool) {
		for _, st := range t.slots {
			if st != nil && !yield(st) {
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

// recent tells which of the newest streams the client has opened: bit k stands for the stream whose number is 2k
// below that of the newest one.
type recent uint64

// open notes that the client opens a stream behind the newest one.
func (r *recent) open(newest, id uint32) {
	if newest != 0 {
		*r <<= (id - newest) / 2
	}
	*r |= 1
}

// skipped reports whether a stream is one of the newest and was never opened.
func (r recent) skipped(newest, id uint32) bool {
	k := (newest - id) / 2
	return k < 64 && r>>k&1 == 0
}
