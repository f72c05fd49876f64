package thrift

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/door/internal/ends"
	"github.com/weftrpc/weft/door/internal/jobs"
	"github.com/weftrpc/weft/door/thrift/internal/header"
	"github.com/weftrpc/weft/door/thrift/internal/protocol"
	"github.com/weftrpc/weft/internal/socket"
	"github.com/weftrpc/weft/internal/turns"
)

// serverConn is one connection of the door.
type serverConn struct {
	*weft.DoorConn
	door   *door
	limits weft.Limits
	out    *outbox

	// Of a request over HTTP, which has no goroutine that reads: what its header says, its context and its response.
	head  *weft.Head
	watch context.Context
	web   *response

	// The next fields belong to the goroutine that reads.
	rd    *reader
	run   jobs.Reader
	spare *call // the memory of a call that has run on that goroutine; nil: there is none
	index *index

	deadline sync.Mutex // of reading
	over     bool       // nothing more is read

	ended chan struct{} // closed when reading has ended, behind err
	err   error
}

func newServerConn(d *door, c *weft.DoorConn) *serverConn {
	s := &serverConn{DoorConn: c, door: d, limits: c.Limits(), ended: make(chan struct{})}
	s.run.Init(s, s.readOn)
	watched := s.run.Guard.Known()
	to := ends.Ends{Watched: socket.While(watched)}
	to.WritesTo(c.Conn())
	s.out = newOutbox(to.Out, s.limits.WriteBuffer, s.limits.WriteTimeout, func(n int) { c.Hold(n) }, c.Replies())
	s.rd = &reader{s: s, conn: ends.NewSource(c.Conn(), watched), buf: make([]byte, smallRead)}
	return s
}

// mostFrame is how many bytes a frame may have.
func (s *serverConn) mostFrame() int {
	return s.limits.MaxMessage + s.limits.MaxMetadata + protocol.Envelope
}

// stop ends the reading.
func (s *serverConn) stop() {
	s.deadline.Lock()
	defer s.deadline.Unlock()
	s.over = true
	s.Conn().SetReadDeadline(time.Unix(1, 0))
}

// bound bounds the next reads: a message that has begun must go on within the time of a handshake.
func (s *serverConn) bound(within bool) {
	s.deadline.Lock()
	defer s.deadline.Unlock()
	switch {
	case s.over:
	case within:
		s.Conn().SetReadDeadline(time.Now().Add(s.limits.HandshakeTimeout))
	default:
		s.Conn().SetReadDeadline(time.Time{})
	}
}

// finish notes the end of reading.
func (s *serverConn) finish(err error) {
	s.err = err
	close(s.ended)
}

// broken is the error of a connection behind whose last bytes no message can be found.
func broken(err error) error {
	return weft.Errorf(weft.InvalidArgument, "%w", err).WithReason(weft.ReasonProtocol)
}

// message begins the call of a message. args is overwritten by later messages.
func (s *serverConn) message(d protocol.Dialect, b []byte) (stays bool, err error) {
	var h *header.Header
	var packed []byte
	owned := false
	if d.Framing == protocol.Headers {
		parsed, inner, err := header.Parse(b, turns.Small, s.holdBriefly)
		full, ok := errors.AsType[*weft.Error](err)
		switch {
		case ok:
			return true, s.refusePart(&parsed, inner, full)
		case errors.Is(err, compress.ErrTooLarge):
			packed, err = header.Packed(b), nil // the call undoes the compression, when it is its turn
		case errors.Is(err, header.ErrTransform), errors.Is(err, header.ErrProtocol):
			s.refuseHeader(&parsed, err)
		}
		if err != nil {
			return true, broken(err)
		}
		h, b, owned = &parsed, inner, parsed.Zlib && packed == nil
	}
	if h != nil && len(b) == 0 {
		return true, nil // the library for C++ sends such a frame before it closes a connection
	}
	d, head, n, err := protocol.HeadOf(d, h != nil && h.Compact, b)
	if err != nil {
		return true, broken(err)
	}
	if packed != nil {
		return s.begin(d, h, head, packed, n, owned)
	}
	return s.begin(d, h, head, b[n:], 0, owned)
}

// refusePart answers the call of a message of THeader of which only the beginning is known. The error is that of a connection that ends, since
// that is no beginning.
func (s *serverConn) refusePart(h *header.Header, beginning []byte, why *weft.Error) error {
	d, head, _, err := protocol.HeadOf(protocol.Dialect{Framing: protocol.Headers}, h.Compact, beginning)
	if err != nil {
		return broken(err)
	}
	s.refuse(d, h, head, why)
	return nil
}

// refuse answers a call that is not begun.
func (s *serverConn) refuse(d protocol.Dialect, h *header.Header, head protocol.Head, why *weft.Error) {
	r := s.resolve(head.Name)
	x := &call{s: s, route: r, seq: head.Seq, dialect: d, header: h, oneway: head.Kind == protocol.Oneway || r.oneway}
	x.unordered = x.oneway || h != nil || s.door.cfg.Unordered
	s.out.enter(x)
	x.Fail(why, weft.Metadata{})
}

// holdBriefly counts bytes that are held for a moment, if there is room for them.
func (s *serverConn) holdBriefly(n int) error {
	if n > 0 && !s.Room(n) {
		return &weft.Error{Code: weft.ResourceExhausted, Outcome: weft.Refused, Reason: weft.ReasonTooManyBytes,
			Message: "the server has no room to decompress a message, of all the bytes that it may hold (ServerConfig.MaxMemory); try again later"}
	}
	s.Hold(n)
	return nil
}

