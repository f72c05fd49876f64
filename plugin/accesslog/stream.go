package accesslog

import (
	"sync/atomic"

	"github.com/weftrpc/weft"
)

// counted counts the messages of a stream.
type counted struct {
	weft.RawStream
	sent, received atomic.Int64
}

// Send implements weft.RawStream.
func (c *counted) Send(msg any) error {
	err := c.RawStream.Send(msg)
	if err == nil {
		c.sent.Add(1)
	}
	return err
}

// Recv implements weft.RawStream.
func (c *counted) Recv(msg any) error {
	err := c.RawStream.Recv(msg)
	if err == nil {
		c.received.Add(1)
	}
	return err
}
