// Package sniff finds the wire of a connection by its first bytes.
package sniff

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/weftrpc/weft/internal/guess"
)

// most is how many bytes of a connection the doors get before one must recognize it.
const most = 64

// Doors tell whether a connection is one of their wires.
type Doors[D any] interface {
	// Doors are the doors, in the order in which they are asked.
	Doors() []D
	// Match asks a door; see weft.Door.Match.
	Match(d D, prefix []byte) (yes, more bool)
	// Heard is called when something has come from the peer.
	Heard()
}

// Read reads the first bytes of a connection into buf until they tell its wire. own reports whether that is the
// wire of which the first byte is first; otherwise it is that of the door. The prefix lies in buf.
func Read[D any](conn net.Conn, buf []byte, first byte, doors Doors[D]) (prefix []byte, door D, own bool, err error) {
	have := 0
	for {
		n, err := conn.Read(buf[have:])
		if have += n; n > 0 {
			doors.Heard()
		}
		if have > 0 && buf[0] == first {
			return buf[:have], door, true, nil
		}
		if n > 0 {
			undecided := false
			for _, d := range doors.Doors() {
				yes, more := doors.Match(d, buf[:min(have, most)])
				if yes {
					return buf[:have], d, false, nil
				}
				undecided = undecided || more
			}
			if !undecided || have >= most {
				return buf[:have], door, false, &StrangerError{bytes.Clone(buf[:have])}
			}
		}
		if err != nil {
			if have == 0 && errors.Is(err, io.EOF) {
				return nil, door, false, err
			}
			return buf[:have], door, false, fmt.Errorf("no wire was recognized in %d bytes: %w", have, err)
		}
	}
}

// StrangerError is the error of a connection that no door recognizes.
type StrangerError struct{ prefix []byte }

// Error implements error.
func (e *StrangerError) Error() string {
	what, door := guess.Protocol(e.prefix)
	if door != "" {
		return fmt.Sprintf("the connection looks like %s: the server has no door for it; add %s to ServerConfig.Doors", what, door)
	}
	return "the connection looks like " + what
}
