package session

import (
	"time"

	"github.com/weftrpc/weft/internal/inbuf"
	"github.com/weftrpc/weft/internal/yield"
)

// share has a reader that never waits for bytes let the other goroutines run: without it one connection that always has some holds its
// processor. A reader that reads little at a time waits by itself, and is not measured.
type share struct {
	yield.Share
	measured bool // what was read last was much
}

// yieldEvery is how many frames are handled between two looks at the clock, if at all.
const yieldEvery = 64

// cancelWork is about what a call costs that is cancelled, beside the reader: a worker begins and ends it, and answers.
const cancelWork = 2 * time.Microsecond

func clock() time.Duration { return time.Duration(now()) }

// before is called before the reader reads.
func (sh *share) before(rd *reader) {
	if e := rd.s.cfg.Exec; sh.measured && sh.Due(clock()) {
		sh.Pause(&e.pauses, clock, e.Go)
	}
}

// after is called when n bytes were read; rd.at is the time.
func (sh *share) after(rd *reader, n int) {
	if sh.measured {
		// Copying them is work.
		sh.Waited(&rd.s.cfg.Exec.pauses, time.Duration(rd.at), time.Duration(n/4))
	}
	if much := n > inbuf.SmallRead/2; much != sh.measured {
		sh.measured = much
		sh.Begin(time.Duration(rd.at))
		if !much {
			sh.End(&rd.s.cfg.Exec.pauses)
		}
	}
	if !sh.measured {
		rd.s.cfg.Exec.pauses.Ran()
	}
}

// between is called between two frames. It returns false when another reader goes on, or the session has ended: of what its peer has sent
// nothing is handled any more.
func (sh *share) between(rd *reader) bool {
	if !sh.measured || !sh.Due(clock()) {
		return true
	}
	if !rd.endBatch() {
		return false
	}
	e := rd.s.cfg.Exec
	sh.Due(clock()) // accounts for the write
	sh.Pause(&e.pauses, clock, e.Go)
	return rd.s.failed.Load() == nil
}
