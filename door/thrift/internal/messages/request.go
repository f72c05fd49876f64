// Package messages makes the requests of a client of Thrift, and reads the replies to them.
package messages

import (
	"encoding/binary"
	"strconv"
	"time"

	"github.com/weftrpc/weft/door/thrift/internal/header"
	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// Request is a call as it will be sent.
type Request struct {
	Dialect  protocol.Dialect
	Name     string
	Body     []byte    // the struct of the arguments; of the JSON protocol as protocol.AppendJSON takes it
	Pairs    []string  // of THeader
	Deadline time.Time // is told by THeader; zero: there is none
}

// Message is the whole message of the request.
func (q *Request) Message(kind protocol.Kind, seq int32) ([]byte, error) {
	plain := func(b []byte) ([]byte, error) {
		b = protocol.AppendHead(b, q.Dialect.Form, q.Name, kind, seq)
		if q.Dialect.Form == protocol.JSON {
			b, err := protocol.AppendJSON(b, q.Body)
			return append(b, ']'), err
		}
		return append(b, q.Body...), nil
	}
	b := make([]byte, 0, len(q.Body)+len(q.Name)+24)
	switch q.Dialect.Framing {
	case protocol.Unframed:
		return plain(b)
	case protocol.Headers:
		h := header.Header{Seq: seq, Compact: q.Dialect.Form == protocol.Compact, Pairs: q.Pairs}
		if !q.Deadline.IsZero() {
			ms := max(time.Until(q.Deadline).Milliseconds(), 1)
			h.Pairs = append(h.Pairs[:len(h.Pairs):len(h.Pairs)], header.Timeout, strconv.FormatInt(ms, 10))
		}
		return h.Append(b, plain)
	}
	b, err := plain(append(b, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b, err
}
