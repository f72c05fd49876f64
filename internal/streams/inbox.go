package streams

import "github.com/weftrpc/weft/internal/buffer"

// inbox holds the messages that have come and were not received yet. The lock of the State guards it.
type inbox struct {
	queue []Message
	held  int // what they cost
	taken int // what was received, or discarded, since the last credit
	bytes int // of all messages that were taken, on the wire

	spare int // bytes that the buffers of large messages have besides

	counted   int  // what is counted of held for the connection
	spared    int  // what is counted of spare
	forgotten bool // nothing is
}

const (
	// uncounted is how much of each stream is not counted for the connection, and countStep in
	// which steps the rest is: a receiver that keeps up causes no counting.
	uncounted = 4 << 10
	countStep = 16 << 10
)

// count returns by how much what is counted for the connection changes: the bytes of messages, and the memory that these take.
func (x *inbox) count() (bytes, memory int) {
	want, spare := 0, x.spare
	if x.held > uncounted && !x.forgotten {
		want = (x.held + countStep - 1) / countStep * countStep
	}
	if x.forgotten {
		spare = 0
	}
	memory = spare - x.spared
	x.spared = spare
	if want <= x.counted && want > x.counted-2*countStep && want > 0 {
		return 0, memory
	}
	bytes = want - x.counted
	x.counted = want
	return bytes, memory + bytes
}

// forget ends the counting and returns by how much what is counted changes.
func (x *inbox) forget() (bytes, memory int) {
	x.forgotten = true
	return x.count()
}

// Message is a message that has come in.
type Message struct {
	Body       []byte
	Compressed bool
	owned      bool // it was put together in buf, which may have room for more
	buf        *buffer.Buffer
}

// spare is how many bytes the buffer of a large message has besides.
func (m *Message) spare() int {
	if !m.owned {
		return 0
	}
	return cap(m.buf.B) - len(m.Body)
}

// Memory is how many bytes the message takes.
func (m *Message) Memory() int { return len(m.Body) + m.spare() }

// Release gives the memory of the body back.
func (m *Message) Release() {
	if m.buf != nil {
		m.buf.Release()
	}
}

// used is how much of its credit the peer has used.
func (x *inbox) used() int { return x.held + x.taken }

// discard counts a message that is not put.
func (x *inbox) discard(body []byte) { x.taken += len(body) + Cost }

// put adds a message. owned says that body may be kept.
func (x *inbox) put(body []byte, owned, compressed bool) {
	m := Message{Body: body, Compressed: compressed, owned: owned}
	if owned {
		m.buf = &buffer.Buffer{B: body}
		x.spare += m.spare()
	} else {
		m.buf = x.copied(body)
		m.Body = m.buf.B
	}
	x.held += len(body) + Cost
	x.bytes += len(body)
	x.queue = append(x.queue, m)
}

// copied returns a copy of body. What waits in a queue is not to hold much more memory
// than the peer had credit for, so only the first gets a buffer from the pool that is much longer.
func (x *inbox) copied(body []byte) *buffer.Buffer {
	if len(x.queue) == 0 {
		return buffer.TakeFor(len(body)).Extend(body)
	}
	b := buffer.Take()
	if cap(b.B) > 2*len(body) {
		b.Release()
		b = &buffer.Buffer{B: make([]byte, 0, len(body))}
	}
	return b.Extend(body)
}

// take removes the first message.
func (x *inbox) take() Message {
	m := x.queue[0]
	x.queue[0] = Message{}
	x.queue = x.queue[1:]
	cost := len(m.Body) + Cost
	x.held -= cost
	x.spare -= m.spare()
	x.taken += cost
	return m
}

// owed is the credit to be given back, 0 while it is less than least.
func (x *inbox) owed(least int) int {
	if x.taken < least {
		return 0
	}
	give := x.taken
	x.taken = 0
	return give
}
