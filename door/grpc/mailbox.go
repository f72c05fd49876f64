package grpc

import (
	"context"
	"io"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress"
)

// mailbox holds the messages of a streaming call that have come and were not received.
type mailbox struct {
	side  string // whose limit it is
	limit int    // bytes of a message
	alone bool   // there is to be one message and no more
	// hold counts bytes that are held, and reports whether there may be so many.
	hold func(n int) bool
	// give tells the peer that bytes were used up; later is for the goroutine that reads.
	give func(n int, later bool)

	mu      sync.Mutex
	more    sync.Cond
	restore compress.Compressor
	buf     []byte // framed messages
	taken   int    // bytes of the messages that were taken out
	got     bool   // one was
	owed    int    // bytes of buf that the peer may not send again yet
	whole   bool   // buf begins with a whole message
	ended   bool   // no more will come
	last    error  // behind the last message; nil: io.EOF
	err     error  // at once
}

func (m *mailbox) init() { m.more.L = &m.mu }

// push takes a piece of the body, on the goroutine that reads.
func (m *mailbox) push(p []byte, end bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil || m.ended {
		return
	}
	fits := m.hold(len(p))
	m.buf = append(m.buf, p...)
	m.owed += len(p)
	m.ended = end
	m.lookLocked()
	if !fits {
		m.failLocked(weft.Errorf(weft.ResourceExhausted, "too many bytes were not received, of the streams of this connection (Limits.MaxCallBytes) or of all (the server's MaxMemory)").
			WithReason(weft.ReasonTooManyBytes))
		return
	}
	if m.err == nil && !m.whole && !end && m.owed > 0 {
		// The rest of the message must have room, however long it is.
		m.give(m.owed, true)
		m.owed = 0
	}
	m.more.Broadcast()
}

// finish ends the messages; err, if it is not nil, is received behind the last one.
func (m *mailbox) finish(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return
	}
	m.ended, m.last = true, err
	m.lookLocked()
	m.more.Broadcast()
}

// fail ends the mailbox at once.
func (m *mailbox) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failLocked(err)
}

func (m *mailbox) failLocked(err error) {
	if m.err == nil {
		m.err = err
		m.hold(-len(m.buf))
		m.buf, m.whole = nil, false
		m.more.Broadcast()
	}
}

// wake has a waiting goroutine look at its context again.
func (m *mailbox) wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.more.Broadcast()
}

// lookLocked finds out whether the first message is whole, and what is wrong with it.
func (m *mailbox) lookLocked() {
	m.whole = false
	if len(m.buf) >= prefixSize {
		n := sizeOf(m.buf)
		wrong := flagError(m.buf[0], m.restore)
		if n > m.limit {
			wrong = tooLong(n, m.side, m.limit)
		}
		if wrong != nil {
			m.ran(wrong)
			m.failLocked(wrong)
			return
		}
		m.whole = len(m.buf)-prefixSize >= n
	}
	if m.ended && m.last == nil && !m.whole && len(m.buf) > 0 {
		m.failLocked(weft.Errorf(weft.Internal, "the stream ended within a message"))
	}
}

// ran notes in the error of a reply that its call has run.
func (m *mailbox) ran(e *weft.Error) {
	if m.side == theClient {
		e.Outcome = weft.Executed
	}
}

// readyLocked reports whether next has something to return.
func (m *mailbox) readyLocked() bool {
	if m.whole {
		return !m.alone || m.ended || len(m.buf) > prefixSize+sizeOf(m.buf)
	}
	return m.ended
}

// next waits for a message and takes it out. The caller gives the bytes back by hold.
func (m *mailbox) next(ctx context.Context) (b []byte, compressed bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.err == nil && ctx.Err() == nil && !m.readyLocked() {
		m.more.Wait()
	}
	switch {
	case m.err != nil:
		return nil, false, m.err
	case ctx.Err() != nil && !m.readyLocked():
		return nil, false, weft.Errorf(weft.CodeOf(ctx.Err()), "%w", ctx.Err())
	case !m.whole && m.last != nil:
		return nil, false, m.last
	case !m.whole && m.alone && !m.got:
		return nil, false, weft.Errorf(weft.Unimplemented, "no message came for a method that takes one")
	case !m.whole:
		return nil, false, io.EOF
	}
	n := prefixSize + sizeOf(m.buf)
	if m.alone && len(m.buf) > n {
		m.failLocked(weft.Errorf(weft.Unimplemented, "more than one message came for a method that takes one"))
		return nil, false, m.err
	}
	m.got, compressed, b = true, m.buf[0] == 1, m.buf[prefixSize:n:n]
	m.taken += len(b)
	if m.buf = m.buf[n:]; len(m.buf) == 0 {
		m.buf = nil
	}
	m.lookLocked()
	give := min(n, m.owed)
	if !m.whole {
		give = m.owed // the rest of the message must have room, as in push
	}
	if give > 0 && !m.ended {
		m.owed -= give
		m.mu.Unlock()
		m.give(give, false)
		m.mu.Lock()
	}
	return b, compressed, nil
}

// bytes is how many the messages that were taken out have had, as they came.
func (m *mailbox) bytes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.taken
}

// receive waits for a message and decodes it.
func (m *mailbox) receive(ctx context.Context, decode func(b []byte) error) error {
	b, compressed, err := m.next(ctx)
	if err != nil {
		return err
	}
	defer m.hold(-(len(b) + prefixSize))
	if compressed {
		m.mu.Lock()
		z := m.restore
		m.mu.Unlock()
		if b, err = restored(z, b, m.side, m.limit); err != nil {
			if e, ok := err.(*weft.Error); ok {
				m.ran(e)
			}
			return err
		}
	}
	return decode(b)
}
