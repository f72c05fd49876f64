//go:build !unix

package socket

import (
	"errors"
	"net"
	"os"
	"time"
)

// once is a write that waits for the peer for a short time.
type once struct{}

func (once) init(net.Conn) bool { return true }

// brief is that time.
const brief = 5 * time.Millisecond

func (once) write(conn net.Conn, p []byte, until time.Time, _ bool) (n int, err error) {
	_ = conn.SetWriteDeadline(time.Now().Add(brief)) // an error is that of the write
	n, err = conn.Write(p)
	_ = conn.SetWriteDeadline(until)
	if errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Before(until) {
		err = nil
	}
	return n, err
}
