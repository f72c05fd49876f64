// Package httpbody reads the bodies of requests and answers into memory that is used again.
package httpbody

import (
	"errors"
	"io"

	"github.com/weftrpc/weft/internal/buffer"
)

// Unsent is the length below which net/http holds an answer back until its handler has returned, and then says by itself
// how long it is.
const Unsent = 2048

// ErrTooLarge is the error of a body that has more bytes than are allowed.
var ErrTooLarge = errors.New("the body is too large")

// Read reads a body, which may have limit bytes. length is what its header says; -1: nothing. The caller releases the
// buffer. Beyond 64 KiB memory grows as the bytes come.
func Read(r io.Reader, length int64, limit int) (*buffer.Buffer, error) {
	b := buffer.Take()
	if n := min(length, buffer.Small-1) + 1; n > int64(cap(b.B)) {
		b.Release()
		b = buffer.TakeLarge(int(n))
	}
	for len(b.B) <= limit {
		if len(b.B) == cap(b.B) {
			grown := buffer.TakeLarge(2 * cap(b.B))
			grown.B = append(grown.B, b.B...)
			b.Release()
			b = grown
		}
		n, err := r.Read(b.B[len(b.B):min(cap(b.B), limit+1)])
		b.B = b.B[:len(b.B)+n]
		switch {
		case err == io.EOF && len(b.B) <= limit:
			return b, nil
		case err != nil && err != io.EOF:
			b.Release()
			return nil, err
		}
	}
	b.Release()
	return nil, ErrTooLarge
}
