package session

import (
	"errors"
	"net"
	"os"
	"time"
)

// The leader is held up when the connection takes nothing, and may be a caller whose
// deadline passes meanwhile. So when a deadline passes the leader is relieved: its
// write is interrupted, and a goroutine of its own goes on with the rest. Only plain sockets can do this. On others a
// caller writes itself only while the peer has so little to read that the connection takes it at once.

// unread is how many bytes a connection takes without waiting when its peer has read all before
// them: a socket has room for more.
const unread = 16 << 10

// flushCallAndUnlock is flushAndUnlock for a caller, which must not be held up beyond its deadline and has opened
// its call at a time. It is called with the lock held and releases it.
func (s *Session) flushCallAndUnlock(patient bool, at int64) {
	if s.w.mode == idle {
		s.w.lead.clock = at
	}
	s.leadAndUnlock(patient, !s.resumes)
}

// flushStreamAndUnlock is Session.flushAndUnlock for a sender or a receiver of a stream, which must not be held up beyond the end
// of its context. It is called with the lock held and releases it.
func flushStreamAndUnlock(s *Session, patient bool) { s.leadAndUnlock(patient, !s.resumes) }

// mayBlockLocked reports whether writing what waits could wait for the peer to read.
func (s *Session) mayBlockLocked() bool {
	return s.w.position()+uint64(len(s.w.rest)+s.w.large.Size())-s.out.read > unread
}

// resumable reports whether a write that a deadline has interrupted can be gone
// on with. TLS cannot, nor can a transport of messages.
func resumable(conn net.Conn) bool {
	switch conn.(type) {
	case *net.TCPConn, *net.UnixConn:
		return true
	}
	return false
}

// relieveLocked interrupts the write that is under way, unless the leader is a goroutine
// of its own. It is called with the writer's lock held.
func (s *Session) relieveLocked() {
	w := &s.w
	if w.mode != writing || w.alone || w.dead || !s.resumes {
		return
	}
	w.relieved = true
	s.conn.SetWriteDeadline(time.Unix(1, 0))
}

// handOver lets a goroutine go on with the rest of a write that was interrupted. It
// returns false when the write has failed for another reason.
func (s *Session) handOver(rest []byte, err error) bool {
	w := &s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.relieved || !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	w.relieved = false
	s.conn.SetWriteDeadline(time.Time{})
	w.rest = rest
	// It ends when it finds nothing more to write.
	go s.writeOn()
	return true
}
