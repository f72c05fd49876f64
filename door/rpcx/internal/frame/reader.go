package frame

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/weftrpc/weft/door/internal/stackroom"
)

// Reader reads frames. What it holds grows with what has come, never with what a header says.
type Reader struct {
	conn  io.Reader
	limit uint32             // of the part behind the header
	wait  func(partial bool) // called before each read
	buf   []byte
	r, w  int // the unread part of buf
	quiet int // reads in a row that a small buffer would have had room for
	hold  func(n int)
}

const (
	smallRead  = 4 << 10
	largeRead  = 64 << 10
	quietReads = 512
)

// NewReader returns a reader of frames with up to limit bytes behind their headers. wait is called
// before each read, with whether a part of a frame has come; nil: nothing is.
func NewReader(conn io.Reader, limit int, wait func(partial bool)) *Reader {
	if wait == nil {
		wait = func(bool) {}
	}
	return &Reader{conn: conn, limit: uint32(limit), wait: wait, buf: make([]byte, smallRead)}
}

// Count has hold count the bytes of a large frame while it comes in: more of them, or fewer if n is below zero. It is
// called before a frame is read.
func (r *Reader) Count(hold func(n int)) { r.hold = hold }

// Split returns a reader for what this one has not read, with memory of its own: frames that
// this one has returned stay as they are.
func (r *Reader) Split() *Reader {
	rest := r.buf[r.r:r.w]
	next := &Reader{conn: r.conn, limit: r.limit, wait: r.wait, hold: r.hold, buf: make([]byte, max(smallRead, len(rest)))}
	next.w = copy(next.buf, rest)
	return next
}

// Ready reports whether Next returns without reading from the connection.
func (r *Reader) Ready() bool {
	b := r.buf[r.r:r.w]
	if len(b) < HeaderSize {
		return false
	}
	_, total, err := header(b)
	return err != nil || total <= r.limit && uint64(total) <= uint64(len(b)-HeaderSize)
}

// Next returns the next frame, which is valid until the next call. io.EOF means that the connection has
// ended behind a frame.
func (r *Reader) Next() (Frame, error) {
	if err := r.fill(HeaderSize); err != nil {
		return Frame{}, err
	}
	f, total, err := header(r.buf[r.r:r.w])
	if err != nil {
		return f, err
	}
	if total > r.limit {
		err := r.skip(&f, total)
		return f, err
	}
	size := HeaderSize + int(total)
	if size > largeRead {
		r.r += HeaderSize
		b, err := r.large(int(total))
		if err != nil {
			return f, err
		}
		f.Owned = true
		err = f.body(b)
		return f, err
	}
	if err := r.fill(size); err != nil {
		return f, err
	}
	b := r.buf[r.r+HeaderSize : r.r+size : r.r+size]
	r.r += size
	err = f.body(b)
	return f, err
}

// Drop reads the next frame for what its header and its names say: of a large one the rest is thrown away as it comes.
// Its metadata has come.
func (r *Reader) Drop() (Frame, error) {
	b := r.buf[r.r:r.w]
	f, total, err := header(b)
	if err != nil || uint64(total)+HeaderSize <= largeRead {
		return r.Next()
	}
	names := b[HeaderSize:]
	rest := names
	for range 2 { // path and method
		if _, rest, err = part(rest, "names"); err != nil {
			return f, err
		}
	}
	f.Names = bytes.Clone(names[:len(names)-len(rest)])
	err = r.skip(&f, total)
	return f, err
}

// Meta returns the metadata of the next frame as soon as it has come, and leaves the frame to Next.
// A frame whose metadata does not end within the first 64 KiB has none here.
func (r *Reader) Meta() ([]byte, error) {
	for need := HeaderSize; ; {
		if err := r.fill(need); err != nil {
			return nil, err
		}
		b := r.buf[r.r:r.w]
		_, total, err := header(b)
		if err != nil {
			return nil, err
		}
		b = b[HeaderSize:]
		whole := uint64(len(b)) >= uint64(total)
		if whole {
			b = b[:total]
		}
		at := 0
		for i := range 3 { // path, method, metadata
			p, rest, err := part(b[at:], "beginning")
			if err != nil {
				break
			}
			if i == 2 {
				return p, nil
			}
			at = len(b) - len(rest)
		}
		if whole || r.w-r.r >= largeRead {
			return nil, nil
		}
		need = r.w - r.r + 1
	}
}

// fill reads until n bytes, at most largeRead, are unread in the buffer.
func (r *Reader) fill(n int) error {
	for r.w-r.r < n {
		r.makeRoom(n)
		r.wait(r.w > 0)
		got, err := stackroom.Read(r.conn, r.buf[r.w:])
		r.w += got
		if err != nil && r.w-r.r < n {
			return r.end(err)
		}
	}
	return nil
}

// end is the error of the end of reading.
func (r *Reader) end(err error) error {
	if errors.Is(err, io.EOF) && r.w > r.r {
		return fmt.Errorf("in a frame: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// makeRoom readies the buffer for a read.
func (r *Reader) makeRoom(n int) {
	filled := r.w
	if r.r > 0 {
		r.w = copy(r.buf, r.buf[r.r:r.w])
		r.r = 0
	}
	switch {
	case len(r.buf) < largeRead && (filled == len(r.buf) || n > len(r.buf)):
		r.regrow(largeRead)
	case filled > smallRead/2 || len(r.buf) == smallRead:
		r.quiet = 0
	default:
		if r.quiet++; r.quiet >= quietReads && r.w < smallRead && n <= smallRead {
			r.regrow(smallRead)
		}
	}
}

func (r *Reader) regrow(size int) {
	buf := make([]byte, size)
	copy(buf, r.buf[:r.w])
	r.buf, r.quiet = buf, 0
}

// large reads n bytes that do not fit the buffer into memory of their own, which doubles as they
// come.
func (r *Reader) large(n int) ([]byte, error) {
	b := bytes.Clone(r.buf[r.r:r.w])
	r.r, r.w = 0, 0
	held := 0
	defer func() { r.count(-held) }()
	for len(b) < n {
		grown := make([]byte, len(b), min(n, max(2*len(b), largeRead)))
		r.count(cap(grown) - held)
		held = cap(grown)
		copy(grown, b)
		b = grown
		for len(b) < cap(b) {
			r.wait(true)
			got, err := r.conn.Read(b[len(b):cap(b)])
			b = b[:len(b)+got]
			if err != nil && len(b) < n {
				if errors.Is(err, io.EOF) {
					err = fmt.Errorf("in a frame: %w", io.ErrUnexpectedEOF)
				}
				return nil, err
			}
		}
	}
	return b, nil
}

func (r *Reader) count(n int) {
	if r.hold != nil {
		r.hold(n)
	}
}

// skips is how many limits a frame may have that is thrown away. A longer one ends the connection:
// more likely than a message of that length is that bytes are lost.
const skips = 16

// skip throws a frame away that is too long.
func (r *Reader) skip(f *Frame, total uint32) error {
	if uint64(total) > skips*uint64(r.limit) {
		return malformed("it has %d bytes, at most %d are allowed", total, r.limit)
	}
	r.r += HeaderSize
	for left := int64(total); left > 0; {
		if r.r == r.w {
			r.r, r.w = 0, 0
			r.wait(true)
			got, err := r.conn.Read(r.buf)
			if r.w = got; err != nil && int64(got) < left {
				return err
			}
		}
		n := min(left, int64(r.w-r.r))
		r.r += int(n)
		left -= n
	}
	f.TooLong = total
	return nil
}
