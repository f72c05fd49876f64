// Package bulk sends large messages. A message that does not fit one frame is written in chunks, a few
// of each large message at a time, between everything else that is waiting: so that a
// small call never waits for more than a bounded piece of a large one.
package bulk

import (
	"slices"
	"time"

	"github.com/weftrpc/weft/internal/buffer"
	"github.com/weftrpc/weft/internal/wire"
)

// Message is a large message that is being sent, or a small one that must not overtake a large one of
// its call. Once it is in a queue it belongs to the queue.
type Message struct {
	Head wire.Header    // of the first frame, without FlagMore
	Meta []byte         // the metadata block
	Buf  *buffer.Buffer // the body; nil for none
	// Codec and Method are those of a request: its binding may get another meaning while it waits.
	Codec, Method string

	body   []byte     // what is left of the body
	memory int        // what it counts for in Queue.Memory
	begun  bool       // a frame has been appended, perhaps an empty one
	then   []*Message // what the same side sends on the same call behind it
}

// Queue holds the large messages that are being sent, a chunk of each in turn. The zero value is ready.
//
// Its invariants: Size is the sum of what is left of all messages, and Memory that of their buffers until nothing is left; of a call and direction there is
// one message in the list, and those behind it wait for its end; a message that is in the list waits for
// one round for each of those before it, however many are added meanwhile.
type Queue struct {
	list   []*Message
	turn   int // the index of the message whose chunk comes next
	size   int // bytes that were not appended yet
	memory int // bytes that the messages take
	round  int // bytes in one write
	quick  int // how many such writes in a row were quick
}

const (
	// leastRound and mostRound bound how many bytes of large messages go into one
	// write. A large round means fewer system calls and fewer wake-ups of the peer,
	// but frames appended meanwhile wait for it.
	leastRound = 64 << 10
	mostRound  = 240 << 10 // with frames' headers no more than 256 KiB, which are written at once
	// Rounds grow once quickRounds in a row were written within quickRound each, more
	// than any socket takes without sending it, and shrink after one that took longer
	// than longRound.
	quickRounds = 16
	quickRound  = 500 * time.Microsecond
	longRound   = 2 * time.Millisecond
)

// Empty reports whether there is nothing to send.
func (q *Queue) Empty() bool { return len(q.list) == 0 }

// Len is how many messages are being sent.
func (q *Queue) Len() int { return len(q.list) }

// Size is how many bytes were not appended yet.
func (q *Queue) Size() int { return q.size }

// Memory is how many bytes of memory the messages take: all of a buffer until its last byte was appended.
func (q *Queue) Memory() int { return q.memory }

// Clear drops all messages.
func (q *Queue) Clear() { q.list, q.size, q.memory = nil, 0, 0 }

// Fit sets the size of a round by the time that the write of the last one took: it
// is large as long as other frames hardly wait for it.
func (q *Queue) Fit(took time.Duration) {
	if took >= quickRound {
		q.quick = 0
	} else if q.quick++; q.quick >= quickRounds {
		q.round = min(2*q.round, mostRound)
	}
	if took > longRound {
		q.round = max(q.round/2, leastRound)
	}
}

// Add queues a message.
func (q *Queue) Add(m *Message) {
	m.memory = cap(m.Meta)
	if m.Buf != nil {
		m.body = m.Buf.B
		m.memory += cap(m.Buf.B)
	}
	q.size += m.left()
	q.memory += m.memory
	if i := q.find(m.Head.ID, m.Head.Flags&wire.FlagAnswer); i >= 0 {
		q.list[i].then = append(q.list[i].then, m)
		return
	}
	// Behind the others in the turn order: new messages must not overtake old ones.
	at := min(q.turn, len(q.list))
	q.list = slices.Insert(q.list, at, m)
	q.turn = at + 1
}

// left is how many bytes have not been appended.
func (m *Message) left() int { return len(m.Meta) + len(m.body) }

// take appends the next n bytes to dst.
func (m *Message) take(dst []byte, n int) []byte {
	k := min(n, len(m.Meta))
	dst = append(dst, m.Meta[:k]...)
	m.Meta = m.Meta[k:]
	dst = append(dst, m.body[:n-k]...)
	m.body = m.body[n-k:]
	return dst
}

