package thrift

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/stackroom"
	"github.com/weftrpc/weft/door/thrift/internal/header"
	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// reader is the goroutine that reads, with its buffer. When it is held up another one takes over what has not been handled.
type reader struct {
	s    *serverConn
	conn net.Conn
	buf  []byte
	r, w int  // the unread part of buf
	slow bool // the reads are bounded, since a message has come in part
	held int  // bytes of buf that the server was told of

	begun   bool // the dialect of the message at r is known
	dialect protocol.Dialect
	find    protocol.Finder
	drop    int // bytes of a message that was refused
}

const (
	smallRead = 4 << 10
	largeRead = 64 << 10
)

// successor takes over what has not been handled.
func (rd *reader) successor() *reader {
	rest := rd.buf[rd.r:rd.w] // the handler may still read what is before it
	next := &reader{s: rd.s, conn: rd.conn, slow: rd.slow, held: rd.held, drop: rd.drop}
	next.buf = make([]byte, max(smallRead, len(rest)+1))
	next.w = copy(next.buf, rest)
	return next
}

// run reads until the connection has ended or another goroutine reads on.
func (rd *reader) run() {
	s := rd.s
	defer func() {
		if p := recover(); p != nil {
			s.Logger().Error("thrift: the reader of a connection panicked", "panic", p, "stack", string(debug.Stack()))
			s.finish(weft.Errorf(weft.Internal, "the reader of the connection panicked"))
		}
	}()
	for {
		stays, err := rd.messages()
		if !stays {
			return
		}
		if err == nil && !s.endBatch() {
			return
		}
		if err == nil {
			err = rd.fill()
		}
		if err != nil {
			s.out.flush()
			s.finish(err)
			return
		}
	}
}

// fill reads more bytes.
func (rd *reader) fill() error {
	rd.makeRoom()
	rd.count()
	partial := rd.w > rd.r || rd.drop > 0
	if partial || rd.slow {
		rd.s.bound(partial)
		rd.slow = partial
	}
	n, err := stackroom.Read(rd.conn, rd.buf[rd.w:])
	rd.w += n
	switch {
	case n > 0 || err == nil:
		return nil
	case errors.Is(err, io.EOF) && partial:
		return fmt.Errorf("thrift: the connection ended within a message: %w", io.ErrUnexpectedEOF)
	case errors.Is(err, os.ErrDeadlineExceeded) && partial:
		return errors.New("thrift: a message did not go on in time")
	}
	return err
}

// count tells the server how large the buffer is, if it holds a message that is large.
func (rd *reader) count() {
	now := len(rd.buf)
	if now <= largeRead {
		now = 0
	}
	if now != rd.held {
		rd.s.Hold(now - rd.held)
		rd.held = now
	}
}

// makeRoom readies the buffer for the next read.
func (rd *reader) makeRoom() {
	if rd.r == rd.w {
		rd.r, rd.w = 0, 0
		if len(rd.buf) > largeRead {
			rd.buf = make([]byte, smallRead)
		}
	}
	if rd.w < len(rd.buf) {
		return
	}
	if rd.r > len(rd.buf)/2 {
		rd.w = copy(rd.buf, rd.buf[rd.r:rd.w])
		rd.r = 0
		return
	}
	longer := make([]byte, max(2*(rd.w-rd.r), largeRead))
	rd.w = copy(longer, rd.buf[rd.r:rd.w])
	rd.buf, rd.r = longer, 0
}

// messages handles every whole message in the buffer.
func (rd *reader) messages() (stays bool, err error) {
	for {
		if rd.drop > 0 {
			n := min(rd.drop, rd.w-rd.r)
			rd.r += n
			rd.drop -= n
		}
		b := rd.buf[rd.r:rd.w]
		if len(b) == 0 {
			return true, nil
		}
		if !rd.begun {
			d, v := protocol.Sniff(b, 1<<30)
			switch v {
			case protocol.More:
				return true, nil
			case protocol.No:
				return true, broken(fmt.Errorf("thrift: no message begins with %q", b[:min(len(b), 8)]))
			}
			rd.dialect, rd.begun = d, true
		}
		var size int
		var message []byte
		if rd.dialect.Framing == protocol.Unframed {
			if size, err = rd.find.Find(b, rd.dialect.Form, rd.s.limits.MaxMessage); err != nil {
				return true, broken(err)
			}
			if size == 0 {
				return true, nil
			}
			message = b[:size:size]
		} else {
			n := protocol.FrameSize(b)
			if n > rd.s.mostFrame() {
				if done, err := rd.refuse(b, n); !done || err != nil {
					return true, err
				}
				continue
			}
			if len(b)-4 < n {
				return true, nil
			}
			size = 4 + n
			message = b[4:size:size]
		}
		rd.r += size
		rd.begun = false
		if stays, err := rd.s.message(rd.dialect, message); !stays || err != nil {
			return stays, err
		}
	}
}

// refuse refuses the call of a frame that is too large, of which only the beginning is read.
func (rd *reader) refuse(b []byte, n int) (done bool, err error) {
	s := rd.s
	if rd.dialect.Framing == protocol.Headers {
		h, message, whole, err := header.ParseBeginning(b[4:], s.mostFrame())
		if err != nil {
			return true, weft.Errorf(weft.ResourceExhausted, "thrift: a frame of %d bytes came, Limits.MaxMessage of the server allows %d, and it does not tell its call: %w", n, s.limits.MaxMessage, err).
				WithReason(weft.ReasonMessageTooLarge)
		}
		if !whole {
			return false, nil
		}
		if err := s.refusePart(&h, message, s.tooLarge(n)); err != nil {
			return true, err
		}
	} else {
		head, size, err := protocol.ReadHead(bytes.Clone(b[4:min(len(b), protocol.Envelope)]), rd.dialect.Form)
		if err != nil {
			return true, broken(err)
		}
		if size == 0 {
			return false, nil
		}
		s.refuse(rd.dialect, nil, head, s.tooLarge(n))
	}
	rd.begun = false
	rd.r += 4
	rd.drop = n
	return true, nil
}
