package delivered

import (
	"errors"
	"net"
	"os"
)

// HangUp ends this side's direction of a connection and reads what the peer has sent meanwhile, so that closing does not
// discard the last bytes before the peer has read them. The connection's deadline bounds it in time; late reports that it
// has passed.
func HangUp(conn net.Conn) (late bool) {
	c, ok := conn.(interface{ CloseWrite() error })
	if !ok || c.CloseWrite() != nil {
		return false
	}
	var d dropper
	for {
		if err := d.drop(conn); err != nil {
			return errors.Is(err, os.ErrDeadlineExceeded)
		}
	}
}
