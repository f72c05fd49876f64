package shell

import (
	"context"
	"io"
)

// Interruptible returns a reader of the same bytes whose Read returns the error of ctx once that has ended. A read of a
// terminal or a pipe cannot be interrupted, so it is left behind then, and ends with the program.
func Interruptible(ctx context.Context, from io.Reader) io.Reader {
	return &interruptible{ctx: ctx, from: from}
}

type interruptible struct {
	ctx     context.Context
	from    io.Reader
	reading chan struct{} // of a read that is under way; nil: none is
	left    []byte        // was read, and not returned yet
	err     error         // what ended the last read
}

// Read implements io.Reader.
func (i *interruptible) Read(b []byte) (int, error) {
	if i.reading == nil && len(i.left) == 0 && i.err == nil {
		done := make(chan struct{})
		i.reading = done
		// It ends with the read, or with the program.
		go func() {
			defer close(done)
			buffer := make([]byte, 32<<10)
			n, err := i.from.Read(buffer)
			i.left, i.err = buffer[:n], err
		}()
	}
	if i.reading != nil { // left and err are those of the goroutine
		select {
		case <-i.reading:
			i.reading = nil
		case <-i.ctx.Done():
			return 0, i.ctx.Err()
		}
	}
	if n := copy(b, i.left); n > 0 || len(b) == 0 {
		i.left = i.left[n:]
		return n, nil
	}
	err := i.err
	if err != io.EOF {
		i.err = nil // the next read may go well
	}
	return 0, err
}
