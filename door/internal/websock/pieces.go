package websock

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"
)

// Append appends a message to a buffer as the connection of Pieces takes it.
func Append(buf, message []byte) ([]byte, error) {
	return append(binary.BigEndian.AppendUint32(buf, uint32(len(message))), message...), nil
}

// Pieces is the connection for a combine.Writer whose messages are appended by Append: each one
// written is sent. Its Close ends the connection at once. Config.Took is told of parts of what is written.
func (c *Conn) Pieces() net.Conn { return &pieces{Conn: c.under, c: c} }

type pieces struct {
	net.Conn
	c *Conn
}

func (p *pieces) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		if len(rest) < 4 || uint64(len(rest)-4) < uint64(binary.BigEndian.Uint32(rest)) {
			return len(b) - len(rest), fmt.Errorf("a message is cut short: %w", io.ErrUnexpectedEOF)
		}
		n := 4 + int(binary.BigEndian.Uint32(rest))
		if err := p.c.Send(rest[4:n]); err != nil {
			return len(b) - len(rest), err
		}
		rest = rest[n:]
	}
	return len(b), nil
}

// TakesWholeMessages implements combine.Whole.
func (*pieces) TakesWholeMessages() {}

// SetWriteDeadline does nothing: Config.Write bounds each write.
func (p *pieces) SetWriteDeadline(time.Time) error { return nil }

func (p *pieces) Close() error {
	p.c.Cut()
	return nil
}
