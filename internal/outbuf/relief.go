package outbuf

import (
	"errors"
	"net"
	"os"
	"time"

	"github.com/weftrpc/weft/internal/socket"
)

// The leader is held up when the connection takes nothing, and may be a caller whose
// deadline passes meanwhile. So when a deadline passes the leader is relieved: its
// write is interrupted, and a goroutine of its own goes on with the rest. Only plain sockets can do this. On others a
// caller writes itself only while the peer has so little to read that the connection takes it at once.

// unread is how many bytes a connection takes without waiting when its peer has read all before
// them: a socket has room for more.
const unread = 16 << 10

// mayBlockLocked reports whether writing what waits could wait for the peer to read.
func (w *Writer) mayBlockLocked() bool {
	return w.PositionLocked()+uint64(len(w.under.rest)+w.Large.Size())-w.read > unread
}

// resumable reports whether a write that a deadline has interrupted can be gone
// on with. TLS cannot, nor can a transport of messages.
func resumable(conn net.Conn) bool {
	switch conn.(type) {
	case *net.TCPConn, *net.UnixConn, *socket.Pulsed:
		return true
	}
	return false
}

// RelieveLocked interrupts the write that is under way, unless the leader is a goroutine
// of its own.
func (w *Writer) RelieveLocked() {
	if w.mode != writing || w.alone || w.closed || !w.resumes {
		return
	}
	w.under.relieved = true
	w.conn.SetWriteDeadline(time.Unix(1, 0))
}

// handOver lets a goroutine go on with the rest of a write that was interrupted. It
// returns false when the write has failed for another reason.
func (w *Writer) handOver(rest []byte, err error) bool {
	w.Lock()
	defer w.Unlock()
	if !w.under.relieved || !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	w.under.relieved = false
	w.conn.SetWriteDeadline(time.Time{})
	w.under.rest = rest
	// It ends when it finds nothing more to write.
	go w.writeOn()
	return true
}
