package grpc

import (
	"context"
	"encoding/base64"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/door/grpc/internal/percent"
	"github.com/weftrpc/weft/door/grpc/internal/routes"
	"github.com/weftrpc/weft/door/internal/hpack"
	"github.com/weftrpc/weft/door/internal/http2"
)

// call is one call that a client makes.
type call struct {
	weft.DoorCall
	rest
}

// rest is what a call is beside what the server knows of it.
type rest struct {
	st http2.Stream
	c  *serverConn

	// Of the goroutine that reads, until the call begins.
	route   *routes.Route
	replies *replies
	meta    weft.Metadata
	due     int64 // on the clock of session.Nanos; 0: the client has not said
	marks
	body []byte // of a message that has come in part
	counted
	opened  bool // its header has come
	refused bool // it does not run

	restore    compress.Compressor // of the request
	compress   compress.Compressor // of the reply
	compressed bool
	fast       bool   // it runs on the goroutine that reads
	message    []byte // the request
	consumer

	state atomic.Uint32
	answer
}

// answer is how far the reply of a call has come, under the lock of the connection.
type answer struct {
	begun bool // the header was sent
	tells bool // it names the compressors that requests may have; set before the lock is taken
	over  bool // so was the end, in one piece, and nothing more comes: the memory of the call may be used again
}

// counted is what a call counts against the limits on bytes, which belongs to the goroutine that reads, and for the statistics.
type counted struct {
	held  int          // bytes of metadata, and of a message that has come in part
	large int          // bytes of metadata, if they are many
	size  atomic.Int64 // bytes of the messages of the reply
}

// consumer is what gets the body of a call as it comes. Without one the message is gathered first.
type consumer struct {
	in    *inbox  // of a streaming call
	other Request // of one that is none of gRPC
}

// marks are what a client says of a call beside its metadata.
type marks struct {
	attempt  int // how many times it was tried before
	priority weft.Priority
}

// The states of a call.
const (
	waiting   = iota // its message is not whole
	running          // it has begun
	abandoned        // the client has left
)

// start begins the call; false if it was refused. here says that it runs on this goroutine, at once.
func (x *call) start(size int, here bool) bool {
	s := x.c
	head := weft.Head{Received: s.conn.ReadAt(), Method: x.route.Name, Codec: x.replies.name, Metadata: x.meta, Attempt: x.attempt, Priority: x.priority, Size: size + x.large, Found: x.route.Method,
		Stream: x.route.Kind != weft.Unary, Here: here}
	if x.due != 0 {
		head.Timeout = max(time.Duration(x.due-head.Received), 1)
	}
	fast := x.fast
	x.fast = true // a refusal is written with the batch
	if !s.BeginIn(&x.DoorCall, &head, x) {
		s.release(x)
		x.refused = true
		return false
	}
	x.fast = fast
	if !x.state.CompareAndSwap(waiting, running) {
		x.leave()
	}
	return true
}

// leave ends what runs of a call whose client has left.
func (x *call) leave() {
	if x.other != nil {
		x.other.Closed()
		return
	}
	x.Cancel()
	if x.in != nil {
		x.in.fail(weft.Errorf(weft.Canceled, "the caller has left"))
	}
}

// abandon notes that the client has left. lost says that it left with the connection.
func (x *call) abandon(lost bool) {
	switch x.state.Swap(abandoned) {
	case running:
		x.leave()
	case waiting:
		if !lost { // else this may not be the goroutine that reads
			x.c.release(x)
		}
	}
}

// Stalled implements jobs.Call.
func (x *call) Stalled() { x.route.Method.Stalled() }

// Alone implements jobs.Call.
func (x *call) Alone() { x.fast = false }

// Decode implements weft.Inbound.
func (x *call) Decode(v any) error {
	b := x.message
	if x.compressed {
		var err error
		if b, err = restored(x.Restoring(x.restore), b, theServer, x.c.limits.MaxMessage); err != nil {
			return err
		}
	}
	x.message = nil
	return x.DecodeBody(x.replies.codec, b, v)
}

func (x *call) checkFlag(flag byte) *weft.Error { return flagError(flag, x.restore) }

// small is the largest reply that is encoded where it is sent from.
const small = 8 << 10

