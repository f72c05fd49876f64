package grpc

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/door/grpc/internal/routes"
	"github.com/weftrpc/weft/door/internal/hpack"
	"github.com/weftrpc/weft/door/internal/http2"
	"github.com/weftrpc/weft/door/internal/jobs"
	"github.com/weftrpc/weft/internal/fence"
)

// serverConn is one connection of the door.
type serverConn struct {
	*weft.DoorConn
	door   *door
	conn   *http2.Conn
	limits weft.Limits

	// The next fields belong to the goroutine that reads.
	other  Other // nil: requests that are none of gRPC are told so
	req    request
	inline *call     // runs on that goroutine
	spare  []*call   // memory of calls that are over, which is zero
	jobs   jobs.Jobs // calls of this batch that go to a worker together
	routes routes.Routes
	codecs map[string]*replies // by name
	usual  *replies            // in the codec of the last call

	fence fence.Fence  // contains what Config.Leading does
	held  atomic.Int64 // bytes of messages that have come in part, or wait for streams to read them

	ok hpack.Known // grpc-status: 0; under the lock of conn
}

// request is what a header block says.
type request struct {
	pairs    pairs
	path     *routes.Place
	codec    string
	grpc     bool
	post     bool
	head     bool
	timed    bool // there is a timeout
	timeout  time.Duration
	badTime  bool
	encoding string
	accepts  string
	fields   []string // for Other, all of them
	marks
}

// replies is how replies in a codec begin.
type replies struct {
	codec codec.Codec // nil: there is none of the name
	sizer codec.Sizer
	name  string
	begin hpack.Known
}

// repliesIn is how replies in a codec begin. There are as many as a client names codecs that the server has, and one for all others.
func (s *serverConn) repliesIn(name string) *replies {
	if r := s.usual; r != nil && r.name == name && r.codec != nil {
		return r
	}
	if r := s.codecs[name]; r != nil {
		s.usual = r
		return r
	}
	if s.codecs == nil {
		s.codecs = make(map[string]*replies)
	}
	c := s.Codec(name)
	key := name
	if c == nil {
		key, name = "", protobufName
		if r := s.codecs[key]; r != nil {
			return r
		}
	}
	z, _ := c.(codec.Sizer)
	r := &replies{codec: c, sizer: z, name: name, begin: hpack.Known{Name: contentType, Value: typeOf(name)}}
	s.codecs[key] = r
	return r
}

// Field implements http2.Handler.
func (s *serverConn) Field(f *hpack.Field) {
	r := &s.req
	if f == nil {
		*r = request{fields: r.fields[:0]}
		return
	}
	if s.other != nil {
		r.keepField(f)
	}
	switch f.Kind {
	case hpack.Method:
		r.post, r.head = f.OK, f.Num == methodHEAD
	case hpack.Path:
		r.path, _ = f.Data.(*routes.Place)
	case kindContentType:
		r.codec, r.grpc = f.Value, f.OK
	case kindTimeout:
		r.timed, r.timeout, r.badTime = true, time.Duration(min(f.Num, math.MaxInt64)), !f.OK
	case kindEncoding:
		r.encoding = f.Value
	case kindAcceptEncoding:
		r.accepts = f.Value
	case kindAttempts:
		if f.OK {
			r.attempt = int(min(f.Num, math.MaxInt32))
		}
	case kindPriority:
		r.priority = weft.Priority(f.Num)
	case hpack.Other:
		if s.other == nil || !ignored(f.Name) {
			r.pairs.add(f)
		}
	}
}

// maxSpare is how many calls a connection keeps the memory of. Most calls of fast methods end before the next one begins.
const maxSpare = 16

// Open implements http2.Handler.
func (s *serverConn) Open() *http2.Stream {
	x := (*call)(nil)
	if n := len(s.spare) - 1; n >= 0 {
		x, s.spare = s.spare[n], s.spare[:n]
	} else {
		x = new(call)
	}
	x.c, x.st.Owner = s, x
	return &x.st
}

