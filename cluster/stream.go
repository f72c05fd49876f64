package cluster

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/breaker"
	"github.com/weftrpc/weft/cluster/health"
	"github.com/weftrpc/weft/cluster/internal/verdict"
)

// OpenStream opens a streaming call on one of the servers; the function weft.OpenStream gives it types. It stays on that server. Another
// one is tried only while nothing was sent. While it is not known which servers there are, or none can be reached, it waits as a call does:
// until the deadline of ctx, or for the configured timeout.
func (c *Client) OpenStream(ctx context.Context, name string, sample any, opts ...weft.CallOption) (weft.RawStream, error) {
	if len(c.around.streams) > 0 {
		return c.around.open(ctx, c, name, sample, opts)
	}
	return c.openStream(ctx, name, sample, opts)
}

func (c *Client) openStream(ctx context.Context, name string, sample any, opts []weft.CallOption) (weft.RawStream, error) {
	m, err := c.method(name)
	if err != nil {
		return nil, err
	}
	x := call{c: c, m: m, ctx: ctx, kind: streaming, args: sample, opts: opts, side: rand.Uint64(), began: c.now()}
	if err := x.prepare(); err != nil {
		return nil, err
	}
	m = x.m // its service may have been opened again
	if err := m.limits.Enter(x.p.most, name, x.pick.Now); err != nil {
		return nil, err
	}
	defer func() {
		if x.stream == nil { // or the user's code in it has panicked
			m.limits.Leave(x.p.most)
		}
	}()
	if err := m.service.throttled(&x, true); err != nil {
		return nil, err
	}
	s, err := x.attempt()
	if err != nil {
		err = x.failed(s, err)
	}
	if err == nil {
		m.streams.Add(1)
	}
	return x.stream, err
}

// open opens the stream on a server.
func (x *call) open(s *server, l *link, opts []weft.CallOption) (weft.RawStream, error) {
	b := s.breaker(x.m.number)
	if !b.AllowStream(x.pick.Now) {
		if x.leavesOut(s) {
			observer(x.c.cfg.Observe).tell(x, Event{Kind: BreakerRefused, Address: s.address})
			return nil, breakerOpen(x.m.name, s.address)
		}
		b.PassStream(x.pick.Now)
	}
	s.used.Store(true)
	// For the balancer a stream is no call: that it lasts, or that nothing comes for hours, must not look like a server that hangs.
	s.health.BeginStream(x.pick.Now)
	own := *x // calls must not be made on the heap because streams are
	st := &stream{x: &own, s: s, l: l, b: b, made: l.made.Load()}
	defer func() {
		if st.RawStream == nil {
			st.tell(canceled()) // the user's code has panicked, or the error was told before
		}
	}()
	observer(x.c.cfg.Observe).tell(x, Event{Kind: Picked, Address: s.address})
	end, err := l.client.OpenStream(x.ctx, x.m.name, x.args, opts...)
	if err != nil {
		err = l.unlessLeft(x.ctx, x.m.name, err)
		st.tell(err)
		return nil, err
	}
	st.RawStream = end
	// The application may end the context of a stream and not look at the stream again.
	st.forget = context.AfterFunc(x.ctx, func() {
		st.tell(canceled())
		st.leave()
	})
	return st, nil
}

func canceled() error { return &weft.Error{Code: weft.Canceled, Outcome: weft.OutcomeUnknown} }

// stream is a stream that tells how it goes: its first message, or its failure before that, says whether the server works.
type stream struct {
	weft.RawStream
	x      *call
	s      *server
	l      *link
	b      *breaker.Breaker
	made   uint32 // connections that had been made when it began
	told   sync.Once
	ended  sync.Once
	forget func() bool // removes what waits for the end of its context
}

func (s *stream) tell(err error) {
	s.told.Do(func() {
		now := s.x.c.now()
		took := now - s.x.pick.Now
		v := verdict.Verdict{}
		if err != nil && !errors.Is(err, io.EOF) {
			v = verdict.Of(s.x.ctx, err, s.l.client.Peer() != nil)
		}
		if v.Lost && !s.l.blame(s.made) {
			v.Health, v.Breaker = health.Canceled, breaker.Canceled
		}
		s.x.m.service.heed(s.x, err, now)
		s.s.health.EndStream(now, took, v.Health)
		s.b.DoneStream(now, took, v.Breaker)
		s.s.follow(s.l, v)
	})
}

// Recv implements weft.RawStream.
func (s *stream) Recv(msg any) error {
	err := s.RawStream.Recv(msg)
	s.tell(err)
	if err != nil {
		s.end()
	}
	return err
}

// Send implements weft.RawStream.
func (s *stream) Send(msg any) error {
	err := s.RawStream.Send(msg)
	if err != nil {
		s.tell(err)
		s.end()
	}
	return err
}

// CloseSend implements weft.RawStream.
func (s *stream) CloseSend() error {
	err := s.RawStream.CloseSend()
	if err != nil {
		s.tell(err)
		s.end()
	}
	return err
}

// Close implements weft.RawStream.
func (s *stream) Close() error {
	err := s.RawStream.Close()
	s.tell(canceled())
	s.end()
	return err
}

// end gives back the stream's place among the calls that may be in flight.
func (s *stream) end() {
	s.forget()
	s.leave()
}

func (s *stream) leave() { s.ended.Do(func() { s.x.m.limits.Leave(s.x.p.most) }) }
