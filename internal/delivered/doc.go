// Package delivered tells whether what was sent on a connection has arrived, and ends a connection so that it does.
package delivered

import (
	"errors"
	"net"
	"os"
	"time"
)

// Await waits until the peer's system has acknowledged all that was sent on a connection whose sending direction was
// closed, or the connection has ended. It looks each time that nothing has come for some time, and drops what comes.
func Await(conn net.Conn, pause time.Duration) {
	var scrap [4 << 10]byte
	for !Whole(conn) {
		conn.SetReadDeadline(time.Now().Add(pause))
		if _, err := conn.Read(scrap[:]); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}
