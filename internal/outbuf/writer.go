// Package outbuf combines the frames of many goroutines into few writes on one connection.
//
// Each goroutine appends its frames to one buffer under the lock of the Writer; the first to do
// so becomes the leader, which writes. When others are likely to append the leader first
// yields once, so that every goroutine that is ready to run can append as well, then swaps the
// two buffers, writes outside the lock, and goes on until the buffer is empty. A goroutine that
// is likely to append more at once leaves the writing to a worker (FlushBehindAndUnlock). No
// goroutine waits for a timer. The idea is known from group commit and from the writers of gRPC and gorpc,
// which also yield before a flush.
//
// Names tell the lock discipline. A function whose name ends in Locked is called with the lock
// held and returns with it held. One that ends in AndUnlock is called with the lock held and
// releases it. All others are called without it. The lock is never held during a write.
package outbuf

import (
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/weftrpc/weft/internal/backlog"
	"github.com/weftrpc/weft/internal/bulk"
	"github.com/weftrpc/weft/internal/wire"
)

// Owner is the session that a Writer belongs to. None of its methods is called for a frame, but for a
// write at most.
type Owner interface {
	// OpenLocked is how many calls are open: more than one means that others may append soon.
	OpenLocked() int
	// BindLocked sets Head.Code of a large request whose first frame is appended next. It may
	// append frames.
	BindLocked(m *bulk.Message)
	// WriteFailed ends the session. err is why a write has failed, nil if none has; ended is
	// the status of ReadEnded during that write, nil if there was none.
	WriteFailed(err error, ended *wire.Status)
	// Go runs f on a worker.
	Go(f func())
}

// Writer is the sending side of a connection. Its lock guards all of it, and what its owner wants to
// change together with the stream of bytes. Init makes it ready; it must not be copied then.
type Writer struct {
	sync.Mutex
	pending
	leader
	closed   bool
	refusing bool // WriteLast is about to end the session, for its reason

	room     room
	conn     net.Conn
	owner    Owner
	under    underway
	progress progress
	crowd    crowd
	resumes  bool // an interrupted write can be gone on with
}

// underway is the write that the leader makes.
type underway struct {
	now      bool
	ended    *wire.Status // why reading has ended meanwhile
	rest     []byte       // what is left of a write that was interrupted
	relieved bool         // it was interrupted for a goroutine of its own to go on
}

const (
	// eager is a batch large enough to be written without waiting for more: past
	// it a larger write saves nothing and falls out of the processor's cache.
	eager = 64 << 10
	// meager is a batch small enough to yield for between two writes.
	meager = 8 << 10
	// maxRounds is how many writes a caller makes for others before a goroutine
	// takes over.
	maxRounds = 4
)

// Goodbye is how long the last write on a connection may take, and how long the end of a
// session waits for a write or read that is likely to tell its reason.
const Goodbye = 100 * time.Millisecond

// Init makes the Writer ready to write to conn. Goroutines wait for room while limit bytes wait to be
// written. The backlog is told when its peer reads more slowly than replies are made; its
// account counts them.
func (w *Writer) Init(conn net.Conn, owner Owner, limit int, b *backlog.Backlog) {
	w.conn, w.owner, w.resumes = conn, owner, resumable(conn)
	w.limit, w.room.L, w.crowd.backlog = limit, &w.Mutex, b
}

// ClosedLocked reports whether Close was called. What is appended later is never written.
func (w *Writer) ClosedLocked() bool { return w.closed }

// RestingLocked reports whether nothing waits to be written and no goroutine writes.
func (w *Writer) RestingLocked() bool {
	return w.mode == idle && len(w.buf) == 0 && w.Large.Empty()
}

// FlushableLocked reports whether something waits to be written and no goroutine is writing.
func (w *Writer) FlushableLocked() bool {
	return w.mode != writing && (len(w.buf) > 0 || !w.Large.Empty())
}

// Flush has what was appended written by this goroutine, unless another one is about to.
func (w *Writer) Flush() {
	w.Lock()
	w.FlushAndUnlock(false)
}

// FlushAndUnlock has the appended frames written. patient means that other goroutines may
// append soon.
func (w *Writer) FlushAndUnlock(patient bool) { w.leadAndUnlock(patient, false) }

// FlushCallAndUnlock is FlushAndUnlock for a caller, or a sender or receiver of a stream, which must not be held up beyond
// its deadline or the end of its context. A caller has opened its call at a time; 0: there is none. See ClockLocked.
func (w *Writer) FlushCallAndUnlock(patient bool, at int64) {
	if w.mode == idle {
		w.clock = at
	}
	w.leadAndUnlock(patient, !w.resumes)
}

// leadAndUnlock is FlushAndUnlock. cautious means that the caller must not be held up in a write.
func (w *Writer) leadAndUnlock(patient, cautious bool) {
	if w.mode == writing || (w.mode == yielding && len(w.buf) < eager) || w.closed {
		w.Unlock()
		return
	}
	if patient && w.mode == idle && len(w.buf) < eager {
		turn := w.turn
		w.mode = yielding
		w.Unlock()
		runtime.Gosched()
		w.Lock()
		if w.turn != turn {
			// Another goroutine found the batch large enough and became the leader.
			w.Unlock()
			return
		}
	}
	w.leadLocked()
	w.writeAndUnlock(maxRounds, cautious)
}

// FlushElsewhereAndUnlock is FlushAndUnlock on a worker, for goroutines that must not wait
// for a write.
func (w *Writer) FlushElsewhereAndUnlock() {
	needed := w.mode == idle && !w.closed && w.FlushableLocked()
	w.Unlock()
	if needed {
		w.owner.Go(w.Flush)
	}
}
