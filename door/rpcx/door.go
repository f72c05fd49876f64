package rpcx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/door/internal/ends"
	"github.com/weftrpc/weft/door/rpcx/internal/frame"
	"github.com/weftrpc/weft/door/rpcx/internal/outbox"
)

// door implements weft.Door.
type door struct {
	names       [serials]string      // of codecs
	compressors [compressions]string // their names
	wrong       error
}

// Name implements weft.Door.
func (*door) Name() string { return Name }

// Protocols implements weft.Door.
func (*door) Protocols() []string { return nil }

// sniffed is how many bytes tell a frame of rpcx: its header and the length of its path.
const sniffed = frame.HeaderSize + 4

// leastTotal is the length of what stands behind the header of the smallest frame.
const leastTotal = 4 * 4

// Match implements weft.Door.
func (d *door) Match(prefix []byte) (yes, more bool) {
	if n := min(len(prefix), len(connect)); string(prefix[:n]) == connect[:n] {
		return n == len(connect), n < len(connect)
	}
	var b [sniffed]byte
	n := copy(b[:], prefix)
	switch {
	case b[0] != frame.Magic, b[1] != 0, b[2]&(frame.Response|frame.Status) != 0:
		return false, false
	case n > 3 && (b[3]&0x0f != 0 || d.names[b[3]>>frame.SerialShift] == ""):
		return false, false
	case n < sniffed:
		return false, true
	}
	total, path := binary.BigEndian.Uint32(b[12:]), binary.BigEndian.Uint32(b[16:])
	return total >= leastTotal && path <= total-leastTotal, false
}

// Serve implements weft.Door.
func (d *door) Serve(c *weft.DoorConn) error {
	if d.wrong != nil {
		return d.wrong
	}
	conn := c.Conn()
	limits := c.Limits()
	_ = conn.SetReadDeadline(time.Now().Add(limits.HandshakeTimeout)) // an error is that of the connection
	conn, err := tunneled(conn)
	if err != nil {
		return err
	}
	s := &serverConn{
		DoorConn: c, d: d, conn: conn, limits: limits, gzip: gzip.New(),
		known: known{routes: make(map[string]*route)}, reading: reading{limited: true},
		out: outbox.New(conn, limits.WriteBuffer, limits.WriteTimeout), ended: make(chan error, 1), done: make(chan struct{}),
	}
	defer close(s.done)
	defer s.out.Close()
	s.run.Init(s, s.readOn)
	watched := s.run.Guard.Known()
	s.rd = frame.NewReader(ends.NewSource(conn, watched), limits.MaxMessage+limits.MaxMetadata+namesRoom, s.limit)
	hold := func(n int) { c.Hold(n) }
	s.rd.Count(hold)
	s.out.Serve(hold, c.Replies(), watched)
	meta, err := s.rd.Meta()
	if err != nil {
		return ended(err)
	}
	if _, err := c.Admit(credentialOf(meta), back{s}); err != nil {
		s.refuseConn(err)
		return err
	}
	s.mu.Lock()
	s.admitted = true
	s.mu.Unlock()
	rd := s.rd
	s.Go(func() { s.read(rd) })
	return s.wait()
}

// wait returns when the connection has ended or was drained.
func (s *serverConn) wait() error {
	select {
	case err := <-s.ended:
		// One-way calls may have come just before the end, whose clients wait for nothing.
		select {
		case <-s.oneway.Close():
		case <-time.After(afterEnd):
		case <-s.Draining():
		}
		return ended(err)
	case <-s.Draining():
	}
	idle := s.open.Close()
	if !s.weft.Load() {
		// A client of rpcx calls another server when the connection ends, and none when it gets
		// an error.
		s.stop()
	}
	select {
	case <-idle:
		s.stop()
		<-s.ended
	case err := <-s.ended:
		if !s.stopped() {
			return ended(err)
		}
		<-idle
	}
	s.out.Settle()
	return nil
}

// afterEnd is how long one-way calls may go on whose client has closed the connection.
const afterEnd = time.Second

// stop ends the reading.
func (s *serverConn) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.conn.SetReadDeadline(time.Unix(1, 0))
}

func (s *serverConn) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// limit bounds the next read: a frame that has begun must go on within the time of a handshake.
func (s *serverConn) limit(partial bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		s.conn.SetReadDeadline(time.Unix(1, 0))
	case !s.until.IsZero():
		s.conn.SetReadDeadline(s.until)
	case partial || !s.admitted:
		s.conn.SetReadDeadline(time.Now().Add(s.limits.HandshakeTimeout))
		s.limited = true
	case s.limited:
		s.conn.SetReadDeadline(time.Time{})
		s.limited = false
	}
}

// readUntil has reading end at a time.
func (s *serverConn) readUntil(end time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = end
}

// ended is the error of a connection that was read to its end.
func ended(err error) error {
	switch {
	case err == nil, errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil
	case errors.Is(err, frame.ErrMalformed):
		return weft.Errorf(weft.InvalidArgument, "%w", err).WithReason(weft.ReasonProtocol)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errors.New("a frame did not come in time")
	}
	return err
}

// refuseConn answers the calls of a connection that is not admitted: the first, and those that come soon after it. A client of rpcx goes on
// calling where a call was refused, and would not learn the cause from a connection that ends.
func (s *serverConn) refuseConn(why error) {
	e, ok := errors.AsType[*weft.Error](why)
	if !ok {
		return
	}
	told := *e
	told.Outcome = weft.Refused
	s.readUntil(time.Now().Add(s.limits.HandshakeTimeout))
	called := false
	for range framesRefused {
		_, err := s.rd.Meta()
		if err != nil {
			break
		}
		f, err := s.rd.Drop()
		if err != nil || f.Has(frame.Oneway|frame.Response) {
			break
		}
		if f.Has(frame.Heartbeat) { // by one, a client of weft shows the credential of its connection
			continue
		}
		x := &call{s: s, seq: f.Seq, serial: f.Serial, names: echoed(f.Names)}
		x.refused(&told)
		s.out.Settle()
		if !called {
			called = true
			s.readUntil(time.Now().Add(afterRefusal))
		}
	}
}

const (
	// afterRefusal is how long behind its first call a connection that was refused is read.
	afterRefusal = 100 * time.Millisecond
	// framesRefused is how many frames of it are read.
	framesRefused = 64
)

// credentialOf is the credential in the metadata of a request.
func credentialOf(meta []byte) (c weft.Credential) {
	for len(meta) > 0 {
		key, value, rest, err := frame.Pair(meta)
		if err != nil {
			break
		}
		if string(key) == keyAuth {
			c = parseCredential(string(value))
		}
		meta = rest
	}
	return c
}

// breach is the error of a peer that breaks the protocol.
func breach(format string, args ...any) error {
	return fmt.Errorf("%w: %s", frame.ErrMalformed, fmt.Sprintf(format, args...))
}
