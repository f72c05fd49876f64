package http2

import (
	"context"
	"sync"

	"github.com/weftrpc/weft/door/internal/http2/internal/table"
)

// Stream is one stream. It is part of what its user knows of a call, which Owner refers to.
type Stream struct {
	Owner any

	// What most streams need fills a line of the processor's cache.
	id     uint32
	Reads  bool // the caller that opens it calls ReadFor
	Apart  bool // what it queues are messages of a stream; set before any is, see AwaitTurnLocked
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

// awaitLocked waits until the stream is woken. It has a condition of its own: a write for others does not wake all that wait for their windows.
func (st *Stream) awaitLocked(c *Conn) {
	if st.sent == nil {
		st.sent = sync.NewCond(&c.mu)
	}
	st.sent.Wait()
}

// endedLocked reports whether a goroutine that sends on the stream waits in vain.
func (st *Stream) endedLocked(c *Conn, ctx context.Context) bool {
	return c.dead || st.over || ctx.Err() != nil
}

// WaitsLocked reports whether something waits for the windows of the stream.
func (st *Stream) WaitsLocked() bool { return st.queue != waitsNot }

// ID is the number of the stream.
func (st *Stream) ID() uint32 { return st.id }

// EndedLocked reports whether both sides have ended the stream, each by its last frame: the connection refers to it no more.
func (st *Stream) EndedLocked() bool { return st.over && st.said && st.heard && st.queue == waitsNot }

// openStreams are those of a connection.
type openStreams struct {
	open    table.Table[Stream]
	aborted table.Aborted
	turns   int   // goroutines that wait for the turns of their streams
	least   int64 // the least length of messages that wait for their turns and fit the windows of their streams; 0: there are none
}

// takeLocked takes a stream out; false if it is out.
func (t *openStreams) takeLocked(st *Stream) bool {
	if st.over {
		return false
	}
	st.over = true
	t.open.Take(st.id)
	if !st.heard {
		t.aborted.Add(st.id)
	}
	return true
}
