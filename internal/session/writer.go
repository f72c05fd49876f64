package session

import (
	"context"
	"time"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/internal/backlog"
	"github.com/weftrpc/weft/internal/bulk"
	"github.com/weftrpc/weft/internal/outbuf"
	"github.com/weftrpc/weft/internal/wire"
)

// writer is the sending side of a session: the writer of package outbuf, and how messages become its frames within what the peer
// takes. Its lock is the one that functions named …Locked need; besides the bytes it guards the table of the calls that this
// side has open (outgoing), and which calls of the peer were answered.
type writer struct {
	outbuf.Writer
	peer    *peer
	limits  *Limits          // of this side
	backlog *backlog.Backlog // of replies that wait for the peer to read
}

// putLocked appends the message as a frame, or queues it as a large one. It is called
// with the writer's lock held. After an error nothing has been appended.
func (w *writer) putLocked(h wire.Header, m *message) *wire.Status {
	behind := w.Large.Has(h.ID, h.Flags&wire.FlagAnswer)
	if m.sizer != nil && behind {
		b, err := appendSized(m.sizer, make([]byte, 0, m.size), m.value, m.size)
		if err != nil || len(b) != m.size {
			return sizedStatus(m.value, err, len(b), m.size)
		}
		m.sizer, m.bytes = nil, b
	}
	if m.sizer != nil {
		return w.putSizedLocked(h, m.meta, m.sizer, m.value, m.size)
	}
	h.Flags |= m.flags
	if m.meta != "" {
		h.Flags |= wire.FlagMeta
	}
	if m.length() > wire.MaxPayload || behind {
		m.own()
		w.Large.Add(&bulk.Message{Head: h, Meta: appendMeta(nil, m.meta), Buf: m.buf, Codec: m.bind.Codec, Method: m.bind.Method})
		m.buf = nil // the queue owns the bytes now
		return nil
	}
	w.FinishLocked(append(appendMeta(w.StartLocked(), m.meta), m.bytes...), h)
	return nil
}

// putSizedLocked encodes v, which has size bytes, straight into the writer's buffer.
func (w *writer) putSizedLocked(h wire.Header, meta string, z codec.Sizer, v any, size int) *wire.Status {
	b := w.StartLocked()
	if meta != "" {
		h.Flags |= wire.FlagMeta
		b = appendMeta(b, meta)
	}
	from := len(b)
	b, err := appendSized(z, b, v, size)
	if err != nil || len(b)-from != size {
		return sizedStatus(v, err, len(b)-from, size)
	}
	w.FinishLocked(b, h)
	return nil
}

// putErrorLocked appends an ERROR. It is called with the writer's lock held.
func (w *writer) putErrorLocked(id uint32, st *wire.Status, meta string) {
	h := wire.Header{Type: wire.TypeError, Flags: wire.FlagAnswer, Code: uint16(st.Code), ID: id}
	if st.Outcome == wire.Refused || st.Outcome == wire.NotSent {
		h.Flags |= wire.FlagRefused
	}
	m := message{bytes: wire.AppendStatus(nil, st)}
	if len(meta) <= int(w.peer.takes().MaxMetadata) {
		m.meta = meta // else the error is sent without it
	}
	m.size = len(m.bytes)
	w.putLocked(h, &m)
}

// roomUntilLocked waits for room in the writer's buffer until the deadline or the
// end of ctx. It is called with the lock held and keeps it, unless it returns a
// status.
func (w *writer) roomUntilLocked(ctx context.Context, deadline int64) *wire.Status {
	var due time.Time
	if deadline != 0 {
		due = time.Now().Add(time.Duration(deadline - now()))
	}
	err := w.AwaitRoomLocked(ctx, due)
	if err == nil {
		return nil
	}
	w.Unlock()
	st := &wire.Status{Code: wire.DeadlineExceeded, Message: "deadline exceeded while the connection's write buffer was full (Limits.WriteBuffer)"}
	if err != outbuf.ErrLate {
		st = fromContext(ctx)
	}
	st.Outcome = wire.NotSent
	return st
}

// awaitTurn waits for room in the writer's buffer, in the turn of a reply.
func (w *writer) awaitTurn(m *message) *wire.Status {
	if st := m.takeTurn(w.backlog, int64(m.length())); st != nil {
		return st
	}
	w.AwaitRoom()
	return nil
}
