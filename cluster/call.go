package cluster

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/breaker"
	"github.com/weftrpc/weft/cluster/health"
	"github.com/weftrpc/weft/cluster/retry"
	"github.com/weftrpc/weft/cluster/route"
)

// Call makes a unary call to one of the servers of the method's service; see
// weft.Client.Call. What happens when it fails is said by the method's fail mode. args
// may be encoded more than once, and with Failbackup by two goroutines at the same
// time.
//
// While it is not known which servers there are the call waits, within its deadline.
func (c *Client) Call(ctx context.Context, method string, args, reply any, opts ...weft.CallOption) error {
	return c.do(ctx, unary, method, args, reply, opts)
}

// Notify makes a one-way call to one of the servers; see weft.Client.Notify. It is
// tried again only when it was not sent.
func (c *Client) Notify(ctx context.Context, method string, args any, opts ...weft.CallOption) error {
	return c.do(ctx, oneway, method, args, nil, opts)
}

// Go makes a unary call without waiting for its end; see weft.Client.Go.
func (c *Client) Go(ctx context.Context, method string, args, reply any, done chan *weft.Call, opts ...weft.CallOption) *weft.Call {
	if done == nil {
		done = make(chan *weft.Call, 1)
	}
	call := &weft.Call{Method: method, Args: args, Reply: reply, Done: done}
	// It ends with the call.
	go func() {
		call.Error = c.Call(ctx, method, args, reply, opts...)
		select {
		case done <- call:
		default: // as in net/rpc, it is the caller's task to have room
		}
	}()
	return call
}

// kind is what is made of a call.
type kind uint8

const (
	unary kind = iota
	oneway
)

// call is one call on its way.
type call struct {
	c      *Client
	m      *method
	v      *view
	p      *policy
	target target
	ctx    context.Context
	kind   kind
	args   any
	reply  any
	opts   []weft.CallOption
	pick   balance.Call
	side   uint64 // random bits by which the rules split calls: the same for all attempts
	made   int    // attempts beside the first that were made already: a hedge
}

// retries is the policy by which the call is made again.
func (x *call) retries() retry.Policy {
	p := x.c.policy
	if x.p.attempts > 0 {
		p.Attempts = x.p.attempts
	}
	return p
}

// target is where the attempts of a call go.
type target struct {
	subset, otherwise int    // subsets of the plan; below zero: none
	rule              string // that chose them
}

// anywhere is the target of a call that no route takes.
func anywhere() target { return target{otherwise: route.None} }

// route has the rules choose the target.
func (x *call) route() {
	t := x.v.plan.Route(route.Call{
		Method: x.m.name, Metadata: weft.OutgoingMetadata(x.ctx), Key: x.pick.Key, Random: x.side,
	})
	x.target = target{t.Subset, t.Else, t.Rule}
}

func (c *Client) do(ctx context.Context, k kind, name string, args, reply any, opts []weft.CallOption) error {
	m, err := c.method(name)
	if err != nil {
		return err
	}
	v, waited := m.service.view.Load(), time.Duration(0)
	if !v.known() {
		began := c.now()
		if v, err = c.waitFor(ctx, m, opts); err != nil {
			return err
		}
		waited = c.now() - began
	}
	p := m.policyUnder(c, v.rules)
	x := call{c: c, m: m, v: v, p: p, target: anywhere(), ctx: ctx, kind: k, args: args, reply: reply, opts: opts, side: rand.Uint64()}
	if len(p.opts) > 0 {
		x.opts = p.options(opts)
	}
	if waited > 0 {
		if d := c.timeLimit(ctx, x.opts, 0); d > 0 {
			x.opts = append(x.opts[:len(x.opts):len(x.opts)], weft.WithTimeout(max(d-waited, 1)))
		}
	}
	now := c.now()
	x.pick = balance.Call{Method: name, Random: x.side, Now: now}
	if c.cfg.Key != nil || ctx != context.Background() {
		x.pick.Key = c.keyOf(ctx, name, args)
	}
	if v.rules != nil {
		x.route()
	}
	if p.inFlight > 0 || p.rate > 0 {
		if err := m.limits.enter(p, name, now); err != nil {
			return err
		}
		defer m.limits.leave(p)
	}
	c.budget.Deposit(now)
	if p.failMode == Failbackup && k == unary {
		if after := x.hedgeAfter(now); after > 0 {
			return x.hedged(after)
		}
	}
	s, err := x.attempt(nil)
	if err == nil {
		return nil
	}
	return x.failed(s, err)
}

// waitFor waits for the servers of a service to be known.
//
//go:noinline
func (c *Client) waitFor(ctx context.Context, m *method, opts []weft.CallOption) (*view, error) {
	if d := c.timeLimit(ctx, opts, 0); d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	return m.service.wait(ctx, m.name)
}

