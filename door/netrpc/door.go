package netrpc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/gob"
	"github.com/weftrpc/weft/door/internal/combine"
	"github.com/weftrpc/weft/door/internal/ends"
	"github.com/weftrpc/weft/door/netrpc/internal/header"
)

// Door returns a door for clients of net/rpc.
func Door() weft.Door {
	d := &door{codec: gob.New()}
	first, err := d.codec.Append(nil, &header.Response{})
	if err == nil {
		d.empty, err = d.codec.Append(nil, struct{}{})
	}
	if err != nil {
		panic("netrpc: encoding/gob does not encode a header: " + err.Error())
	}
	d.responses = header.PrefixOf(first)
	return d
}

// door implements weft.Door. Its codec has decoders that know the types of messages, which
// connections that come and go, or have few calls, share.
type door struct {
	codec     codec.Codec
	responses header.Prefix
	empty     []byte // the body behind the header of an error
}

// Name implements weft.Door.
func (*door) Name() string { return weft.WireNetRPC }

// Protocols implements weft.Door.
func (*door) Protocols() []string { return nil }

// sniffed is how many bytes tell a stream of net/rpc: a length, the number of a type in
// up to four bytes, and the beginning of the description of a struct named Request.
const sniffed = 16

// described is that beginning.
const described = "\x03\x01\x01\x07Request"

// Match implements weft.Door.
func (*door) Match(prefix []byte) (yes, more bool) {
	if n := min(len(prefix), len(connect)); string(prefix[:n]) == connect[:n] {
		return n == len(connect), n < len(connect)
	}
	if bytes.Contains(prefix[:min(len(prefix), sniffed)], []byte(described)) {
		return true, false
	}
	// A description of some 40 bytes, which its first byte tells.
	return false, len(prefix) < sniffed && prefix[0] > 0x20 && prefix[0] < 0x60 && (len(prefix) < 2 || prefix[1] == 0x7f || prefix[1] > 0xfb)
}

// readBuffer is how many bytes are read at once: the requests of one read are answered by one write.
const readBuffer = 16 << 10

// Serve implements weft.Door.
func (d *door) Serve(c *weft.DoorConn) error {
	if _, err := c.Admit(weft.Credential{}, nil); err != nil {
		return err
	}
	limits := c.Limits()
	conn, err := accepted(c)
	if err != nil {
		return err
	}
	s := &serverConn{DoorConn: c, door: d, codec: d.codec, out: newWriter(conn, limits), methods: make(map[string]*method), ended: make(chan error, 1)}
	hold := func(n int) { c.Hold(n) }
	s.run.Init(s, s.readOn)
	watched := s.run.Guard.Known()
	s.out.Serve(hold, c.Replies(), watched)
	s.source = &source{Conn: ends.NewSource(conn, watched), before: s.endBatch, hold: hold}
	s.in = gob.NewReader(bufio.NewReaderSize(s.source, readBuffer), limits.MaxMessage)
	s.Go(s.read)
	select {
	case err := <-s.ended:
		s.out.Close()
		return err
	case <-s.Draining():
	}
	// Requests that still come are refused until the calls that are open have ended.
	select {
	case <-s.open.Close():
		s.Conn().SetReadDeadline(time.Unix(1, 0))
		<-s.ended
	case err := <-s.ended:
		if s.open.Count() > 0 {
			s.out.Close()
			return err
		}
	}
	s.out.Settle(nil)
	return nil
}

// newWriter returns a writer of messages of gob.
func newWriter(conn net.Conn, limits weft.Limits) *combine.Writer {
	return combine.New(conn, limits.WriteBuffer, limits.WriteTimeout, new(gob.Writer).Append)
}

// ended is the error of a connection that was read to its end.
func ended(err error) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	if _, lost := errors.AsType[net.Error](err); lost || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return err
	}
	return broken(err)
}

// broken is the error of a connection behind whose last bytes no message can be found.
func broken(err error) error {
	if errors.Is(err, gob.ErrTooLarge) {
		return weft.Errorf(weft.ResourceExhausted, "%w (Limits.MaxMessage of the server)", err).WithReason(weft.ReasonMessageTooLarge)
	}
	return weft.Errorf(weft.InvalidArgument, "%w", err).WithReason(weft.ReasonProtocol)
}
