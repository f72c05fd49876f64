package outbuf

import "github.com/weftrpc/weft/internal/backlog"

// crowd tells the backlog of a connection how its peer reads. The lock of the Writer guards it.
type crowd struct {
	backlog *backlog.Backlog
	noted   int    // bytes that wait to be written, as counted by the account of the backlog
	seen    uint64 // how many writes had finished when the backlog was told last that the peer reads
}

// noteStep is in which steps the replies that wait to be written are counted.
const noteStep = 256 << 10

// NoteReplyLocked is called when a reply was appended: it counts what waits to be written and crowds the
// backlog when that is more than the peer reads.
func (w *Writer) NoteReplyLocked() {
	if w.FullLocked() {
		w.crowd.backlog.Crowd()
	}
	if w.waitsLocked() > w.crowd.noted+noteStep {
		w.countLocked()
	}
}

// countLocked has the account of the backlog count what waits to be written.
func (w *Writer) countLocked() {
	waits := w.waitsLocked()
	w.crowd.backlog.Account.Add(int64(waits - w.crowd.noted))
	w.crowd.noted = waits
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
