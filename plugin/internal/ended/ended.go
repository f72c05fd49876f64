// Package ended tells plugins when a stream of a client has ended, and how.
package ended

import (
	"context"
	"io"
	"sync"

	"github.com/weftrpc/weft"
)

// Watch returns a stream that calls end once: when Recv or Send has reported the end, when the stream
// is closed, or when ctx ends. The error is nil for a call that went well.
func Watch(ctx context.Context, stream weft.RawStream, end func(error)) weft.RawStream {
	w := &watched{RawStream: stream, end: end}
	w.forget = context.AfterFunc(ctx, func() { w.ended(ctx.Err()) })
	return w
}

// watched is a stream whose end is waited for.
type watched struct {
	weft.RawStream
	once   sync.Once
	end    func(error)
	forget func() bool // the end of the context
}

func (w *watched) ended(err error) {
	w.once.Do(func() {
		if err == io.EOF { // an error that only wraps it says that the connection was lost
			err = nil
		}
		w.end(err)
	})
}

// Recv implements weft.RawStream.
func (w *watched) Recv(msg any) error {
	err := w.RawStream.Recv(msg)
	if err != nil {
		w.forget()
		w.ended(err)
	}
	return err
}

// Send implements weft.RawStream. io.EOF says that the call has ended, and Recv says how.
func (w *watched) Send(msg any) error {
	err := w.RawStream.Send(msg)
	if err != nil && err != io.EOF {
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