// timeLimit is how long a call with these options may take, besides what its context
// says; 0: as long as it takes. The default is for contexts without a deadline alone.
func (c *Client) timeLimit(ctx context.Context, opts []weft.CallOption, byPolicy time.Duration) time.Duration {
	// A wrong option is the error of the attempt.
	if s, err := weft.SettingsOf(opts...); err == nil && s.HasTimeout {
		return max(s.Timeout, 0)
	}
	if byPolicy > 0 {
		return byPolicy
	}
	if _, limited := ctx.Deadline(); limited {
		return 0
	}
	return max(c.timeout, 0)
}

// attempt picks a server, which the call has not tried, or takes the given one, and
// sends the call to it. The server is nil when none could be picked.
func (x *call) attempt(again *server) (*server, error) {
	s := again
	if s == nil {
		if s = x.choose(); s == nil {
			return nil, x.noServer()
		}
	}
	return s, x.send(s, x.ctx, x.reply, x.opts)
}

// choose takes the server that wants a probe, if this call may be that, and picks
// one otherwise.
func (x *call) choose() *server {
	if x.kind == oneway {
		return x.picked() // nothing would come back to show how the server is
	}
	if t := x.c.panel.Probe(x.pick.Now, x.mayProbe); t != nil {
		if s := x.probed(t); s != nil {
			return s
		}
	}
	return x.picked()
}

// picked picks a server whose breaker lets the call through. The other subset goes
// first when nothing in the call's own can be reached.
func (x *call) picked() *server {
	first, second := x.target.subset, x.target.otherwise
	if second >= 0 && first >= 0 && x.v.sets[first].avoid && !x.v.sets[second].avoid {
		first, second = second, first
	}
	if s := x.chooseFrom(first); s != nil || second < 0 {
		return s
	}
	return x.chooseFrom(second)
}

// chooseFrom picks from a subset. When every server of it that was not tried is down
// or has an open breaker, it takes the first of them that is not down, and otherwise
// the first: the state may be old.
func (x *call) chooseFrom(subset int) *server {
	if subset < 0 {
		return nil
	}
	set := &x.v.sets[subset]
	pick := x.pick
	var down *server
	for {
		i := set.picker.Pick(pick)
		if i < 0 {
			return down
		}
		s := x.v.servers[set.index[i]]
		if x.canTake(s) {
			return s
		}
		if down == nil || down.down.Load() && !s.down.Load() {
			down = s
		}
		if pick.Tried.Len() == triedMost {
			if s := x.anyOf(set.index); s != nil {
				return s
			}
			return down
		}
		pick.Tried.Add(s.stats)
	}
}

// canTake tells whether a server can be reached, and its breaker lets the call through.
func (x *call) canTake(s *server) bool {
	return !s.down.Load() && s.breaker(x.m.number).Ready(x.pick.Now)
}

// anyOf looks through all servers for one that can take the call, a healthy one first,
// when the balancer has named too many that cannot; nil: there is none.
func (x *call) anyOf(index []int) (found *server) {
	from := int(x.pick.Random % uint64(len(index)))
	for i := range index {
		s := x.v.servers[index[(from+i)%len(index)]]
		if x.pick.Tried.Has(s.stats) || !x.canTake(s) {
			continue
		}
		if s.health.Available() {
			return s
		}
		if found == nil {
			found = s
		}
	}
	return found
}

// triedMost is how many servers balance.Tried holds.
const triedMost = 8

// mayProbe tells whether the call may go to an ejected server that wants one to show
// how it is. A server that does not even answer a ping gets none.
func (x *call) mayProbe(t *health.Tracker) bool { return x.probed(t) != nil }

// probed returns the server of a tracker if the call may go there.
func (x *call) probed(t *health.Tracker) *server {
	if x.target.subset < 0 {
		return nil
	}
	for _, i := range x.v.sets[x.target.subset].index {
		if s := x.v.servers[i]; s.health == t && s.alive.Load() && !x.pick.Tried.Has(s.stats) && s.breaker(x.m.number).Ready(x.pick.Now) {
			return s
		}
	}
	return nil
}

// send makes one attempt and notes how it went.
func (x *call) send(s *server, ctx context.Context, reply any, opts []weft.CallOption) error {
	l := s.link.Load()
	if l == nil {
		return x.noLink(s)
	}
	b := s.breaker(x.m.number)
	now := x.pick.Now
	if !b.Allow(now) {
		return breakerOpen(x.m.name, s.address)
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
	returned := false
	defer func() {
		if !returned { // the user's code in it, an interceptor or so, has panicked
			x.dropped(s, b, breaker.Canceled)
		}
	}()
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
		took := x.over(s, b, verdict{})
		if x.p.failMode == Failbackup {
			x.m.time(took)
		}
		return nil
	}
	err = x.unlessLeft(l, err)
	v := judge(ctx, err, l.client.Peer() != nil)
	x.over(s, b, v)
	if v.gone != "" {
		s.fell(l, v.gone)
	}
	return err
}