// Reply implements weft.Inbound.
func (x *call) Reply(v any, m weft.Metadata) error {
	if x.in != nil {
		x.end(m)
		return nil
	}
	s, p := x.c, x.divide(m)
	size := 0
	if z := x.replies.sizer; z != nil {
		n, ok := z.Size(v)
		if size = n; ok && n <= small && n <= s.limits.MaxMessage && x.compress == nil {
			s.conn.Lock()
			if !s.conn.FullLocked() && s.conn.FitsLocked(&x.st, prefixSize+n) {
				err := x.replyHereAndUnlock(v, n, p)
				x.Encoded(n)
				return err
			}
			s.conn.Unlock()
		}
	}
	if _, err := x.AwaitTurn(size, nil); err != nil {
		return err
	}
	defer x.c.Replies().GiveTurn()
	s.awaitRoom()
	b, err := appendMessage(nil, x.replies.codec, v, x.compress, s.limits.CompressAbove, theServer, s.limits.MaxMessage)
	if err != nil {
		return err
	}
	x.Encoded(len(b))
	s.conn.Lock()
	if !s.conn.OpenLocked(&x.st) {
		s.conn.Unlock()
		return nil
	}
	x.size.Add(int64(len(b) - prefixSize))
	x.beginLocked(p.leading)
	s.conn.QueueDataLocked(&x.st, b, false, func() { x.trailersLocked(nil, p) })
	x.sentAndUnlock()
	return nil
}

// parts are what of the metadata of a reply travels in front of the first message, and behind the last one.
type parts struct{ leading, trailing weft.Metadata }

// divide asks Config.Leading, before the lock of the connection is taken. A key for which it panics travels behind.
func (x *call) divide(m weft.Metadata) parts {
	f := x.c.door.cfg.Leading
	if f == nil {
		return parts{trailing: m}
	}
	var p parts
	for k, v := range m.All() {
		leads := false
		x.c.fence.Run("Leading of the door", x.c.conn.Conn().RemoteAddr(), func() { leads = f(k) })
		if leads {
			p.leading = p.leading.With(k, v)
		} else {
			p.trailing = p.trailing.With(k, v)
		}
	}
	return p
}

// replyHereAndUnlock encodes a small reply where it is sent from. It is called with the lock of the connection held.
func (x *call) replyHereAndUnlock(v any, n int, m parts) error {
	conn := x.c.conn
	if !conn.OpenLocked(&x.st) {
		conn.Unlock()
		return nil
	}
	x.beginLocked(m.leading)
	err := x.putLocked(v, n)
	if err == nil {
		x.trailersLocked(nil, m)
		x.over = x.st.EndedLocked()
	}
	x.sentAndUnlock()
	return err
}

// putLocked appends a message of n bytes, for which FitsLocked holds with its prefix.
func (x *call) putLocked(v any, n int) error {
	conn := x.c.conn
	b := conn.BufferLocked()
	at := len(b)
	b = append(b, make([]byte, http2.FrameRoom+prefixSize)...)
	p := b[at+http2.FrameRoom:]
	p[1], p[2], p[3], p[4] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	out, err := x.appendSized(b, v, n)
	if err != nil {
		conn.SetBufferLocked(b[:at])
		return err
	}
	conn.SetBufferLocked(out)
	conn.PutDataLocked(&x.st, at, prefixSize+n, false)
	x.size.Add(int64(n))
	return nil
}

// Bytes implements weft.InboundSizer.
func (x *call) Bytes() (request, reply int) {
	request = -x.large // Head.Size has it
	if x.in != nil {
		request += x.in.bytes()
	}
	return request, int(x.size.Load())
}

// appendSized encodes v; a panic of the codec is an error, since the lock is held.
func (x *call) appendSized(b []byte, v any, n int) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = weft.Errorf(weft.Internal, "encode with codec %s: %v", x.replies.name, p).WithReason(weft.ReasonEncode)
		}
	}()
	if out, err = x.replies.sizer.AppendSized(b, v, n); err != nil {
		return nil, weft.Errorf(weft.Internal, "encode with codec %s: %w", x.replies.name, err).WithReason(weft.ReasonEncode)
	}
	return out, nil
}

// sentAndUnlock has what was appended written; the goroutine that reads does that when it has handled what it has read.
func (x *call) sentAndUnlock() {
	conn := x.c.conn
	if full, r := conn.FullLocked(), x.c.Replies(); full && !r.Crowded() {
		r.Crowd()
	} else if !full && r.Crowded() {
		r.Clear()
	}
	if x.fast {
		conn.Unlock()
		return
	}
	conn.FlushAndUnlock(conn.StreamsLocked() > 0)
}

// awaitRoom waits while too much waits to be written.
func (s *serverConn) awaitRoom() {
	s.conn.Lock()
	if s.conn.FullLocked() {
		s.Replies().Crowd()
		s.conn.AwaitRoomLocked(context.Background())
	}
	s.conn.Unlock()
}

// wroteLocked is told that the client has taken bytes.
func (s *serverConn) wroteLocked() {
	switch r := s.Replies(); {
	case !r.Crowded():
	case s.conn.FullLocked():
		r.Took()
	default:
		r.Clear()
	}
}

