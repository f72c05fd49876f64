package cluster

import (
	"math/rand/v2"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/retry"
)

// failed decides what becomes of a call whose first attempt failed, and makes the further ones.
//
//go:noinline
func (x *call) failed(s *server, err error) (result error) {
	rp := x.p.retries(x.c.cfg.Retry)
	a := retry.Attempt{
		Number:   x.made,
		Upstream: weft.AttemptFrom(x.ctx),
	}
	mayHaveRun := false // in an attempt before the last
	defer func() {
		if e, ok := asError(result); ok && mayHaveRun && (e.Outcome == weft.NotSent || e.Outcome == weft.Refused) {
			// That is true of the last attempt, and not of the call.
			whole := *e
			whole.Outcome = weft.OutcomeUnknown
			result = &whole
		}
	}()
	onward := len(x.v.servers) // attempts to reach one more server
	for x.p.failMode != Failfast {
		e, ok := asError(err)
		if !ok {
			return err
		}
		a.Left = retry.Forever
		if left, limited := x.until().Left(); limited {
			a.Left = left
		}
		unreachable := s != nil && e.Outcome == weft.NotSent && e.Code == weft.Unavailable && s.unreachable()
		if unreachable && x.p.failMode == Failtry && s.hopeless(x.c.now()) {
			return err
		}
		if x.refresh(); unreachable && x.p.failMode != Failtry && x.reach().hopeless(x.c.now()) {
			return x.noServer()
		}
		if unreachable && onward > 0 && a.Left > 0 && x.ctx.Err() == nil && x.p.failMode != Failtry && x.reach().untried(s, &x.pick.Tried) {
			// That a server cannot be reached costs neither time nor an attempt.
			onward--
			s, err = x.next(s, true, a.Number)
			continue
		}
		a.Err = e
		a.Number++
		if e.Outcome == weft.NotSent {
			a.Unsent++
		}
		a.Random = rand.Uint64()
		a.Idempotent = x.kind == unary && x.idempotent()
		d := rp.Decide(a)
		last := !d.Again && unreachable && a.Left > 0 && a.Left < retry.Forever
		if last {
			d = untilDeadline(rp, a)
		}
		if !d.Again && e.Outcome == weft.NotSent && (e.Reason == weft.ReasonBreakerOpen || unreachable && !x.reachable()) {
			return x.noServer() // with what is known of each
		}
		if !d.Again || retry.Overload(e) && !x.c.cfg.NoThrottle && !x.m.service.throttle.Again(x.c.now(), weft.PriorityFrom(x.ctx)) {
			if repeatable(rp, a) {
				x.c.told.GaveUp(x.m.name, addressOf(s), a.Number, e)
			}
			return err
		}
		paid := !d.Paid || x.c.budget.Withdraw(x.c.now())
		if observer(x.c.cfg.Observe).failed(x, e, d.After, paid); !paid {
			x.c.told.Unpaid(x.m.name, addressOf(s), e)
			return err
		}
		if !x.pauseAfter(s, unreachable, d.After) {
			return err
		}
		if last && !x.reachable() {
			return x.noServer()
		}
		a.Resent = a.Resent || d.Free
		mayHaveRun = mayHaveRun || e.Outcome == weft.OutcomeUnknown || e.Outcome == weft.Executed
		s, err = x.next(s, d.Elsewhere, a.Number)
	}
	return err
}

// repeatable reports whether a failure is one after which a call is made again while it has attempts left. A handler's own answer is not.
func repeatable(rp retry.Policy, a retry.Attempt) bool {
	a.Number, a.Unsent, a.Resent, a.Left = 1, 0, false, retry.Forever
	return rp.Decide(a).Again
}

// untilDeadline decides for a call that was not sent, and to whose deadline there is less time than the pause before the next attempt.
// Where a server may just be restarting, the pause ends as soon as it is back, so the call may wait for as long as it has time.
func untilDeadline(rp retry.Policy, a retry.Attempt) retry.Decision {
	left := a.Left
	a.Left = retry.Forever
	d := rp.Decide(a)
	d.After = min(d.After, left)
	return d
}

