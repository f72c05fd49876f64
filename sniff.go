package weft

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/wire"
)

// firstRead is how much of a connection is read to find out its wire: usually all that
// the peer sends first, so that a session need not read again.
const firstRead = 512

// sniff reads the first bytes of a connection until they tell its wire: weft's own,
// which is told by its first byte, or that of a door. The connection has a deadline, and
// the prefix lies in buf.
func (s *Server) sniff(conn net.Conn, buf []byte) (prefix []byte, door Door, err error) {
	have := 0
	for {
		n, err := conn.Read(buf[have:])
		have += n
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
			s.cfg.Logger.Error("Match of a door panicked", "door", d.Name(), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			yes, more = false, false
		}
	}()
	return d.Match(prefix)
}

// strangerError is the error of a connection that no door recognizes.
type strangerError struct{ prefix []byte }

func (e *strangerError) Error() string {
	what, door := looksLike(e.prefix)
	if door != "" {
		return fmt.Sprintf("the connection looks like %s: the server has no door for it; add %s to ServerConfig.Doors", what, door)
	}
	return "the connection looks like " + what
}

// looksLike names the protocol that begins with these bytes, for people, and the package
// of its door if there is one.
func looksLike(b []byte) (what, door string) {
	begins := func(s string) bool { return bytes.HasPrefix(b, []byte(s)) }
	switch {
	case begins("PRI * HTTP/2"):
		return "HTTP/2 or gRPC", ""
	case begins("CONNECT /_goRPC_"):
		return "net/rpc over HTTP", ""
	case begins("GET "), begins("POST "), begins("PUT "), begins("HEAD "), begins("PATCH "), begins("DELETE "), begins("OPTIONS "), begins("CONNECT "):
		return "HTTP/1", ""
	case begins("PROXY "), begins("\r\n\r\n\x00\r\nQUIT\n"):
		return "the PROXY protocol of a load balancer, which this server does not read", ""
	case len(b) > 1 && b[0] == 0x16 && b[1] == 3:
		return "TLS, and this listener is plaintext; set ServerConfig.TLS", ""
	case begins("SSH-"):
		return "SSH", ""
	case len(b) > 4 && bytes.Contains(b[:min(len(b), 32)], []byte("Request")) && (b[0] < 0x80 || b[0] > 0xf7):
		return "gob of net/rpc", "door/netrpc"
	case b[0] == '{' || b[0] == '[':
		return "JSON, perhaps JSON-RPC", ""
	case len(b) > 1 && (b[0] == 0x80 && b[1] == 1 || b[0] == 0x82):
		return "Thrift without frames", ""
	case len(b) > 5 && b[0] == 0 && (b[4] == 0x80 && b[5] == 1 || b[4] == 0x82):
		return "Thrift with frames", ""
	case begins("\xda\xbb"):
		return "Dubbo", ""
	case begins("\xf1\xf1"):
		return "Motan", ""
	case b[0] == 8:
		return "rpcx", ""
	}
	return fmt.Sprintf("no protocol that is known here: it began with %q", b[:min(len(b), 16)]), ""
}

// occasionally allows one event a second, so that unknown peers cannot flood a log.
type occasionally struct {
	next    atomic.Int64 // on the clock of session.Nanos
	skipped atomic.Int64
}

// now reports whether it is time, and how many were skipped since.
func (o *occasionally) now() (skipped int64, ok bool) {
	at, next := session.Nanos(), o.next.Load()
	if at < next || !o.next.CompareAndSwap(next, at+int64(time.Second)) {
		o.skipped.Add(1)
		return 0, false
	}
	return o.skipped.Swap(0), true
}
