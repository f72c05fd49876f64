package rpcx

import (
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/door/internal/jobs"
	"github.com/weftrpc/weft/door/rpcx/internal/frame"
	"github.com/weftrpc/weft/door/rpcx/internal/outbox"
	"github.com/weftrpc/weft/internal/flights"
)

// serverConn is one connection of the door.
type serverConn struct {
	*weft.DoorConn
	d      *door
	conn   net.Conn
	limits weft.Limits
	gzip   compress.Compressor
	out    *outbox.Outbox
	ended  chan error    // gets why the reading has ended
	done   chan struct{} // closed when Serve returns

	open   flights.Flights // calls that were begun and not answered
	oneway flights.Flights // those of them that are one-way
	weft   atomic.Bool     // the peer is a client of weft
	pushed atomic.Uint64   // the number of the last message to the client

	reading
	loop
	known
	directory directory
}

// reading is whether and how long the connection is read.
type reading struct {
	mu       sync.Mutex
	over     bool      // nothing more is read
	limited  bool      // the connection has a read deadline
	until    time.Time // of the read deadline, if it is fixed
	admitted bool
}

// loop is the goroutine that reads, and what it is doing.
type loop struct {
	rd    *frame.Reader
	run   jobs.Reader
	spare *call // the memory of a call that has run on it; nil: there is none
}

// known is what the goroutine that reads remembers.
type known struct {
	routes map[string]*route // by Frame.Names
	codecs [serials]*serial
	pairs  []string // room for metadata
}

// directory knows which services there are.
type directory struct {
	mu       sync.Mutex
	services map[string]bool
	changes  uint64 // Services.Changes when services was made
}

// route is what a path and a method lead to.
type route struct {
	names  []byte // as they stand in a frame; nil: too long to be sent back
	name   string // "Service.Method"
	path   int    // bytes of the path in it
	method *weft.DoorMethod
}

// serial is a codec under its number.
type serial struct {
	codec codec.Codec
	sizer codec.Sizer
	name  string
}

const (
	// maxRoutes is how many names of methods a connection keeps.
	maxRoutes = 1024
	// maxNames is how many bytes names have that are kept and sent back.
	maxNames = 600
)

// echoed is a copy of names for replies.
func echoed(names []byte) []byte {
	if len(names) > maxNames {
		return nil
	}
	return append([]byte(nil), names...)
}

// routeOf finds the method of a frame.
func (s *serverConn) routeOf(f *frame.Frame) *route {
	r := s.routes[string(f.Names)]
	if r == nil {
		r = &route{name: string(f.Path) + "." + string(f.Method), path: len(f.Path), names: echoed(f.Names)}
	}
	if r.method != nil && !r.method.Stale() || r.names == nil || len(f.Path) == 0 || len(f.Method) == 0 {
		return r
	}
	if m := s.Method(r.name); m != nil {
		if r.method == nil { // names of methods that there are not would take room for nothing
			if len(s.routes) >= maxRoutes {
				clear(s.routes)
			}
			s.routes[string(f.Names)] = r
		}
		r.method = m
	}
	return r
}

// serialOf is the codec with a number; nil: there is none.
func (s *serverConn) serialOf(n byte) *serial {
	if c := s.codecs[n]; c != nil {
		return c
	}
	name := s.d.names[n]
	if name == "" {
		return nil
	}
	c := s.Codec(name)
	if c == nil {
		return nil
	}
	c = asRpcx(c)
	z, _ := c.(codec.Sizer)
	s.codecs[n] = &serial{codec: c, sizer: z, name: name}
	return s.codecs[n]
}

// compressor is the one with a number; nil: there is none.
func (s *serverConn) compressor(n byte) compress.Compressor {
	name := s.d.compressors[n]
	for _, z := range s.Compressors() {
		if name != "" && z.Name() == name {
			return z
		}
	}
	if n == compressGzip {
		return s.gzip
	}
	return nil
}

