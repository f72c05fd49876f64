package cluster

import (
	"context"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/breaker"
	"github.com/weftrpc/weft/cluster/health"
	"github.com/weftrpc/weft/cluster/internal/verdict"
)

// attempt picks a server that the call has not tried, and sends the call to it. The server is nil when none could be picked.
func (x *call) attempt() (*server, error) {
	s := x.choose()
	if s == nil {
		return nil, x.noServer()
	}
	return s, x.send(s, x.ctx, x.reply, x.opts)
}

// send makes one attempt and notes how it went.
func (x *call) send(s *server, ctx context.Context, reply any, opts []weft.CallOption) error {
	l := s.link.Load()
	if l == nil {
		return s.noLink(x.m.name)
	}
	if x.kind == streaming {
		var err error
		x.stream, err = x.open(s, l, opts)
		return err
	}
	b := s.breaker(x.m.number)
	now := x.pick.Now
	if !b.Allow(now) {
		if x.leavesOut(s) {
			observer(x.c.cfg.Observe).tell(x, Event{Kind: BreakerRefused, Address: s.address})
			return breakerOpen(x.m.name, s.address)
		}
		b.Pass(now)
	}
	if !s.used.Load() {
		s.used.Store(true)
	}
	s.stats.Begin(now)
	if x.kind == unary {
		s.health.Begin(now)
	} else {
		s.health.BeginStream(now) // it does not wait for an answer
	}
	made := l.made.Load()
	returned := false
	defer func() {
		if !returned { // the user's code in it, an interceptor or so, has panicked
			x.dropped(s, b, breaker.Canceled)
		}
	}()
	observer(x.c.cfg.Observe).tell(x, Event{Kind: Picked, Address: s.address})
	var err error
	if x.kind == unary {
		err = l.client.Call(ctx, x.m.name, x.args, reply, opts...)
	} else {
		err = l.client.Notify(ctx, x.m.name, x.args, opts...)
	}
	returned = true
	if err == nil && x.kind == oneway {
		// It was handed to the connection, which says nothing about the server.
		x.dropped(s, b, breaker.OK)
		return nil
	}
	if err == nil {
		took := x.over(s, b, verdict.Verdict{})
		if x.p.failMode == Failbackup {
			x.m.time(took)
		}
		return nil
	}
	err = l.unlessLeft(x.ctx, x.m.name, err)
	x.m.countFailure(err)
	v := verdict.Of(ctx, err, l.client.Peer() != nil)
	if v.Lost && !l.blame(made) {
		x.dropped(s, b, breaker.Canceled)
	} else {
		x.over(s, b, v)
	}
	x.m.service.heed(x, err, x.ended)
	s.follow(l, v)
	return err
}

// over ends an attempt, and returns how long it took.
func (x *call) over(s *server, b *breaker.Breaker, v verdict.Verdict) (took time.Duration) {
	x.ended = x.c.now()
	took = x.ended - x.pick.Now
	s.stats.End(x.ended, took, v.Balance)
	x.tell(s, took, v.Health)
	b.Done(x.ended, took, v.Breaker)
	return took
}

// dropped ends an attempt that has shown nothing of its server.
func (x *call) dropped(s *server, b *breaker.Breaker, r breaker.Result) {
	x.ended = x.c.now()
	took := x.ended - x.pick.Now
	s.stats.Drop()
	x.tell(s, took, health.Canceled)
	b.Done(x.ended, took, r)
}

// tell has the tracker of the server know that the attempt has ended.
func (x *call) tell(s *server, took time.Duration, r health.Result) {
	if x.kind == unary {
		s.health.End(x.ended, took, r)
	} else {
		s.health.EndStream(x.ended, took, r)
	}
}

// noLink says why a server has no client for a call of a method.
func (s *server) noLink(method string) error {
	switch {
	case s.c.life.Err() != nil:
		return closedError(method)
	case s.invalid != nil:
		return notSent(method, s.address, "its address cannot be used: "+s.invalid.Error())
	}
	return notSent(method, s.address, "the server has left")
}

// unlessLeft corrects the error of a call whose server's client was closed, because the server left the list as the call was about to be
// sent, or because it did not respond: the caller has not cancelled the call.
func (l *link) unlessLeft(ctx context.Context, method string, err error) error {
	e, ok := asError(err)
	if !ok || e.Code != weft.Canceled || !l.retired.Load() || ctx.Err() != nil || l.s.c.life.Err() != nil {
		return err
	}
	switch {
	case e.Outcome == weft.NotSent:
		return l.s.noLink(method)
	case l.cut.Load():
		cut := *e
		cut.Code, cut.Message = weft.Unavailable, "the server did not respond, and its connections were closed"
		return &cut
	}
	return err
}