// unsent reports whether this is a request that has not begun.
func (m *Message) unsent() bool { return m.Head.Type == wire.TypeRequest && !m.begun }

// Has reports whether a message of a call is being sent. answer is FlagAnswer, or 0 for a call that
// this side has opened.
func (q *Queue) Has(id uint32, answer wire.Flags) bool { return q.find(id, answer) >= 0 }

// find returns the index of the message of a call, or -1.
func (q *Queue) find(id uint32, answer wire.Flags) int {
	for i, m := range q.list {
		if m.Head.ID == id && m.Head.Flags&wire.FlagAnswer == answer {
			return i
		}
	}
	return -1
}

// Drop drops what this side still had to send on a call that it opened. It
// reports whether the call's request was among it and had not begun: then the peer
// does not know of the call.
func (q *Queue) Drop(id uint32) (unsent bool) {
	i := q.find(id, 0)
	if i < 0 {
		return false
	}
	m := q.list[i]
	q.list = slices.Delete(q.list, i, i+1)
	if i < q.turn {
		q.turn--
	}
	for _, t := range append(m.then, m) {
		q.size -= t.left()
		q.memory -= t.memory
	}
	return m.unsent()
}

// DropUnsent drops all requests that have not begun, and returns the ids of their calls.
func (q *Queue) DropUnsent() (ids []uint32) {
	for _, m := range q.list {
		if m.unsent() {
			ids = append(ids, m.Head.ID)
		}
	}
	for _, id := range ids {
		q.Drop(id)
	}
	return ids
}

// Begin appends the first chunk of a request that was just queued to dst, so that no later
// request begins before it. Its Head.Code is its binding already. sum says that frames have checksums.
func (q *Queue) Begin(dst []byte, id uint32, sum bool) []byte {
	if i := q.find(id, 0); i >= 0 && q.list[i].unsent() {
		dst, _ = q.chunk(dst, q.list[i], sum)
	}
	return dst
}

// Take appends a round of chunks to dst, one of each message in turn. Before the first chunk of a
// request it calls bind, which sets Head.Code and may append to what it is given.
func (q *Queue) Take(dst []byte, sum bool, bind func(dst []byte, m *Message) []byte) []byte {
	q.round = max(q.round, leastRound)
	budget := q.round
	for len(q.list) > 0 && budget > 0 {
		if q.turn >= len(q.list) {
			q.turn = 0
		}
		m := q.list[q.turn]
		if m.unsent() {
			dst = bind(dst, m)
		}
		var n int
		dst, n = q.chunk(dst, m, sum)
		budget -= n
		if m.left() == 0 {
			q.memory -= m.memory
			m.memory = 0
			if m.Buf != nil {
				m.Buf.Release()
				m.Buf = nil
			}
		}
		switch {
		case m.left() > 0:
			q.turn++
		case len(m.then) > 0:
			next := m.then[0]
			next.then = m.then[1:]
			q.list[q.turn] = next
			q.turn++
		default:
			q.list = slices.Delete(q.list, q.turn, q.turn+1)
		}
	}
	if len(q.list) == 0 {
		q.list = nil
	}
	return dst
}

// chunk appends the next frame of a message, with n bytes of it.
func (q *Queue) chunk(dst []byte, m *Message, sum bool) (with []byte, n int) {
	h := m.Head
	if m.begun {
		h = wire.Header{Type: wire.TypeChunk, Flags: m.Head.Flags & wire.FlagAnswer, ID: m.Head.ID}
	}
	m.begun = true
	n = min(m.left(), wire.MaxPayload)
	at := len(dst)
	dst = append(dst, make([]byte, wire.HeaderSize)...)
	dst = m.take(dst, n)
	if m.left() > 0 {
		h.Flags |= wire.FlagMore
	}
	h.Length = uint32(n)
	wire.PutHeader(dst[at:], h)
	if sum {
		dst = wire.AppendChecksum(dst, at)
	}
	q.size -= n
	return dst, n
}