// read takes frames off the connection until it ends or another goroutine reads on.
func (s *serverConn) read(rd *frame.Reader) {
	for {
		if !rd.Ready() {
			if stays, err := s.endBatch(); !stays {
				return
			} else if err != nil {
				s.finish(err)
				return
			}
		}
		f, err := rd.Next()
		if err == nil {
			var stays bool
			if stays, err = s.take(&f); !stays {
				return
			}
		}
		if err != nil {
			s.finish(err)
			return
		}
	}
}

// finish notes the end of the reading.
func (s *serverConn) finish(err error) {
	s.run.Submit()
	s.FlushReplies()
	s.ended <- err
}

// readOn has another goroutine read on.
func (s *serverConn) readOn() {
	s.rd = s.rd.Split()
	rd := s.rd
	s.Go(func() { s.read(rd) })
}

// endBatch has what was appended written. The write may block while the peer does not read: then
// another goroutine reads on.
func (s *serverConn) endBatch() (stays bool, err error) {
	s.run.Submit()
	o := s.out
	o.Lock()
	switch {
	case len(o.BufferLocked()) > s.flood():
		o.BreakLocked(net.ErrClosed)
		o.Unlock()
		return true, weft.Errorf(weft.ResourceExhausted, "the peer makes calls and does not read the replies").WithReason(weft.ReasonSlowReader)
	case o.IdleLocked():
		o.Unlock()
		return true, nil
	}
	turn := s.run.Guard.Enter()
	o.FlushAndUnlock(false)
	return s.run.Guard.Leave(turn), nil
}

// flood is how many bytes may wait to be written before the peer is taken for hostile: replies wait for room, refusals
// and answers to heartbeats do not.
func (s *serverConn) flood() int { return 4*s.limits.WriteBuffer + s.limits.MaxMessage + 1<<20 }

// maxHeartbeat is how many bytes a heartbeat may have behind its header, beside its metadata.
const maxHeartbeat = 1 << 10

// take handles one frame.
func (s *serverConn) take(f *frame.Frame) (stays bool, err error) {
	switch {
	case f.Has(frame.Response):
		return true, breach("a client sent a response")
	case f.TooLong != 0:
		s.refuse(f, refusal(weft.ResourceExhausted, weft.ReasonMessageTooLarge, "the request has %d bytes, Limits.MaxMessage of the server allows %d", f.TooLong, s.limits.MaxMessage))
		return true, nil
	case f.Has(frame.Heartbeat):
		// The metadata of the first frame has the credential of the connection.
		if n, meta := len(f.Names)+len(f.Payload), len(f.Meta); n > maxHeartbeat || meta > s.limits.MaxMetadata {
			return true, breach("a heartbeat has %d bytes and %d of metadata, at most %d and %d are allowed", n, meta, maxHeartbeat, s.limits.MaxMetadata)
		}
		s.beat(f)
		return true, nil
	}
	return s.begin(f)
}

// beat answers a heartbeat by the same frame without metadata.
func (s *serverConn) beat(f *frame.Frame) {
	o := s.out
	o.Lock()
	defer o.Unlock()
	if o.EndedLocked() {
		return
	}
	b, at := frame.Begin(o.BufferLocked(), f.Flags|frame.Response, f.Serial, f.Seq, f.Names)
	b = frame.AppendPart(b, "")
	b = frame.AppendPart(b, string(f.Payload))
	frame.End(b, at)
	o.SetBufferLocked(b)
}

// refuse answers a call that is not begun.
func (s *serverConn) refuse(f *frame.Frame, e *weft.Error) {
	if f.Has(frame.Oneway) {
		return
	}
	x := &call{s: s, seq: f.Seq, serial: f.Serial, names: echoed(f.Names), batch: true}
	x.refused(e)
}

// largestInline is the largest request that is decoded on the goroutine that reads.
const largestInline = 64 << 10

