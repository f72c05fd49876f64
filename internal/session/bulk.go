package session

import (
	"slices"
	"time"

	"github.com/weftrpc/weft/internal/wire"
)

// A message that does not fit one frame is written in chunks, a few of each
// large message at a time, between everything else that is waiting: so that a
// small call never waits for more than a bounded piece of a large one.

// bulk is a large message that is being sent. It owns its bytes.
type bulk struct {
	head  wire.Header // of the first frame, without FlagMore
	meta  []byte      // what is left of the metadata block
	body  []byte      // what is left of the body
	buf   *buffer     // holds the body; nil for none
	bind  bindingKey  // of a request: its binding may get another meaning while it waits
	begun bool        // a frame has been appended, perhaps an empty one
	then  []*bulk     // what the same side sends on the same call behind it
}

// bulkQueue holds the large messages that are being sent, a chunk of each in turn. The
// writer's lock guards it.
type bulkQueue struct {
	list  []*bulk
	turn  int // the index of the message whose chunk comes next
	size  int // bytes that were not appended yet
	round int // bytes in one write
	quick int // how many such writes in a row were quick
}

// clear drops all messages.
func (q *bulkQueue) clear() { q.list, q.size = nil, 0 }

const (
	// leastRound and mostRound bound how many bytes of large messages go into one
	// write. A large round means fewer system calls and fewer wake-ups of the peer,
	// but frames appended meanwhile wait for it.
	leastRound = 64 << 10
	mostRound  = 240 << 10 // with frames' headers no more than largeWrite
	// Rounds grow once quickRounds in a row were written within quickRound each, more
	// than any socket takes without sending it, and shrink after one that took longer
	// than longRound.
	quickRounds = 16
	quickRound  = 500 * time.Microsecond
	longRound   = 2 * time.Millisecond
)

// fit sets the size of a round by the time that the write of the last one took: it
// is large as long as other frames hardly wait for it.
func (q *bulkQueue) fit(took time.Duration) {
	if took >= quickRound {
		q.quick = 0
	} else if q.quick++; q.quick >= quickRounds {
		q.round = min(2*q.round, mostRound)
	}
	if took > longRound {
		q.round = max(q.round/2, leastRound)
	}
}

// add queues a large message, or a small one that must not overtake a large
// one of its call.
func (q *bulkQueue) add(h wire.Header, meta string, body *buffer, bind bindingKey) {
	b := &bulk{head: h, bind: bind}
	if meta != "" {
		b.meta = appendMeta(nil, meta)
	}
	if body != nil {
		b.buf, b.body = body, body.b
	}
	q.size += b.left()
	if i := q.find(h.ID, h.Flags&wire.FlagAnswer); i >= 0 {
		q.list[i].then = append(q.list[i].then, b)
		return
	}
	// Behind the others in the turn order: new messages must not overtake old ones.
	at := min(q.turn, len(q.list))
	q.list = slices.Insert(q.list, at, b)
	q.turn = at + 1
}

// left is how many bytes have not been appended.
func (b *bulk) left() int { return len(b.meta) + len(b.body) }

// take appends the next n bytes to dst.
func (b *bulk) take(dst []byte, n int) []byte {
	m := min(n, len(b.meta))
	dst = append(dst, b.meta[:m]...)
	b.meta = b.meta[m:]
	dst = append(dst, b.body[:n-m]...)
	b.body = b.body[n-m:]
	return dst
}

// find returns the index of the large message of a call, or -1.
func (q *bulkQueue) find(id uint32, answer wire.Flags) int {
	for i, b := range q.list {
		if b.head.ID == id && b.head.Flags&wire.FlagAnswer == answer {
			return i
		}
	}
	return -1
}

// drop drops what this side still had to send on a call that it opened. It
// reports whether the call's request was among it and had not begun: then the peer
// does not know of the call.
func (q *bulkQueue) drop(id uint32) (unsent bool) {
	i := q.find(id, 0)
	if i < 0 {
		return false
	}
	b := q.list[i]
	q.list = slices.Delete(q.list, i, i+1)
	if i < q.turn {
		q.turn--
	}
	q.size -= b.left()
	for _, t := range b.then {
		q.size -= t.left()
	}
	return b.unsent()
}

// unsent reports whether this is a request that has not begun.
func (b *bulk) unsent() bool { return b.head.Type == wire.TypeRequest && !b.begun }

// dropUnsent drops all requests that have not begun, and returns their calls.
func (q *bulkQueue) dropUnsent() (ids []uint32) {
	for _, b := range q.list {
		if b.unsent() {
			ids = append(ids, b.head.ID)
		}
	}
	for _, id := range ids {
		q.drop(id)
	}
	return ids
}

// beginBulkLocked appends the first chunk of a request that was just queued, so that no later
// request begins before it. Its binding is made already.
func (w *writer) beginBulkLocked(id uint32, sum bool) {
	if i := w.large.find(id, 0); i >= 0 && w.large.list[i].unsent() {
		w.chunkLocked(w.large.list[i], sum)
	}
}

// takeBulkLocked appends the next chunks, one of each message in turn. It is called
// with the writer's lock held.
func (s *Session) takeBulkLocked() {
	w, q := &s.w, &s.w.large
	q.round = max(q.round, leastRound)
	budget := q.round
	for len(q.list) > 0 && budget > 0 {
		if q.turn >= len(q.list) {
			q.turn = 0
		}
		b := q.list[q.turn]
		if b.unsent() {
			// The names have been bound before, so that this cannot fail.
			b.head.Code, _ = s.bindLocked(b.bind.codec, b.bind.method)
			s.out.mark(b.head.ID, w.position())
		}
		budget -= w.chunkLocked(b, s.sum)
		if b.left() == 0 && b.buf != nil {
			b.buf.release()
			b.buf = nil
		}
		switch {
		case b.left() > 0:
			q.turn++
		case len(b.then) > 0:
			next := b.then[0]
			next.then = b.then[1:]
			q.list[q.turn] = next
			q.turn++
		default:
			q.list = slices.Delete(q.list, q.turn, q.turn+1)
		}
	}
	if len(q.list) == 0 {
		q.list = nil
	}
}

func (w *writer) chunkLocked(b *bulk, sum bool) int {
	h := b.head
	if b.begun {
		h = wire.Header{Type: wire.TypeChunk, Flags: b.head.Flags & wire.FlagAnswer, ID: b.head.ID}
	}
	b.begun = true
	n := min(b.left(), wire.MaxPayload)
	at := w.begin()
	w.buf = b.take(w.buf, n)
	if b.left() > 0 {
		h.Flags |= wire.FlagMore
	}
	w.end(at, h, sum)
	w.large.size -= n
	return n
}