// refuseHeader answers a frame whose message cannot be read. The connection ends then: the message may be one that gets no answer.
func (s *serverConn) refuseHeader(h *header.Header, why error) {
	x := &call{s: s, seq: h.Seq, header: &header.Header{Flags: h.Flags, Seq: h.Seq}, dialect: protocol.Dialect{Framing: protocol.Headers}, route: &route{}, unordered: true}
	s.out.enter(x)
	code := codeInvalidTransform
	if errors.Is(why, header.ErrProtocol) {
		code = codeInvalidProtocol
	}
	x.failAs(code, why.Error(), nil)
}

// largestInline is the largest message that is decoded on the goroutine that reads.
const largestInline = 64 << 10

// slack is how many calls beyond Limits.MaxCalls are refused, and told so in their turn, before the
// connection is ended.
const slack = 128

// begin has a call run. packed is that of the call.
func (s *serverConn) begin(d protocol.Dialect, h *header.Header, head protocol.Head, args []byte, packed int, owned bool) (stays bool, err error) {
	if head.Kind != protocol.Call && head.Kind != protocol.Oneway {
		return true, broken(fmt.Errorf("thrift: a client sent a message of the kind %d", head.Kind))
	}
	r := s.resolve(head.Name)
	x := s.spare
	if s.spare = nil; x == nil {
		x = &call{s: s}
	}
	x.route, x.seq, x.dialect, x.header, x.args, x.packed = r, head.Seq, d, h, args, packed
	x.oneway = head.Kind == protocol.Oneway || r.oneway
	x.unordered = x.oneway || h != nil || s.door.cfg.Unordered || s.rd == nil
	now := s.out.enter(x)
	wh := weft.Head{}
	if s.head != nil {
		wh = *s.head
	}
	wh.Method, wh.Codec, wh.Oneway, wh.Size, wh.Found = r.Name, "thrift", x.oneway, len(args), r.found
	refused := (*weft.Error)(nil)
	if now.queued > s.limits.MaxCalls+slack {
		// Their refusals wait for their turn too.
		return true, weft.Errorf(weft.ResourceExhausted, "%d calls wait for the replies of calls before them, Limits.MaxCalls of the server allows %d", now.queued, s.limits.MaxCalls).
			WithReason(weft.ReasonTooManyCalls)
	}
	switch {
	case now.draining:
		refused = &weft.Error{Code: weft.Unavailable, Outcome: weft.Refused, Reason: weft.ReasonDraining,
			Message: "the server is shutting down; call another server"}
	case len(args) > s.limits.MaxMessage && d.Form != protocol.JSON && packed == 0: // a struct of JSON is bounded when its text is translated
		refused = s.tooLarge(len(args))
	case h != nil:
		refused = fill(&wh, h.Pairs, s.limits.MaxMetadata)
	}
	if refused != nil {
		x.Fail(refused, weft.Metadata{})
		return true, nil
	}
	fast := s.rd != nil && packed == 0 && r.found != nil && r.found.Fast() && !s.Replies().Crowded() && len(args) <= largestInline
	if !fast && !owned && s.rd != nil {
		x.args = bytes.Clone(args)
	}
	wh.Here = fast
	if !s.BeginIn(&x.DoorCall, &wh, x) {
		return true, nil
	}
	if fast {
		return s.runHere(x), nil
	}
	s.start(x)
	return true, nil
}

// tooLarge is the error of a request of so many bytes.
func (s *serverConn) tooLarge(size any) *weft.Error {
	return &weft.Error{Code: weft.ResourceExhausted, Outcome: weft.Refused, Reason: weft.ReasonMessageTooLarge,
		Message: fmt.Sprintf("the request has %v bytes, Limits.MaxMessage of the server allows %d", size, s.limits.MaxMessage)}
}

// fill takes over what the header of a call says.
func fill(h *weft.Head, pairs []string, most int) *weft.Error {
	size := 0
	m := make([]string, 0, len(pairs))
	for i := 0; i+1 < len(pairs); i += 2 {
		key, value := pairs[i], pairs[i+1]
		size += len(key) + len(value)
		switch {
		case key == header.Timeout:
			if ms, err := strconv.ParseInt(value, 10, 64); err == nil && ms > 0 {
				h.Timeout = time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
			}
		case strings.HasPrefix(key, header.Reserved) || key == "":
		default:
			m = append(m, key, value)
		}
	}
	h.Metadata = weft.NewMetadata(m...)
	if size > most || h.Metadata.Len() != len(m)/2 {
		return &weft.Error{Code: weft.ResourceExhausted, Outcome: weft.Refused, Reason: weft.ReasonMetadataTooLarge,
			Message: fmt.Sprintf("the headers of the call have %d bytes in %d pairs: more, or longer keys, than Limits.MaxMetadata of the server allows", size, len(m)/2)}
	}
	return nil
}

// runHere runs a call on the goroutine that reads.
func (s *serverConn) runHere(x *call) (stays bool) {
	x.later = true
	if !s.run.RunHere(x) {
		return false
	}
	if x.Renew() {
		x.header, x.args, x.turn, x.later, x.size, x.dropped = nil, nil, nil, false, 0, false
		s.spare = x
	}
	return true
}

// FlushReplies implements jobs.Conn.
func (s *serverConn) FlushReplies() { s.out.flush() }

// endBatch writes the replies of calls that ran on the goroutine that reads.
func (s *serverConn) endBatch() (stays bool) {
	if !s.out.waits() {
		return true
	}
	turn := s.run.Guard.Enter()
	s.out.flush()
	return s.run.Guard.Leave(turn)
}

// readOn has another goroutine read on.
func (s *serverConn) readOn() {
	s.rd = s.rd.successor()
	s.Go(s.rd.run)
}