// begin runs a call: on this goroutine if its method is fast and its request is not compressed, since what that becomes may have to wait
// for its turn, and else on a worker.
func (s *serverConn) begin(f *frame.Frame) (stays bool, err error) {
	r := s.routeOf(f)
	x := s.spare
	if s.spare = nil; x == nil {
		x = new(call)
	}
	x.s, x.route, x.method, x.names, x.batch = s, r, r.method, r.names, true
	x.seq, x.serial, x.oneway = f.Seq, f.Serial, f.Has(frame.Oneway)
	head := weft.Head{Method: r.name, Oneway: x.oneway, Size: len(f.Payload), Found: r.method}
	if e := s.fill(x, f, &head); e != nil {
		x.refused(e)
		return true, nil
	}
	m := r.method
	here := m != nil && x.compressor == nil && len(f.Payload) <= largestInline && !s.out.Full()
	fast := here && m.Fast()
	together := here && !fast && m.Short()
	x.payload = f.Payload
	if !fast && !f.Owned {
		x.payload = append([]byte(nil), f.Payload...)
	}
	if !s.open.Enter() {
		x.refused(&weft.Error{Code: weft.Unavailable, Outcome: weft.Refused, Reason: weft.ReasonDraining,
			Message: "the server is shutting down; call another server"})
		return true, nil
	}
	x.counted = true
	if x.oneway {
		s.oneway.Enter()
	}
	head.Here = fast
	if !s.BeginIn(&x.DoorCall, &head, x) {
		return true, nil
	}
	x.batch = fast || together
	switch {
	case fast:
		if !s.run.RunHere(x) {
			return false, nil
		}
		if x.Renew() {
			*x = call{}
			s.spare = x
		}
	case together:
		s.run.Add(x)
	default:
		s.Go(x.Run)
	}
	return true, nil
}

// FlushReplies implements jobs.Conn.
func (s *serverConn) FlushReplies() {
	s.out.Lock()
	s.out.FlushAndUnlock(s.open.Count() > 0)
}

// fill takes over what a frame says of its call. The error refuses it.
func (s *serverConn) fill(x *call, f *frame.Frame, head *weft.Head) *weft.Error {
	if x.codec = s.serialOf(f.Serial); x.codec == nil {
		return refusal(weft.Unimplemented, weft.ReasonNoCodec, "there is no codec with the number %d here", f.Serial)
	}
	head.Codec = x.codec.name
	if e := s.fillMetadata(f.Meta, head); e != nil {
		return e
	}
	if len(f.Payload) > s.limits.MaxMessage {
		return refusal(weft.ResourceExhausted, weft.ReasonMessageTooLarge, "the request has %d bytes, Limits.MaxMessage of the server allows %d", len(f.Payload), s.limits.MaxMessage)
	}
	if n := f.Compression(); n != compressNone {
		if x.compressor = s.compressor(n); x.compressor == nil {
			return refusal(weft.Unimplemented, weft.ReasonDecompress, "there is no compressor with the number %d here", n)
		}
		x.compression = n
	}
	return nil
}

// has reports whether any method of a service is registered.
func (d *directory) has(all *weft.Services, name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := all.Changes(); d.services == nil || now != d.changes {
		d.services, d.changes = make(map[string]bool), now
		for _, info := range all.Describe() {
			d.services[info.Name] = true
		}
	}
	return d.services[name]
}

// textFor is the text of an error for clients of rpcx.
func (x *call) textFor(e *weft.Error) string {
	switch {
	case e.Reason == weft.ReasonNoMethod && x.route != nil && x.names != nil:
		service, method := x.route.name[:x.route.path], x.route.name[x.route.path+1:]
		if !x.s.directory.has(x.s.Services(), service) {
			return textNoService + service
		}
		return textNoMethod + method
	case e.Reason == weft.ReasonNoCodec:
		return textNoCodec + strconv.Itoa(int(x.serial))
	}
	return textOf(e)
}

// longest is the longest time that a client may ask for.
const longest = 24 * 365 * time.Hour
