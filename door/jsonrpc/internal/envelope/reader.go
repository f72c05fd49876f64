package envelope

import (
	"errors"
	"io"

	"github.com/weftrpc/weft/door/internal/stackroom"
)

// The errors of a Reader.
var (
	// ErrSyntax is the error of bytes that are no object or array.
	ErrSyntax = errors.New("a value is neither an object nor an array")
	// ErrTooLarge is the error of a value that is longer than the limit.
	ErrTooLarge = errors.New("a value is longer than the limit")
)

// Reader takes JSON values off a stream, one after the other, with or without white space between
// them. It only finds their ends: whether they are valid is not known.
type Reader struct {
	r      io.Reader
	limit  int
	before func(within bool)
	hold   func(n int)

	buf  []byte
	from int // of what was read and not returned
	to   int
	at   int // the first byte that was not looked at
	scan scanner
	held int // bytes of buf that hold was told of
}

// NewReader returns a reader of values of up to limit bytes. before, if it is not nil, is called
// before each read, with whether a value has begun; hold, if it is not nil, is told how many bytes more, or fewer if n is
// below zero, values take that are large.
func NewReader(r io.Reader, limit int, before func(within bool), hold func(n int)) *Reader {
	return &Reader{r: r, limit: limit, before: before, hold: hold}
}

const (
	smallRead = 4 << 10
	largeRead = 64 << 10
)

// Split returns a reader that reads on from here. The last value that was returned stays as it is; r must not be used any
// more.
func (r *Reader) Split() *Reader {
	next := &Reader{r: r.r, limit: r.limit, before: r.before, hold: r.hold, held: r.held}
	rest := r.buf[r.from:r.to]
	next.buf = make([]byte, max(smallRead, len(rest)+1))
	next.to = copy(next.buf, rest)
	return next
}

// Next returns the next value, which is overwritten by the value behind it. The error is io.EOF at the end between
// values, and io.ErrUnexpectedEOF within one.
func (r *Reader) Next() ([]byte, error) {
	r.at, r.scan = r.from, scanner{}
	for {
		if value, err := r.value(); value != nil || err != nil {
			return value, err
		}
		if r.to-r.from > r.limit {
			return nil, ErrTooLarge
		}
		if err := r.fill(); err != nil {
			if err == io.EOF && r.to > r.from {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

// value returns the next value if it has come as a whole.
func (r *Reader) value() ([]byte, error) {
	b := r.buf[:r.to]
	if r.at == r.from {
		for r.from < r.to && space(b[r.from]) {
			r.from++
		}
		if r.at = r.from; r.at == r.to {
			return nil, nil
		}
		if c := b[r.at]; c != '{' && c != '[' {
			return nil, ErrSyntax
		}
	}
	if r.at = r.scan.end(b, r.at); r.scan.depth > 0 {
		return nil, nil
	}
	value := b[r.from:r.at:r.at]
	if len(value) > r.limit {
		return nil, ErrTooLarge
	}
	r.from = r.at
	return value, nil
}

// fill reads once.
func (r *Reader) fill() error {
	r.makeRoom()
	r.count()
	if r.before != nil {
		r.before(r.to > r.from)
	}
	n, err := stackroom.Read(r.r, r.buf[r.to:])
	r.to += n
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// makeRoom readies the buffer for the next read.
func (r *Reader) makeRoom() {
	if r.from == r.to {
		if len(r.buf) > largeRead || r.buf == nil {
			r.buf = make([]byte, smallRead)
		}
		r.from, r.to, r.at = 0, 0, 0
		return
	}
	if r.to < len(r.buf) {
		return
	}
	into := r.buf
	if r.from <= len(r.buf)/2 {
		into = make([]byte, max(2*(r.to-r.from), largeRead))
	}
	r.at -= r.from
	r.to = copy(into, r.buf[r.from:r.to])
	r.buf, r.from = into, 0
}

// count tells how large the buffer is, if it holds a value that is large.
func (r *Reader) count() {
	if r.hold == nil {
		return
	}
	now := len(r.buf)
	if now <= largeRead {
		now = 0
	}
	if now != r.held {
		r.hold(now - r.held)
		r.held = now
	}
}