// over ends an attempt, and returns how long it took.
func (x *call) over(s *server, b *breaker.Breaker, v verdict) (took time.Duration) {
	end := x.c.now()
	took = end - x.pick.Now
	s.stats.End(end, took, v.balance)
	x.tell(s, end, took, v.health)
	b.Done(end, took, v.breaker)
	return took
}

// dropped ends an attempt that has shown nothing of its server.
func (x *call) dropped(s *server, b *breaker.Breaker, r breaker.Result) {
	end := x.c.now()
	took := end - x.pick.Now
	s.stats.Drop()
	x.tell(s, end, took, health.Canceled)
	b.Done(end, took, r)
}

// tell has the tracker of the server know that the attempt is over.
func (x *call) tell(s *server, end, took time.Duration, r health.Result) {
	if x.kind == unary {
		s.health.End(end, took, r)
	} else {
		s.health.EndStream(end, took, r)
	}
}

// noLink says why a server has no client.
func (x *call) noLink(s *server) error {
	switch {
	case x.c.life.Err() != nil:
		return closedError(x.m.name)
	case s.invalid != nil:
		return notSent(x.m.name, s.address, "its address cannot be used: "+s.invalid.Error())
	}
	return notSent(x.m.name, s.address, "the server has left")
}

// unlessLeft corrects the error of a call whose server's client was closed, because
// the server left the list as the call was about to be sent, or because it stood
// still: nobody has cancelled the call.
func (x *call) unlessLeft(l *link, err error) error {
	e, ok := asError(err)
	if !ok || e.Code != weft.Canceled || !l.retired.Load() || x.ctx.Err() != nil || x.c.life.Err() != nil {
		return err
	}
	switch {
	case e.Outcome == weft.NotSent:
		return x.noLink(l.s)
	case l.cut.Load():
		cut := *e
		cut.Code, cut.Message = weft.Unavailable, "the server stood still, and its connections were closed"
		return &cut
	}
	return err
}

// failed decides what becomes of a call whose first attempt failed, and makes the
// further ones.
//
//go:noinline
func (x *call) failed(s *server, err error) (result error) {
	deadline, limited := x.ctx.Deadline()
	if d := x.c.timeLimit(x.ctx, x.opts, x.p.timeout); d > 0 {
		if own := x.c.began.Add(x.pick.Now + d); !limited || own.Before(deadline) {
			deadline, limited = own, true
		}
	}
	rp := x.retries()
	a := retry.Attempt{
		Number:     x.made,
		Idempotent: x.kind == unary && (x.p.idempotent || markedIdempotent(x.ctx)),
		Upstream:   weft.AttemptFrom(x.ctx),
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
	for x.p.failMode != Failfast {
		var ok bool
		if a.Err, ok = asError(err); !ok {
			return err
		}
		a.Number++
		if a.Err.Outcome == weft.NotSent {
			a.Unsent++
		}
		a.Random, a.Left = rand.Uint64(), retry.Forever
		if limited {
			a.Left = time.Until(deadline)
		}
		d := rp.Decide(a)
		if !d.Again && a.Err.Outcome == weft.NotSent && a.Err.Reason == retry.BreakerOpen {
			return x.noServer() // with what is known of each
		}
		if !d.Again || d.Paid && !x.c.budget.Withdraw(x.c.now()) || !x.pause(d.After) {
			return err
		}
		a.Resent = a.Resent || d.Free
		mayHaveRun = mayHaveRun || a.Err.Outcome == weft.OutcomeUnknown || a.Err.Outcome == weft.Executed
		s, err = x.next(s, d, a.Number, deadline, limited)
	}
	return err
}

// next makes one more attempt.
func (x *call) next(last *server, d retry.Decision, number int, deadline time.Time, limited bool) (*server, error) {
	if last != nil {
		x.pick.Tried.Add(last.stats)
	}
	same := (*server)(nil)
	switch {
	case x.p.failMode == Failtry && last != nil:
		same = last
	case !d.Elsewhere:
		x.pick.Tried = balance.Tried{}
	}
	// The list may have changed since; a rule that has changed does not move a call.
	if v := x.m.service.view.Load(); v != x.v && v.known() {
		x.v = v
		x.target = anywhere()
		if v.rules != nil {
			x.route()
		}
	}
	x.pick.Now, x.pick.Random = x.c.now(), rand.Uint64()
	opts := append(x.opts[:len(x.opts):len(x.opts)], weft.WithAttempt(number))
	if limited {
		opts = append(opts, weft.WithTimeout(max(time.Until(deadline), 1)))
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

// pause waits; false means that the call or the client has ended meanwhile.
func (x *call) pause(d time.Duration) bool {
	if d <= 0 {
		return x.ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-x.ctx.Done():
	case <-x.c.life.Done():
	}
	return false
}
