package thrift

import (
	"fmt"
	"io"
	"net"

	"github.com/weftrpc/weft/door/thrift/internal/header"
	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// replyReader reads the replies of a server.
type replyReader struct {
	conn  net.Conn
	limit int
	want  WireConfig
	buf   []byte
	r, w  int
	head  int
	scan  protocol.Scanner
	text  protocol.TextScanner
}

// next returns the next reply; its body is valid until the next call.
func (f *replyReader) next() (h protocol.Head, a answer, err error) {
	for {
		size, err := f.size()
		if err != nil {
			return h, a, err
		}
		if size > 0 {
			message := f.buf[f.r : f.r+size]
			f.r += size
			f.head = 0
			return f.parse(message)
		}
		if err := f.fill(); err != nil {
			return h, a, err
		}
	}
}

// maxHeader is how many bytes the header of THeader may have.
const maxHeader = 4<<16 + 1<<10

// size is how many bytes the next reply has; 0: it has not come as a whole.
func (f *replyReader) size() (int, error) {
	b := f.buf[f.r:f.w]
	if len(b) < 4 {
		return 0, nil
	}
	most := f.limit + envelope
	if f.want.Framing != Unframed {
		n := frameSize(b)
		if n > most+maxHeader {
			return 0, fmt.Errorf("a reply has a frame of %d bytes, Limits.MaxMessage of the client allows %d: %w", n, f.limit, errReply)
		}
		if len(b)-4 < n {
			return 0, nil
		}
		return 4 + n, nil
	}
	if f.head == 0 {
		form, ok := protocol.FormOf(b)
		if !ok {
			return 0, errReply
		}
		_, n, err := protocol.ReadHead(b, form)
		if err != nil || n == 0 {
			return 0, err
		}
		f.head = n
		f.scan.Reset(form == protocol.Compact, f.limit)
		f.text.Reset(f.limit + envelope)
	}
	if b[0] == '[' {
		end, done, err := f.text.Scan(b)
		if err != nil || !done {
			return 0, err
		}
		return end, nil
	}
	end, done, err := f.scan.Scan(b[f.head:])
	if err != nil || !done {
		return 0, err
	}
	return f.head + end, nil
}

// parse reads a whole reply.
func (f *replyReader) parse(b []byte) (h protocol.Head, a answer, err error) {
	if f.want.Framing != Unframed {
		b = b[4:]
	}
	if f.want.Framing == THeader && len(b) > 1 && b[0] == 0x0f && b[1] == 0xff {
		parsed, inner, err := header.Parse(b, f.limit+envelope)
		if err != nil {
			return h, a, err
		}
		a.pairs, b = parsed.Pairs, inner
	}
	if len(b) < 2 {
		return h, a, errReply
	}
	form, ok := protocol.FormOf(b)
	if !ok {
		return h, a, errReply
	}
	h, n, err := protocol.ReadHead(b, form)
	switch {
	case err != nil:
		return h, a, err
	case n == 0:
		return h, a, errReply
	case len(b)-n > f.limit:
		return h, a, fmt.Errorf("a reply has %d bytes, Limits.MaxMessage of the client allows %d", len(b)-n, f.limit)
	}
	a.compact, a.body = form == protocol.Compact, b[n:]
	if form == protocol.JSON {
		a.armored = true
		a.body, err = protocol.FromJSON(b[n:], f.limit)
	}
	return h, a, err
}

// fill reads more bytes.
func (f *replyReader) fill() error {
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
	if err == io.EOF && f.w > f.r {
		return io.ErrUnexpectedEOF
	}
	return err
}
