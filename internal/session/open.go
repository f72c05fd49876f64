package session

import (
	"context"
	"net"
	"time"

	"github.com/weftrpc/weft/internal/greeting"
	"github.com/weftrpc/weft/internal/wire"
)

// Open makes a session of a connection that this side has made, without waiting for the server's hello: the first calls leave together with
// this side's own. Until the server's hello has come calls are held to what any server takes, and those beyond it wait. The session needs
// Attend.
//
// When the server refuses the connection the session ends with the server's status, and calls sent meanwhile end as NotSent: a server that
// refuses a connection reads none. When the connection is lost before the hello has come, their outcome is Unknown.
func Open(conn net.Conn, cfg *Config, credential string) *Session {
	s := newSession(conn, cfg)
	s.peer.hello.Store(&unmet)
	s.out.barred = cfg.Checksum // which changes all frames: none may leave before the hellos are known
	s.w.BeginWith(cfg.appendGreeting(make([]byte, 0, greetingSize), credential))
	s.start(nil, 0, 0)
	s.reading.current.early = true
	return s
}

// Met reports whether the peer has accepted this side: its hello has come.
func (s *Session) Met() bool { return s.peer.met() }

// greeted takes the hello of a server to which calls may have been sent already.
func (s *Session) greeted(h *wire.Hello) {
	s.w.Lock()
	s.sum = s.cfg.Checksum && h.Features&wire.FeatureChecksum != 0
	s.w.ChecksumLocked(s.sum)
	s.peer.greet(h)
	s.out.Limit(h.MaxCalls)
	s.out.barred = s.out.goneAway
	s.out.Streams(func(st *Stream) { st.credit(h) })
	s.w.Unlock()
}

// metSoon returns a channel that is closed when the server's hello has come, and has the hello sent and read.
func (s *Session) metSoon() <-chan struct{} {
	met := s.peer.soon()
	s.direct.rouse() // which sends the hello, if no call has
	return met
}

// Meet waits until the server's hello has come, within the time of a call that is going to be made.
func (s *Session) Meet(ctx context.Context, c *Call) *wire.Status {
	if s.Met() {
		return nil
	}
	c.limit(now())
	return s.awaitHello(ctx, c.Deadline)
}

// awaitHello waits for the server's hello on behalf of a call that needs to know it. A deadline of zero is none.
func (s *Session) awaitHello(ctx context.Context, deadline int64) *wire.Status {
	met := s.metSoon()
	var late <-chan time.Time
	if deadline != 0 {
		t := time.NewTimer(time.Duration(deadline - now()))
		defer t.Stop()
		late = t.C
	}
	var st *wire.Status
	select {
	case <-met:
		return nil
	case <-s.closed:
		s.w.Lock()
		st = s.out.mayOpenLocked()
		s.w.Unlock()
		return st
	case <-ctx.Done():
		st = fromContext(ctx)
	case <-late:
		st = tooLate()
	}
	st.Outcome = wire.NotSent
	return st
}

// greet takes the server's hello from the buffer. It returns known false while it has not
// come whole, and ok false when the server has rejected this side.
func (rd *reader) greet() (known, ok bool) {
	s := rd.s
	h, size, err := greeting.Parse(rd.in.Unread(), greeting.ParseHello)
	if err != nil {
		s.fail(greeting.Status(err, s.cfg.Limits.HandshakeTimeout))
		return false, false
	}
	if h == nil {
		return false, true
	}
	rd.in.Skip(size)
	rd.early = false
	s.greeted(h)
	return true, true
}
