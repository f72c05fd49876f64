package outbuf

import "github.com/weftrpc/weft/internal/backlog"

// crowd tells the backlog of a connection how its peer reads. The lock of the Writer guards it.
type crowd struct {
	backlog *backlog.Backlog
	noted   int    // bytes of memory, as counted by the account of the backlog
	seen    uint64 // how many writes had finished when the backlog was told last that the peer reads
}

// noteStep is in which steps the memory of what waits to be written, and is being written, is counted.
const noteStep = 256 << 10

// NoteReplyLocked is called when a reply was appended: it does as NoteLocked and crowds the backlog when
// more waits than the peer reads.
func (w *Writer) NoteReplyLocked() {
	if w.FullLocked() {
		w.crowd.backlog.Crowd()
	}
	w.NoteLocked()
}

// NoteLocked is called when what may be much was appended: it counts the memory that this takes.
func (w *Writer) NoteLocked() {
	if n := w.memoryLocked(); n > w.crowd.noted+noteStep {
		w.crowd.countLocked(n)
	}
}

// countLocked has the account of the backlog count n bytes of memory, of what waits to be written and is being written.
func (c *crowd) countLocked(n int) {
	c.backlog.Account.Add(int64(n - c.noted))
	c.noted = n
}

// noteReadLocked tells a crowded backlog what the peer has read. The leader calls it between two writes.
func (w *Writer) noteReadLocked() {
	if waits := w.waitsLocked() + len(w.under.rest); waits == 0 || waits < w.limit/4 {
		w.crowd.backlog.Clear()
	} else if w.progress.writes != w.crowd.seen {
		w.crowd.seen = w.progress.writes
		w.crowd.backlog.Took()
	}
}
