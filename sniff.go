package weft

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/weftrpc/weft/internal/guess"
	"github.com/weftrpc/weft/internal/pending"
	"github.com/weftrpc/weft/internal/wire"
)

// firstRead is how much of a connection is read to find out its wire: usually all that
// the peer sends first, so that a session need not read again.
const firstRead = 512

// sniff reads the first bytes of a connection until they tell its wire: weft's own,
// which is told by its first byte, or that of a door. The prefix lies in buf.
func (s *Server) sniff(conn net.Conn, buf []byte, from *newcomer) (prefix []byte, door Door, err error) {
	have := 0
	for {
		n, err := conn.Read(buf[have:])
		if have += n; n > 0 {
			from.Set(pending.Speaking)
		}
		if have > 0 && buf[0] == wire.Preface[0] {
			return buf[:have], nil, nil
		}
		if n > 0 {
			undecided := false
			for _, d := range s.cfg.Doors {
				yes, more := s.match(d, buf[:min(have, maxSniff)])
				if yes {
					return buf[:have], d, nil
				}
				undecided = undecided || more
			}
			if !undecided || have >= maxSniff {
				return buf[:have], nil, &strangerError{bytes.Clone(buf[:have])}
			}
		}
		if err != nil {
			if have == 0 && errors.Is(err, io.EOF) {
				return nil, nil, err
			}
			return buf[:have], nil, fmt.Errorf("no wire was recognized in %d bytes: %w", have, err)
		}
	}
}

// match asks a door. A panic in Match, which a hostile peer may be able to cause, ends only the
// connection.
func (s *Server) match(d Door, prefix []byte) (yes, more bool) {
	defer func() {
		if p := recover(); p != nil {
			s.host.fence.Panicked("function", "Match of door "+d.Name(), nil, p)
			yes, more = false, false
		}
	}()
	return d.Match(prefix)
}

// strangerError is the error of a connection that no door recognizes.
type strangerError struct{ prefix []byte }

func (e *strangerError) Error() string {
	what, door := guess.Protocol(e.prefix)
	if door != "" {
		return fmt.Sprintf("the connection looks like %s: the server has no door for it; add %s to ServerConfig.Doors", what, door)
	}
	return "the connection looks like " + what
}
