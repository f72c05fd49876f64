package delivered

import (
	"errors"
	"net"
	"os"
	"time"
)

const (
	// atOnce is how many bytes HangUp reads between two pauses, each of the length pause: 6 MiB in a tenth of a second, more
	// than sockets hold by default.
	atOnce = 64 << 10
	pause  = time.Millisecond
)

// HangUp ends this side's direction of a connection and reads what the peer has sent meanwhile, so that closing does not
// discard the last bytes before the peer has read them. The connection's deadline bounds it in time; late reports that it
// has passed. A peer that goes on sending is read with pauses: a goroutine that always finds bytes would keep its processor.
func HangUp(conn net.Conn) (late bool) {
	c, ok := conn.(interface{ CloseWrite() error })
	if !ok || c.CloseWrite() != nil {
		return false
	}
	var scrap [4 << 10]byte
	for read := 0; ; {
		n, err := conn.Read(scrap[:])
		if err != nil {
			return errors.Is(err, os.ErrDeadlineExceeded)
		}
		if read += n; read >= atOnce {
			read = 0
			time.Sleep(pause)
		}
	}
}