// Headers implements http2.Handler.
func (s *serverConn) Headers(st *http2.Stream, b http2.Block) (stays bool) {
	x := st.Owner.(*call)
	if x.opened { // trailers of a request mean nothing
		return s.data(x, nil, true)
	}
	x.opened = true
	if e := s.fill(x, b); e != nil {
		s.refuse(x, e)
		return true
	}
	if x.refused || x.other != nil {
		return true
	}
	if x.route.Kind != weft.Unary {
		s.stream(x, b.End)
		return true
	}
	if x.route.Method == nil {
		// It may be a stream, whose end need not come before an answer.
		stays = s.begin(x, make([]byte, prefixSize), true)
		x.refused = true
		return stays
	}
	if b.End {
		return s.data(x, nil, true)
	}
	return true
}

// fill takes over what a header block says. The error refuses the call.
func (s *serverConn) fill(x *call, b http2.Block) *weft.Error {
	r := &s.req
	x.replies = s.repliesIn(r.codec)
	switch {
	case b.TooLarge:
		return refused(weft.ResourceExhausted, weft.ReasonMetadataTooLarge, "the header has more than the %d bytes that Limits.MaxMetadata of the server allows", s.limits.MaxMetadata)
	case s.other != nil && !r.grpc:
		s.pass(x, b.End)
		return nil
	case !r.post:
		s.answerHTTP(x, "405")
		return nil
	case !r.grpc:
		s.answerHTTP(x, "415")
		return nil
	case r.path == nil:
		r.path = &routes.Place{Route: new(routes.Route)}
	default:
		s.routes.Renew(r.path)
	}
	x.route = r.path.Route
	x.marks = r.marks
	if r.timed {
		x.due = s.conn.ReadAt() + int64(min(r.timeout, longest))
	}
	x.meta = r.pairs.metadata()
	if n := r.pairs.size(); n > smallMetadata {
		x.large = n
		if room := s.hold(n); !room {
			s.hold(-n)
			x.large = 0
			return tooManyBytes()
		}
		x.held += n
	}
	switch {
	case r.badTime:
		return refused(weft.InvalidArgument, "", "the value of grpc-timeout is none")
	case r.pairs.wrong != "":
		return refused(weft.InvalidArgument, "", "%s", r.pairs.wrong)
	case x.meta.Len() != len(r.pairs.all)/2:
		return refused(weft.ResourceExhausted, weft.ReasonMetadataTooLarge, "the metadata has too many pairs or too long keys: %d pairs", len(r.pairs.all)/2)
	case x.replies.codec == nil:
		return refused(weft.Unimplemented, weft.ReasonNoCodec, "there is no codec %q here; there are %s", r.codec, codecNames(s.Codecs()))
	}
	if r.encoding != "" && r.encoding != identity {
		if x.restore = compressorNamed(s.Compressors(), r.encoding); x.restore == nil {
			x.tells = true
			return refused(weft.Unimplemented, weft.ReasonDecompress, "there is no compressor %q here; there are %s", r.encoding, namesOf(s.Compressors()))
		}
	}
	if z := s.Compressor(); z != nil && accepts(r.accepts, z.Name()) {
		x.compress = z
	}
	return nil
}

// smallMetadata is how many bytes of metadata are not counted as held.
const smallMetadata = 1 << 10

// codecNames is the list of the names of codecs.
func codecNames(all []codec.Codec) string {
	names := make([]string, 0, len(all))
	for _, c := range all {
		names = append(names, c.Name())
	}
	return strings.Join(names, ", ")
}

// longest is a timeout that is none.
const longest = 24 * 365 * time.Hour