// next makes one more attempt.
func (x *call) next(last *server, elsewhere bool, number int) (*server, error) {
	if err := x.m.service.throttled(x, false); err != nil {
		return nil, err
	}
	x.m.retries.Add(1)
	if last != nil {
		x.pick.Tried.Add(last.stats)
	}
	same := (*server)(nil)
	switch {
	case x.p.failMode == Failtry && last != nil:
		same = last
	case !elsewhere:
		x.pick.Tried = balance.Tried{}
	}
	x.refresh()
	x.pick.Now, x.pick.Random = x.c.now(), rand.Uint64()
	opts := append(x.opts[:len(x.opts):len(x.opts)], weft.WithAttempt(number))
	if x.kind != streaming { // the timeout of a stream would be that of all its messages
		opts = x.until().Options(opts)
	}
	s := same
	if s != nil && s.link.Load() == nil {
		s = x.v.at(s.address) // it has left and come back meanwhile, or not
	}
	if s == nil {
		if s = x.choose(); s == nil && x.pick.Tried.Len() > 0 {
			// Every server was tried: once more from the beginning.
			x.pick.Tried = balance.Tried{}
			s = x.choose()
		}
		if s == nil {
			return nil, x.noServer()
		}
	}
	return s, x.send(s, x.ctx, x.reply, opts)
}

// reachable reports whether the call may go to a server that is not down.
func (x *call) reachable() bool {
	x.refresh()
	for s := range x.reach().servers {
		if !s.down.Load() {
			return true
		}
	}
	return false
}

// pauseAfter waits before the next attempt; false means that the call or the client has ended meanwhile. Where no server can be reached or
// is known, it waits no longer than until one can be.
func (x *call) pauseAfter(s *server, unreachable bool, d time.Duration) bool {
	switch {
	case s == nil:
		return x.pause(d, x.reachable)
	case unreachable && x.p.failMode == Failtry:
		return x.pause(x.reach().graceAtMost(x.c.now(), d), func() bool { return !s.down.Load() })
	case unreachable:
		return x.pause(x.reach().graceAtMost(x.c.now(), d), x.reachable)
	}
	return x.pause(d, func() bool { return false })
}

// pause waits, but no longer than until wake reports true after a change of what is known; false means that the call or the client has
// ended meanwhile.
func (x *call) pause(d time.Duration, wake func() bool) bool {
	if d <= 0 {
		return x.ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	over, ok := false, true
	for !over {
		s := x.m.service
		s.use.Wait()
		changed := s.nextChange()
		if over = wake(); over {
			ok = x.ctx.Err() == nil
		} else if x.m.service == s { // otherwise it was closed, and is open again
			select {
			case <-timer.C:
				over = true
			case <-changed:
			case <-x.ctx.Done():
				over, ok = true, false
			case <-x.c.life.Done():
				over, ok = true, false
			}
		}
		s.use.Waited()
	}
	return ok
}

// hopeless reports whether every server was tried and cannot be reached, so that it is of no use to wait: none of them may just be
// restarting.
func (r reach) hopeless(now time.Duration) bool {
	some := false
	for s := range r.servers {
		if some = true; !s.hopeless(now) {
			return false
		}
	}
	return some
}

// untried reports whether there is a server, other than the last, that a call has not tried and that is not known to be unreachable.
func (r reach) untried(last *server, tried *balance.Tried) bool {
	for s := range r.servers {
		if s != last && !s.unreachable() && !tried.Has(s.stats) {
			return true
		}
	}
	return false
}

// graceAtMost shortens a pause so that it ends with the time in which one of the servers may just be restarting.
func (r reach) graceAtMost(now, d time.Duration) time.Duration {
	for s := range r.servers {
		if left := s.graceLeft(now); left > 0 {
			d = min(d, left+time.Millisecond)
		}
	}
	return d
}
