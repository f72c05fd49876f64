// Package delivered tells whether what was sent on a connection has arrived, and ends a connection so that it does.
package delivered

import (
	"errors"
	"net"
	"os"
	"time"
)

// Await waits until the peer's system has acknowledged all that was sent on a connection whose sending direction was
// closed, or the connection has ended. It looks each time that nothing has come for the time quiet or much has, and drops what
// comes, with the pauses of HangUp.
func Await(conn net.Conn, quiet time.Duration) {
	var d dropper
	for !Whole(conn) {
		conn.SetReadDeadline(time.Now().Add(quiet))
		if err := d.drop(conn); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}

const (
	// atOnce is how many bytes a dropper reads between two pauses, each of the length pause: 6 MiB in a tenth of a second, more
	// than sockets hold by default.
	atOnce = 64 << 10
	pause  = time.Millisecond
)

// dropper reads what a peer sends, and drops it. A peer that goes on sending is read with pauses: a goroutine that always finds bytes
// would keep its processor.
type dropper struct {
	scrap [4 << 10]byte
	read  int // since the last pause
}

// drop reads until a pause, or returns the error that ended reading.
func (d *dropper) drop(conn net.Conn) error {
	for d.read < atOnce {
		n, err := conn.Read(d.scrap[:])
		if err != nil {
			return err
		}
		d.read += n
	}
	d.read = 0
	time.Sleep(pause)
	return nil
}
