package accesslog

import (
	"context"
	"errors"
	"io"
	"sync"
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

// watched tells when a stream of a client has ended.
type watched struct {
	counted
	once   sync.Once
	end    func(err error, sent, received int64)
	forget func() bool
}

// watch calls end once: when Recv or Send has reported the end, when the stream is closed, or
// when its context ends.
func watch(ctx context.Context, stream weft.RawStream, end func(err error, sent, received int64)) weft.RawStream {
	w := &watched{counted: counted{RawStream: stream}, end: end}
	w.forget = context.AfterFunc(ctx, func() { w.ended(ctx.Err()) })
	return w
}

func (w *watched) ended(err error) {
	w.once.Do(func() {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		w.end(err, w.sent.Load(), w.received.Load())
	})
}

// Recv implements weft.RawStream.
func (w *watched) Recv(msg any) error {
	err := w.counted.Recv(msg)
	if err != nil {
		w.forget()
		w.ended(err)
	}
	return err
}

// Send implements weft.RawStream. io.EOF says that the call has ended, and Recv says how.
func (w *watched) Send(msg any) error {
	err := w.counted.Send(msg)
	if err != nil && !errors.Is(err, io.EOF) {
		w.forget()
		w.ended(err)
	}
	return err
}

// Close implements weft.RawStream.
func (w *watched) Close() error {
	err := w.RawStream.Close()
	w.forget()
	w.ended(weft.Canceled)
	return err
}
