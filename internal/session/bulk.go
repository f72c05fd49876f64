package session

import (
	"fmt"

	"github.com/weftrpc/weft/internal/wire"
)

// A message that does not fit one frame is written in chunks, a few of each
// large message at a time, between everything else that is waiting: so that a
// small call never waits for more than a bounded piece of a large one.

// bulk is a large message on its way out. It owns its bytes.
type bulk struct {
	head  wire.Header // of the first frame, without FlagMore
	bytes []byte      // metadata and body
	off   int         // how much of bytes has been appended
}

// perRound is how many bytes of large messages go into one write.
const perRound = 64 << 10

// addBulk queues a large message. It is called with the lock held.
func (w *writer) addBulk(h wire.Header, message []byte) {
	w.bulk = append(w.bulk, &bulk{head: h, bytes: message})
	w.bulkSize += len(message)
}

// dropBulk forgets what is left of a large message of a call, and tells whether
// there was one and whether a part of it has been appended.
func (w *writer) dropBulk(id uint32, answer wire.Flags) (found, begun bool) {
	for i, b := range w.bulk {
		if b.head.ID == id && b.head.Flags&wire.FlagAnswer == answer {
			w.bulk = append(w.bulk[:i], w.bulk[i+1:]...)
			w.bulkSize -= len(b.bytes) - b.off
			return true, b.off > 0
		}
	}
	return false, false
}

// hasBulk reports whether a large message of a call is still on its way out.
func (w *writer) hasBulk(id uint32, answer wire.Flags) bool {
	for _, b := range w.bulk {
		if b.head.ID == id && b.head.Flags&wire.FlagAnswer == answer {
			return true
		}
	}
	return false
}

// takeBulk appends the next chunks, one of each message in turn.
func (w *writer) takeBulk(sum bool, out *outgoing) {
	budget := perRound
	for len(w.bulk) > 0 && budget > 0 {
		b := w.bulk[0]
		w.bulk = w.bulk[1:]
		if b.off == 0 && b.head.Flags&wire.FlagAnswer == 0 {
			out.mark(b.head.ID, w.position())
		}
		budget -= w.chunk(b, sum)
		if b.off < len(b.bytes) {
			w.bulk = append(w.bulk, b)
		}
	}
	if len(w.bulk) == 0 {
		w.bulk = nil
	}
}

func (w *writer) chunk(b *bulk, sum bool) int {
	h := b.head
	if b.off > 0 {
		h = wire.Header{Type: wire.TypeChunk, Flags: b.head.Flags & wire.FlagAnswer, ID: b.head.ID}
	}
	n := min(len(b.bytes)-b.off, wire.MaxPayload)
	if b.off+n < len(b.bytes) {
		h.Flags |= wire.FlagMore
	}
	w.frame(h, b.bytes[b.off:b.off+n], sum)
	b.off += n
	w.bulkSize -= n
	return n
}

// assembly is a large message on its way in.
type assembly struct {
	head  wire.Header // of the first frame
	bytes []byte
	skip  bool // the message was refused; the rest of it is thrown away
}

// assemblyKey tells the messages of the two sides' calls apart.
type assemblyKey struct {
	id     uint32
	answer bool
}

// maxAssembly is how many bytes of unfinished messages a session holds.
const maxAssembly = 64 << 20

// assemblies are the unfinished messages of a session. They belong to whoever reads.
type assemblies struct {
	open map[assemblyKey]*assembly
	size int
}

func keyOf(h *wire.Header) assemblyKey {
	return assemblyKey{h.ID, h.Flags&wire.FlagAnswer != 0}
}

// begin takes the first frame of a large message.
func (a *assemblies) begin(h wire.Header, payload []byte) error {
	k := keyOf(&h)
	if a.open[k] != nil {
		return fmt.Errorf("a message began on call %#x before the last one had ended", h.ID)
	}
	if a.open == nil {
		a.open = make(map[assemblyKey]*assembly)
	}
	h.Flags &^= wire.FlagMore
	a.open[k] = &assembly{head: h, bytes: append([]byte(nil), payload...)}
	a.size += len(payload)
	return nil
}

// add takes a chunk. It returns the message when the chunk was its last; tooLong
// when the message, or all unfinished ones, have grown past their limits, in
// which case the rest will be skipped.
func (a *assemblies) add(h wire.Header, payload []byte, limit int) (done *assembly, tooLong bool) {
	k := keyOf(&h)
	m := a.open[k]
	if m == nil {
		// The message was given up, here or on the other side.
		return nil, false
	}
	last := h.Flags&wire.FlagMore == 0
	if last {
		delete(a.open, k)
	}
	if m.skip {
		return nil, false
	}
	if len(m.bytes)+len(payload) > limit || a.size+len(payload) > maxAssembly {
		a.size -= len(m.bytes)
		m.skip, m.bytes = true, nil
		return m, true
	}
	m.bytes = append(m.bytes, payload...)
	a.size += len(payload)
	if !last {
		return nil, false
	}
	a.size -= len(m.bytes)
	return m, false
}

// drop forgets the unfinished message of a call and reports whether there was one.
func (a *assemblies) drop(id uint32, answer bool) bool {
	k := assemblyKey{id, answer}
	m := a.open[k]
	if m == nil {
		return false
	}
	a.size -= len(m.bytes)
	delete(a.open, k)
	return !m.skip
}
