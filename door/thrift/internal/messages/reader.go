package messages

import (
	"fmt"
	"io"

	"github.com/weftrpc/weft/door/thrift/internal/header"
	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// Reader reads the replies of a server off a connection.
type Reader struct {
	conn    io.Reader
	limit   int
	framing protocol.Framing
	buf     []byte
	r, w    int
	find    protocol.Finder
	drop    int // bytes of a reply that is too long, which are still to come
}

// The lengths of the buffer at first, and beyond which it is not kept.
const (
	smallRead = 4 << 10
	largeRead = 64 << 10
)

// NewReader returns a reader of replies whose structs may have limit bytes.
func NewReader(conn io.Reader, framing protocol.Framing, limit int) *Reader {
	return &Reader{conn: conn, framing: framing, limit: limit}
}

// Next returns the next reply, whose body is valid until the next call.
func (f *Reader) Next() (Reply, error) {
	for {
		if f.drop > 0 {
			n := min(f.drop, f.w-f.r)
			f.r += n
			f.drop -= n
		}
		size, err := f.size()
		if err != nil {
			return Reply{}, err
		}
		if size > 0 {
			message := f.buf[f.r : f.r+size]
			f.r += size
			return f.parse(message)
		}
		if p, n, err := f.tooLong(); n > 0 || err != nil {
			f.r += 4
			f.drop = n
			return p, err
		}
		if err := f.fill(); err != nil {
			return Reply{}, err
		}
	}
}

// maxHeader is how many bytes the header of THeader may have.
const maxHeader = 4<<16 + 1<<10

// largest is how many bytes a frame may have.
func (f *Reader) largest() int { return f.limit + protocol.Envelope + maxHeader }

// tooLong reads the beginning of a reply whose frame is too long, if that is what has come. n is the length of the frame; 0: it is not.
func (f *Reader) tooLong() (p Reply, n int, err error) {
	b := f.buf[f.r:f.w]
	if f.framing == protocol.Unframed || f.drop > 0 || len(b) < 4 {
		return p, 0, nil
	}
	if n = protocol.FrameSize(b); n <= f.largest() {
		return p, 0, nil
	}
	p, head, _, err := parseHead(b[4:])
	if err != nil || f.framing == protocol.Headers {
		return p, 0, fmt.Errorf("a reply has a frame of %d bytes, Limits.MaxMessage of the client allows %d: %w", n, f.limit, ErrReply)
	}
	if head == 0 {
		return p, 0, nil
	}
	p.TooLong = n - head
	return p, n, nil
}

// size is how many bytes the next reply has; 0: it has not come as a whole.
func (f *Reader) size() (int, error) {
	b := f.buf[f.r:f.w]
	if len(b) < 4 {
		return 0, nil
	}
	if f.framing != protocol.Unframed {
		if n := protocol.FrameSize(b); n <= len(b)-4 && n <= f.largest() {
			return 4 + n, nil
		}
		return 0, nil
	}
	form, ok := protocol.FormOf(b)
	if !ok {
		return 0, ErrReply
	}
	return f.find.Find(b, form, f.limit)
}

// parse reads a whole reply.
func (f *Reader) parse(b []byte) (Reply, error) {
	if f.framing != protocol.Unframed {
		b = b[4:]
	}
	var pairs []string
	if f.framing == protocol.Headers && len(b) > 1 && b[0] == 0x0f && b[1] == 0xff {
		parsed, inner, err := header.Parse(b, f.limit+protocol.Envelope, func(int) error { return nil })
		if err != nil {
			return Reply{}, err
		}
		pairs, b = parsed.Pairs, inner
	}
	p, err := Parse(b, f.limit)
	p.Pairs = pairs
	return p, err
}

// fill reads more bytes.
func (f *Reader) fill() error {
	if f.r == f.w {
		f.r, f.w = 0, 0
		if len(f.buf) > largeRead {
			f.buf = nil
		}
	}
	if f.w == len(f.buf) {
		b := f.buf
		if f.r <= len(b)/2 {
			b = make([]byte, max(2*len(b), smallRead))
		}
		f.w = copy(b, f.buf[f.r:f.w])
		f.r, f.buf = 0, b
	}
	n, err := f.conn.Read(f.buf[f.w:])
	f.w += n
	if n > 0 {
		return nil
	}
	if err == io.EOF && (f.w > f.r || f.drop > 0) {
		return io.ErrUnexpectedEOF
	}
	return err
}
