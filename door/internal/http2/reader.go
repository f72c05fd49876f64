package http2

import (
	"errors"
	"fmt"
	"io"

	"github.com/weftrpc/weft/internal/session"
)

// reader is the goroutine that reads, with its buffer. When it is held up another one takes over what has not been handled.
type reader struct {
	c     *Conn
	buf   []byte
	r, w  int // the unread part of buf
	quiet int // reads in a row that a small buffer would have had room for

	wrong error // what the server did wrong, as a caller that has read has found: the goroutine that reads on ends the connection
}

const (
	smallRead  = 4 << 10
	largeRead  = 64 << 10
	quietReads = 512
)

// Run reads until the connection has ended or another goroutine reads on. A server's Run reads the preface first.
func (c *Conn) Run() {
	rd := c.in.rd
	if !c.cfg.Client {
		if err := rd.preface(); err != nil {
			c.Close(err)
			return
		}
	}
	c.ends.ReadsFrom(c.nc)
	rd.run()
}

// preface reads what a client sends first.
func (rd *reader) preface() error {
	for rd.w < len(Preface) {
		n, err := rd.c.nc.Read(rd.buf[rd.w:])
		rd.w += n
		if k := min(rd.w, len(Preface)); string(rd.buf[:k]) != Preface[:k] {
			return fmt.Errorf("http2: the client's preface is wrong")
		}
		if err != nil && rd.w < len(Preface) {
			return lost(err)
		}
	}
	rd.r = len(Preface)
	rd.c.read.Store(session.Nanos())
	return nil
}

// ErrClosed is why a connection ended that its peer has closed. It does not wrap io.EOF, which is the end of a stream that went well.
var ErrClosed = errors.New("the peer has closed the connection")

// lost makes an error of the end of reading.
func lost(err error) error {
	if errors.Is(err, io.EOF) {
		return ErrClosed
	}
	return fmt.Errorf("read: %w", err)
}

// run reads until the connection has ended or another goroutine reads on.
func (rd *reader) run() {
	for g := rd.c.gate; rd.handle(); {
		if g.Batch() {
			if !g.StepAside() {
				return
			}
		} else if !rd.fill() {
			return
		}
	}
}

// handle handles what is in the buffer. It returns false when the connection has ended or another goroutine reads on.
func (rd *reader) handle() bool {
	c := rd.c
	stays, err := true, rd.wrong
	if err == nil {
		stays, err = rd.frames()
	}
	switch {
	case !stays:
		return false
	case err != nil:
		b, ok := errors.AsType[*Breach](err)
		if !ok {
			b = &Breach{Code: InternalError}
		}
		c.Leave(b.Code, err)
		return false
	}
	return c.endBatch(false)
}

// fill reads once into the buffer. It returns false when the connection has ended.
func (rd *reader) fill() bool {
	c := rd.c
	rd.makeRoom()
	n, err := c.ends.In.Read(rd.buf[rd.w:])
	if n == 0 && err != nil {
		if poked(c, err) {
			return true
		}
		c.Close(lost(err))
		return false
	}
	rd.w += n
	c.read.Store(session.Nanos())
	return true
}

// makeRoom readies the buffer for the next read. A frame always fits the large one.
func (rd *reader) makeRoom() {
	filled := rd.w
	if rd.r > 0 {
		rd.w = copy(rd.buf, rd.buf[rd.r:rd.w])
		rd.r = 0
	}
	switch {
	case filled == len(rd.buf) && len(rd.buf) < largeRead:
		rd.regrow(largeRead)
	case filled > smallRead/2 || len(rd.buf) == smallRead:
		rd.quiet = 0
	default:
		if rd.quiet++; rd.quiet >= quietReads && rd.w < smallRead {
			rd.regrow(smallRead)
		}
	}
}

func (rd *reader) regrow(size int) {
	buf := make([]byte, size)
	copy(buf, rd.buf[:rd.w])
	rd.buf, rd.quiet = buf, 0
}

// takeOver lets another goroutine read on. The guard calls it.
func (c *Conn) takeOver() {
	old := c.in.rd
	rest := old.buf[old.r:old.w] // the handler may still read what is before it
	size := smallRead
	if len(rest) > smallRead/2 {
		size = largeRead
	}
	next := &reader{c: c, buf: make([]byte, max(size, len(rest)+1))}
	next.w = copy(next.buf, rest)
	c.in.rd = next
	if c.cfg.Stalled != nil {
		c.cfg.Stalled()
	}
	c.cfg.Go(next.run)
}

// frames handles every whole frame in the buffer.
func (rd *reader) frames() (stays bool, err error) {
	c := rd.c
	for rd.w-rd.r >= headerSize {
		b := rd.buf[rd.r:rd.w]
		n := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
		if n > maxFrame {
			return true, breach(FrameSizeError, "a frame of %d bytes, at most %d are allowed", n, maxFrame)
		}
		if len(b) < headerSize+n {
			break
		}
		rd.r += headerSize + n
		stays, err := c.frame(b[3], b[4], number31(b[5:]), b[headerSize:headerSize+n:headerSize+n])
		if !stays {
			return false, nil
		}
		if e, ok := err.(*streamError); ok {
			if err = c.in.spend(); err == nil {
				c.abort(e)
			}
		}
		if err != nil {
			return true, err
		}
	}
	return true, nil
}

// streamError ends one stream, which may not be open.
type streamError struct {
	id   uint32
	code ErrCode
	what string
}

func (e *streamError) Error() string { return "http2: " + e.what + " (" + e.code.String() + ")" }

// abort resets a stream on which the peer did something wrong.
func (c *Conn) abort(e *streamError) {
	c.mu.Lock()
	c.buf = appendReset(c.buf, e.id, e.code)
	st := c.open.Get(e.id)
	if st != nil {
		c.in.last = nil
		c.dropLocked(st)
	}
	c.mu.Unlock()
	if st != nil {
		c.handler.Closed(st, &Ending{Code: e.code, Err: e})
	}
}

// endBatch has what was appended written. The write may block while the peer does not read: then another goroutine reads on. soon is for a
// caller that reads, and has a deadline: then another goroutine writes on. false says as well that the connection has ended.
func (c *Conn) endBatch(soon bool) (stays bool) {
	if c.cfg.Batch != nil {
		c.cfg.Batch()
	}
	c.mu.Lock()
	countLocked(c)
	if len(c.buf) > c.flood() {
		c.mu.Unlock()
		c.Close(fmt.Errorf("the peer sends frames and does not read the answers"))
		return false
	}
	if c.busy || c.dead || len(c.buf) == 0 {
		c.mu.Unlock()
		return true
	}
	if soon {
		c.FlushSoonAndUnlock(false)
		return true
	}
	turn := c.guard.Enter()
	c.FlushAndUnlock(false)
	return c.guard.Leave(turn)
}

// flood is how many bytes may wait to be written before the peer is taken for hostile.
func (c *Conn) flood() int { return 4*c.cfg.WriteBuffer + 64*c.cfg.MaxStreams + 1<<20 }