// Fail implements weft.Inbound.
func (x *call) Fail(e *weft.Error, m weft.Metadata) {
	conn, p := x.c.conn, x.divide(m)
	conn.Lock()
	if !conn.OpenLocked(&x.st) {
		conn.Unlock()
		return
	}
	if x.st.WaitsLocked() { // messages of a stream
		conn.QueueDataLocked(&x.st, nil, false, func() { x.trailersLocked(e, p) })
	} else {
		x.trailersLocked(e, p)
	}
	x.sentAndUnlock()
}

// end ends a streaming call well, behind its messages.
func (x *call) end(m weft.Metadata) {
	conn, p := x.c.conn, x.divide(m)
	conn.Lock()
	if !conn.OpenLocked(&x.st) {
		conn.Unlock()
		return
	}
	conn.QueueDataLocked(&x.st, nil, false, func() { x.trailersLocked(nil, p) })
	x.sentAndUnlock()
}

// beginLocked appends the header of a reply, once.
func (x *call) beginLocked(leading weft.Metadata) {
	if x.begun {
		return
	}
	x.begun = true
	conn := x.c.conn
	at := conn.StartHeadersLocked(&x.st, false)
	x.headLocked(leading)
	conn.EndHeadersLocked(at)
}

// headLocked appends what a reply begins with.
func (x *call) headLocked(leading weft.Metadata) {
	conn := x.c.conn
	e := &conn.Enc
	b := e.Static(conn.BufferLocked(), hpack.Static200)
	b = e.Known(b, &x.replies.begin)
	if x.compress != nil {
		b = e.Literal(b, encodingName, x.compress.Name())
	}
	if x.tells {
		b = e.Literal(b, acceptName, namesOf(x.c.Compressors()))
	}
	for k, v := range leading.All() {
		b = appendPair(e, b, k, v)
	}
	conn.SetBufferLocked(b)
}

// trailersLocked appends what ends a reply; err is nil for one that went well. Where no message was sent, it is the header at the same time.
func (x *call) trailersLocked(err *weft.Error, m parts) {
	conn := x.c.conn
	if m.leading.Len() > 0 { // a client takes what comes in one block with the status for trailers
		x.beginLocked(m.leading)
	}
	at := conn.StartHeadersLocked(&x.st, true)
	e := &conn.Enc
	if !x.begun {
		x.begun = true
		x.headLocked(weft.Metadata{})
	}
	b := conn.BufferLocked()
	if err == nil {
		b = e.Known(b, &x.c.ok)
	} else {
		b = appendStatus(e, b, err, conn.MostHeaderLocked()-sizeOfFields(m.trailing))
	}
	for k, v := range m.trailing.All() {
		b = appendPair(e, b, k, v)
	}
	conn.SetBufferLocked(b)
	conn.EndHeadersLocked(at)
	conn.SaidLocked(&x.st)
}

const (
	// maxMessage is how many bytes of an error's message a header carries, as they are encoded. The whole is in the details.
	maxMessage = 4 << 10
	// smallFields are how many bytes the fields of a reply have at most, as HTTP/2 counts them, without its metadata, the message of its error
	// and the details.
	smallFields = 512
)

// sizeOfFields is how many bytes the fields of a header block have at most, without those that tell of an error.
func sizeOfFields(m weft.Metadata) int64 {
	n := smallFields
	for k, v := range m.All() {
		n += len(k) + base64.RawStdEncoding.EncodedLen(len(v)) + http2.FieldSize
	}
	return int64(n)
}

// appendStatus appends the fields that tell of an error, of which the message and the details may have most bytes: many clients take
// 8 KiB, and reset a call with more. The details go first.
func appendStatus(e *hpack.Encoder, b []byte, err *weft.Error, most int64) []byte {
	details := detailsOf(err)
	if n := int64(len(details) + len(detailsName) + http2.FieldSize); n > most || len(details) > 2*maxMessage {
		details = ""
	} else if details != "" {
		most -= n
	}
	most -= int64(len(messageName) + http2.FieldSize)
	b = e.Literal(b, statusName, strconv.FormatUint(uint64(err.Code), 10))
	b = e.Literal(b, messageName, percent.EncodeMost(err.Message, int(min(most, maxMessage))))
	if details != "" {
		b = e.Literal(b, detailsName, details)
	}
	if ms, ok := pushback(err); ok {
		b = e.Literal(b, pushbackName, ms)
	}
	switch err.Outcome {
	case weft.Refused, weft.NotSent:
		b = e.Literal(b, outcomeName, outcomeRefused)
	case weft.Executed:
		b = e.Literal(b, outcomeName, outcomeExecuted)
	}
	return b
}

// refuse answers a call that does not run, on the goroutine that reads.
func (s *serverConn) refuse(x *call, e *weft.Error) {
	s.release(x)
	x.refused, x.fast, x.body = true, true, nil
	x.Fail(e, weft.Metadata{})
}

// Stream implements weft.Inbound.
func (x *call) Stream(ctx context.Context) weft.RawStream {
	return x.in.serve(ctx)
}
