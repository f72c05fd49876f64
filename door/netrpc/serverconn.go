package netrpc

import (
	"fmt"
	"runtime/debug"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/gob"
	"github.com/weftrpc/weft/door/internal/combine"
	"github.com/weftrpc/weft/door/internal/jobs"
	"github.com/weftrpc/weft/door/netrpc/internal/header"
	"github.com/weftrpc/weft/internal/flights"
)

// serverConn is one connection of the door.
type serverConn struct {
	*weft.DoorConn
	door  *door
	codec codec.Codec
	out   *combine.Writer
	open  flights.Flights // calls that were begun and not answered
	ended chan error      // gets why the reading has ended

	// What follows belongs to the goroutine that reads.

	source  *source
	in      *gob.Reader
	header  []byte // room for one
	body    []byte // the same, until a call that runs on another goroutine takes it
	known   header.Known
	methods map[string]*method
	run     jobs.Reader
	spare   *call // the memory of a call that has run on that goroutine; nil: there is none
}

// method is what is known of a name.
type method struct {
	name  string
	found *weft.DoorMethod // nil: there is none
}

const (
	// maxHeader is how many bytes the header of a request may have, with the descriptions of its
	// types: the name of its method is held while the call is under way, and goes into its answer.
	maxHeader = 4 << 10
	// maxMethods is how many methods a connection remembers.
	maxMethods = 1024
	// largestInline is the largest request that is decoded on the goroutine that reads, in a buffer that is used again.
	largestInline = 64 << 10
)

// read takes requests off the connection until it ends, or another goroutine reads on.
func (s *serverConn) read() {
	defer func() {
		if p := recover(); p != nil {
			s.Logger().Error("net/rpc: the reader of a connection panicked", "panic", p, "stack", string(debug.Stack()))
			s.ended <- weft.Errorf(weft.Internal, "the reader of the connection panicked")
		}
	}()
	for {
		x, why := s.next()
		if x == nil {
			s.endBatch()
			s.ended <- why
			return
		}
		if !s.begin(x) {
			return
		}
	}
}

// next reads a request. nil: the connection has ended, with an error or as it should.
func (s *serverConn) next() (x *call, why error) {
	var err error
	if s.header, err = s.in.Next(s.header[:0]); err != nil {
		return nil, ended(err)
	}
	if len(s.header) > maxHeader {
		return nil, broken(fmt.Errorf("a header of %d bytes came, at most %d are allowed", len(s.header), maxHeader))
	}
	name, seq, ok := s.known.Parse(s.header)
	if !ok {
		var h header.Request
		if err := s.codec.Decode(s.header, &h); err != nil {
			return nil, broken(err)
		}
		s.known.Learn(s.header)
		name, seq = []byte(h.ServiceMethod), h.Seq
	}
	m := s.method(name)
	if s.body, err = s.in.Next(s.body[:0]); err != nil {
		return nil, ended(err)
	}
	s.source.whole()
	x = s.spare
	if s.spare = nil; x == nil {
		x = new(call)
	}
	x.s, x.seq, x.method, x.body, x.batch = s, seq, m, s.body, true
	return x, nil
}

// endBatch has the calls that were read run, and the replies that are there written. It is called
// before the goroutine that reads may wait.
func (s *serverConn) endBatch() {
	s.run.Submit()
	s.FlushReplies()
}

// FlushReplies implements jobs.Conn.
func (s *serverConn) FlushReplies() { s.out.Flush(s.open.Count() > 0) }

// readOn has another goroutine read on, while a call has body.
func (s *serverConn) readOn() {
	s.body = nil
	s.Go(s.read)
}

// method looks a method up.
func (s *serverConn) method(name []byte) *method {
	m := s.methods[string(name)]
	if m != nil && !m.found.Stale() {
		return m
	}
	m = &method{name: string(name)}
	if m.found = s.Method(m.name); m.found != nil { // names of methods that there are not would take room for nothing
		if len(s.methods) >= maxMethods {
			clear(s.methods)
		}
		s.methods[m.name] = m
	}
	return m
}

// begin runs a call: on this goroutine if its method is fast, and else on a worker. It reports
// whether this goroutine reads on.
func (s *serverConn) begin(x *call) (stays bool) {
	if !s.open.Enter() {
		x.respond(&weft.Error{Code: weft.Unavailable, Outcome: weft.Refused, Reason: weft.ReasonDraining,
			Message: "the server is shutting down; call another server"})
		return true
	}
	m := x.method.found
	here := m != nil && len(x.body) <= largestInline && !s.Replies().Crowded()
	fast := here && m.Fast()
	if !fast {
		s.body = nil
	}
	if !s.BeginIn(&x.DoorCall, &weft.Head{Method: x.method.name, Codec: s.codec.Name(), Size: len(x.body), Found: m, Here: fast}, x) {
		return true
	}
	switch {
	case fast:
		return s.runHere(x)
	case here && m.Short():
		s.run.Add(x)
	default:
		x.batch = false
		s.Go(x.Run)
	}
	return true
}

// runHere runs a call on the goroutine that reads.
func (s *serverConn) runHere(x *call) (stays bool) {
	if !s.run.RunHere(x) {
		return false
	}
	if x.Renew() {
		*x = call{}
		s.spare = x
	}
	return true
}