// refused is the error of a call that does not reach its handler.
func refused(code weft.Code, reason, format string, args ...any) *weft.Error {
	return &weft.Error{Code: code, Outcome: weft.Refused, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// identity is the name of the compression that is none.
const identity = "identity"

func compressorNamed(all []compress.Compressor, name string) compress.Compressor {
	for _, z := range all {
		if z.Name() == name {
			return z
		}
	}
	return nil
}

// Data implements http2.Handler.
func (s *serverConn) Data(st *http2.Stream, p []byte, end bool) (stays bool) {
	return s.data(st.Owner.(*call), p, end)
}

// data takes a piece of the body of a call.
func (s *serverConn) data(x *call, p []byte, end bool) (stays bool) {
	switch {
	case x.refused:
		return true
	case x.other != nil:
		x.other.Data(p, end)
		return true
	case x.in != nil:
		x.in.push(p, end)
		return true
	}
	if len(x.body) == 0 && end && len(p) >= prefixSize && len(p)-prefixSize == sizeOf(p) {
		return s.begin(x, p, false)
	}
	x.body = append(x.body, p...)
	room := s.hold(len(p))
	x.held += len(p)
	if e := s.fits(x, room); e != nil {
		s.refuse(x, e)
		return true
	}
	if !end {
		s.conn.GiveLater(&x.st, len(p))
		return true
	}
	if len(x.body) == 0 {
		s.refuse(x, refused(weft.Unimplemented, "", "no message came for a unary method, which takes one"))
		return true
	}
	if len(x.body) < prefixSize || len(x.body)-prefixSize < sizeOf(x.body) {
		s.refuse(x, refused(weft.Internal, "", "the request ended before its message was whole: a unary call has exactly one"))
		return true
	}
	return s.begin(x, x.body, true)
}

// hold counts bytes of messages that have come, and reports whether there may be so many.
func (s *serverConn) hold(n int) bool {
	room := s.Hold(n)
	return s.held.Add(int64(n)) <= int64(s.limits.MaxCallBytes) && room
}

func tooManyBytes() *weft.Error {
	return refused(weft.ResourceExhausted, weft.ReasonTooManyBytes, "the requests in flight have too many bytes, on this connection (the server's Limits.MaxCallBytes) or on all (its MaxMemory); try again later")
}

// fits tells what is wrong with the message that has come so far. room says whether there may be so many bytes.
func (s *serverConn) fits(x *call, room bool) *weft.Error {
	if !room {
		return tooManyBytes()
	}
	if len(x.body) < prefixSize {
		return nil
	}
	if n := sizeOf(x.body); n > s.limits.MaxMessage {
		return tooLong(n, theServer, s.limits.MaxMessage)
	} else if len(x.body)-prefixSize > n {
		return refused(weft.Unimplemented, "", "more than one message came for a unary method")
	}
	return nil
}

// begin runs a unary call whose message is whole: on this goroutine if its method is fast and its message is not compressed, since what that
// becomes may have to wait for its turn, and else on a worker. owned says that the message may be kept.
func (s *serverConn) begin(x *call, framed []byte, owned bool) (stays bool) {
	message := framed[prefixSize:]
	if e := x.checkFlag(framed[0]); e != nil {
		s.refuse(x, e)
		return true
	}
	if len(message) > s.limits.MaxMessage {
		s.refuse(x, tooLong(len(message), theServer, s.limits.MaxMessage))
		return true
	}
	x.compressed = framed[0] == 1
	m := x.route.Method
	few := m != nil && !x.compressed && !s.Replies().Crowded() && len(message) <= largestInline
	fast := few && (m.Fast() || s.door.here)
	together := few && !fast && m.Short()
	if !fast && !owned {
		message = append([]byte(nil), message...)
	}
	x.message, x.fast = message, fast || together
	if !x.start(len(message), fast) {
		return true
	}
	s.release(x)
	switch {
	case fast:
		return s.runHere(x)
	case together:
		s.jobs.Add(s, x)
	default:
		s.Go(x.Run)
	}
	return true
}

// largestInline is the largest message that is decoded on the goroutine that reads.
const largestInline = 64 << 10

// runHere runs a call on the goroutine that reads.
func (s *serverConn) runHere(x *call) (stays bool) {
	s.inline = x
	turn := s.conn.Guard().Enter()
	defer func() {
		if !stays { // the handler was held up, or has ended this goroutine
			s.conn.Lock()
			s.conn.FlushAndUnlock(false)
		}
	}()
	x.Run()
	if !s.conn.Guard().Leave(turn) {
		return false
	}
	s.inline = nil
	if x.over && len(s.spare) < maxSpare && x.Renew() {
		x.rest = rest{}
		s.spare = append(s.spare, x)
	}
	return true
}

// stalled is told that the goroutine that reads was held up.
func (s *serverConn) stalled() {
	if x := s.inline; x != nil {
		x.route.Method.Stalled()
		s.inline = nil
	}
}

// release gives back what a call has counted of messages that come in part.
func (s *serverConn) release(x *call) {
	if x.held != 0 {
		s.hold(-x.held)
		x.held = 0
	}
}

// FlushReplies implements jobs.Conn.
func (s *serverConn) FlushReplies() {
	s.conn.Lock()
	s.conn.FlushAndUnlock(s.conn.StreamsLocked() > 0)
}

// Closed implements http2.Handler.
func (s *serverConn) Closed(st *http2.Stream, why *http2.Ending) { st.Owner.(*call).abandon(why.Lost) }
