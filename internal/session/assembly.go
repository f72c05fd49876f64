package session

import (
	"github.com/weftrpc/weft/internal/buffer"
	"github.com/weftrpc/weft/internal/held"
	"github.com/weftrpc/weft/internal/streams"
	"github.com/weftrpc/weft/internal/wire"
)

// assembly is a large message that is being received.
type assembly struct {
	head   wire.Header    // of the first frame
	buf    *buffer.Buffer // what has come
	at     int64          // when the first frame came
	bind   Binding        // of a request
	queued *queued        // of an ordered one-way call
	stream *Stream        // of a message of one
	skip   bool           // it is too long, or its stream has ended: the rest of it is discarded
}

// assemblyKey tells the slots of the two sides' calls apart. A slot has one call at a time, and a call one message in each direction.
type assemblyKey struct {
	slot   uint32
	answer bool
}

const (
	maxAssembly  = 64 << 20 // bytes of memory that a session holds for unfinished messages
	assemblyCost = 256      // about what one takes besides its buffer
)

// assemblies are the unfinished messages of a session, all of calls that were open when they began. They belong to the current reader.
type assemblies struct {
	open    map[assemblyKey]*assembly
	size    int // bytes of memory that they take
	lapsed  streams.Lapsed
	account *held.Account // counts the same for the whole process; nil: nothing does
}

// grow counts n bytes of memory more, or fewer if n is below zero.
func (a *assemblies) grow(n int) {
	a.size += n
	a.account.Add(int64(n))
}

// memory is how many bytes the message takes. Many that have few bytes each take memory too.
func (m *assembly) memory() int { return assemblyCost + cap(m.buf.B) }

// dropLapsed lets go of what has come for streams that have ended.
func (a *assemblies) dropLapsed() {
	a.lapsed.Take(func(id uint32, answer bool) {
		switch m := a.find(id, answer); {
		case m == nil || m.stream == nil || !m.stream.Over():
		case answer:
			a.skip(m) // until the final frame comes the peer may send the rest of it
		default:
			a.drop(id, answer)
		}
	})
}

// find returns the unfinished message of a call, or nil.
func (a *assemblies) find(id uint32, answer bool) *assembly {
	if len(a.open) == 0 {
		return nil
	}
	if m := a.open[assemblyKey{wire.Slot(id), answer}]; m != nil && m.head.ID == id {
		return m
	}
	return nil
}

// begin takes the first frame of a large message of an open call. What is left of an ended call in the same slot is dropped.
func (a *assemblies) begin(h wire.Header, payload []byte, at int64) *assembly {
	answer := h.Flags&wire.FlagAnswer != 0
	a.drop(h.ID, answer)
	if a.open == nil {
		a.open = make(map[assemblyKey]*assembly)
	}
	h.Flags &^= wire.FlagMore
	m := &assembly{head: h, buf: buffer.TakeLarge(len(payload)).Extend(payload), at: at} // not more than there is
	a.open[assemblyKey{wire.Slot(h.ID), answer}] = m
	a.grow(m.memory())
	return m
}

// extend appends a part to a message that gets longest bytes at most, if no more than most bytes are held of all messages then.
func (a *assemblies) extend(m *assembly, p []byte, longest, most int) (ok bool) {
	was := m.memory()
	m.buf, ok = m.buf.ExtendWithin(p, longest, most-a.size)
	a.grow(m.memory() - was)
	return ok
}

// skip lets go of what has come of a message whose rest will be discarded. It is an answer: its call has its slot until all of it has come.
func (a *assemblies) skip(m *assembly) {
	a.grow(-cap(m.buf.B))
	m.skip, m.buf = true, new(buffer.Buffer)
}

// drop removes the unfinished message in a call's slot, if there is one.
func (a *assemblies) drop(id uint32, answer bool) {
	if len(a.open) == 0 {
		return
	}
	k := assemblyKey{wire.Slot(id), answer}
	if m := a.open[k]; m != nil {
		if m.stream != nil {
			m.stream.state.Finished()
		}
		a.grow(-m.memory())
		delete(a.open, k)
	}
}
