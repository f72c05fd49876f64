package session

import (
	"sync/atomic"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/internal/backlog"
	"github.com/weftrpc/weft/internal/pace"
	"github.com/weftrpc/weft/internal/wire"
)

// Method is one method that this side serves. It is shared by all sessions.
type Method struct {
	Name      string
	Streaming bool
	// Either lets both unary calls and streams through to Serve, which refuses those
	// that do not fit: a caller that was not authenticated must not learn which do.
	Either bool
	// Serve runs a call: it decodes, calls the handler and answers r, exactly once.
	Serve func(r *Request)
	// Gate decides which calls are taken; nil: all are.
	Gate Gate
	// Apart has no call run on a reader, so that the gate is asked about each.
	Apart bool
	// Data belongs to the creator of the method.
	Data any

	gone  atomic.Bool // no longer registered
	pace  pace.Pace
	reply atomic.Int64 // about how long its replies are that workers make apart from the writer's buffer
	first backlog.First
}

// replied notes the length of a reply that a worker has made apart from the writer's buffer. A method whose replies
// differ in length counts with the long ones.
func (m *Method) replied(n int) {
	switch was := m.reply.Load(); {
	case int64(n) > was:
		m.reply.Store(int64(n))
	case int64(n) < was/2:
		m.reply.Store(was - was/16)
	}
}

// repliedFew notes a reply that was not made apart: of a method whose replies were long, which it may be no more.
func (m *Method) repliedFew() {
	if was := m.reply.Load(); was > wire.MaxPayload {
		m.reply.Store(was - was/16)
	}
}

// expects is about how many bytes of replies a call will hold; 0: few.
func (m *Method) expects() int64 {
	if n := m.reply.Load(); n > wire.MaxPayload {
		return n
	}
	return 0
}

// Remove marks a method as no longer registered: calls on bindings made before are resolved anew.
func (m *Method) Remove() { m.gone.Store(true) }

// Removed reports whether Remove was called.
func (m *Method) Removed() bool { return m.gone.Load() }

// Binding is a method and the codec that a caller wants to use with it.
type Binding struct {
	Method *Method
	Codec  codec.Codec
	Sizer  codec.Sizer // Codec, if it is one

	codec, name string // as bound, to resolve anew
	known       bool   // the rest is filled in
}

// onReader tells whether the next call runs on the reader.
func (m *Method) onReader() bool { return !m.Apart && m.pace.Tier() == pace.Inline }
