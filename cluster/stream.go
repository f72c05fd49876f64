package cluster

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/breaker"
)

// OpenStream opens a streaming call on one of the servers; the function
// weft.OpenStream gives it types. It stays on that server. Another one is tried only
// while nothing was sent.
func (c *Client) OpenStream(ctx context.Context, name string, sample any, opts ...weft.CallOption) (weft.RawStream, error) {
	m, err := c.method(name)
	if err != nil {
		return nil, err
	}
	v := m.service.view.Load()
	if !v.known() {
		if v, err = c.waitFor(ctx, m, opts); err != nil {
			return nil, err
		}
	}
	p := m.policyUnder(c, v.rules)
	x := &call{c: c, m: m, v: v, p: p, target: anywhere(), ctx: ctx, opts: opts}
	now := c.now()
	x.side = rand.Uint64()
	x.pick = balance.Call{Method: name, Key: c.keyOf(ctx, name, sample), Random: x.side, Now: now}
	if v.rules != nil {
		x.route()
	}
	if err := m.limits.enter(p, name, now); err != nil {
		return nil, err
	}
	opened := false
	defer func() {
		if !opened { // or the user's code in it has panicked
			m.limits.leave(p)
		}
	}()
	end, err := x.open(sample)
	opened = err == nil
	return end, err
}

// open opens the stream on one server after the other.
func (x *call) open(sample any) (weft.RawStream, error) {
	for {
		s := x.picked() // a stream may be quiet for long, and so is no probe
		if s == nil {
			return nil, x.noServer()
		}
		end, err := x.openOn(s, sample)
		if e, ok := asError(err); err == nil || !ok || e.Outcome != weft.NotSent || e.Code != weft.Unavailable ||
			x.p.failMode == Failfast || x.pick.Tried.Len() == triedMost {
			return end, err
		}
		x.pick.Tried.Add(s.stats)
		x.pick.Now, x.pick.Random = x.c.now(), rand.Uint64()
	}
}

func (x *call) openOn(s *server, sample any) (weft.RawStream, error) {
	l := s.link.Load()
	if l == nil {
		return nil, x.noLink(s)
	}
	b := s.breaker(x.m.number)
	if !b.AllowStream(x.pick.Now) {
		return nil, breakerOpen(x.m.name, s.address)
	}
	s.used.Store(true)
	// For the balancer a stream is no call: that it lasts, or that nothing comes for
	// hours, must not look like a server that hangs.
	s.health.BeginStream(x.pick.Now)
	st := &stream{x: x, s: s, l: l, b: b}
	defer func() {
		if st.RawStream == nil {
			st.tell(canceled()) // the user's code has panicked, or the error was told before
		}
	}()
	end, err := l.client.OpenStream(x.ctx, x.m.name, sample, x.opts...)
	if err != nil {
		err = x.unlessLeft(l, err)
		st.tell(err)
		return nil, err
	}
	st.RawStream = end
	// Whoever ends the context of a stream need not look at it again.
	st.forget = context.AfterFunc(x.ctx, func() {
		st.tell(canceled())
		st.leave()
	})
	return st, nil
}

func canceled() error { return &weft.Error{Code: weft.Canceled, Outcome: weft.OutcomeUnknown} }

// stream is a stream that tells how it goes: its first message, or its failure
// before that, says whether the server works.
type stream struct {
	weft.RawStream
	x      *call
	s      *server
	l      *link
	b      *breaker.Breaker
	told   sync.Once
	ended  sync.Once
	forget func() bool // when it has ended, nobody waits for the end of its context
}

func (s *stream) tell(err error) {
	s.told.Do(func() {
		now := s.x.c.now()
		took := now - s.x.pick.Now
		v := verdict{}
		if err != nil && !errors.Is(err, io.EOF) {
			v = judge(s.x.ctx, err, s.l.client.Peer() != nil)
		}
		s.s.health.EndStream(now, took, v.health)
		s.b.DoneStream(now, took, v.breaker)
		if v.gone != "" {
			s.s.fell(s.l, v.gone)
		}
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

func (s *stream) leave() { s.ended.Do(func() { s.x.m.limits.leave(s.x.p) }) }
