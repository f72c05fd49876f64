package cluster

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/internal/deadline"
)

// Call makes a unary call to one of the servers of the method's service; see weft.Client.Call. What happens when it fails is said by the
// method's fail mode. args may be encoded more than once, and with Failbackup by two goroutines at the same time.
//
// While it is not known which servers there are the call waits, within its deadline.
func (c *Client) Call(ctx context.Context, method string, args, reply any, opts ...weft.CallOption) error {
	if len(c.around.unary) > 0 {
		return c.around.call(ctx, c, unary, method, args, reply, opts)
	}
	return c.do(ctx, unary, method, args, reply, opts)
}

// Notify makes a one-way call to one of the servers; see weft.Client.Notify. It is tried again only when it was not sent.
func (c *Client) Notify(ctx context.Context, method string, args any, opts ...weft.CallOption) error {
	if len(c.around.unary) > 0 {
		return c.around.call(ctx, c, oneway, method, args, nil, opts)
	}
	return c.do(ctx, oneway, method, args, nil, opts)
}

// Go makes a unary call without waiting for its end; see weft.Client.Go.
func (c *Client) Go(ctx context.Context, method string, args, reply any, done chan *weft.Call, opts ...weft.CallOption) *weft.Call {
	if done == nil {
		done = make(chan *weft.Call, 1)
	}
	if cap(done) == 0 {
		panic("cluster: the done channel of Go is unbuffered") // as weft.Client.Go does
	}
	call := &weft.Call{Method: method, Args: args, Reply: reply, Done: done}
	// It ends with the call.
	go func() {
		call.Error = &weft.Error{Code: weft.Internal, Method: method, Message: "an interceptor or other code of the client has panicked or ended its goroutine"}
		defer func() {
			select {
			case done <- call:
			default: // as in net/rpc, it is the caller's task to have room
			}
		}()
		c.around.fence.Run("Go", nil, func() { call.Error = c.Call(ctx, method, args, reply, opts...) })
	}()
	return call
}

// kind is what is made of a call.
type kind uint8

const (
	unary kind = iota
	oneway
	streaming
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
	reply  any            // of a unary call
	stream weft.RawStream // of a streaming one, once it is open
	opts   []weft.CallOption
	pick   balance.Call
	side   uint64        // random bits by which the rules split calls: the same for all attempts
	began  time.Duration // on the client's clock
	ended  time.Duration // when the last attempt ended
	made   int           // attempts beside the first that were made already: a hedge
	heeded bool          // the throttle has counted the last attempt

	resolved bool // the deadline is
	deadline deadline.Deadline
}

// do makes a unary or a one-way call.
func (c *Client) do(ctx context.Context, k kind, name string, args, reply any, opts []weft.CallOption) error {
	m, err := c.method(name)
	if err != nil {
		return err
	}
	x := call{c: c, m: m, ctx: ctx, kind: k, args: args, reply: reply, opts: opts, side: rand.Uint64(), began: c.now()}
	err = x.run()
	m.count(&x, err)
	return err
}

// run makes the call.
func (x *call) run() error {
	if err := x.prepare(); err != nil {
		return err
	}
	p, m := x.p, x.m
	if !p.most.None() {
		if err := m.limits.Enter(p.most, m.name, x.pick.Now); err != nil {
			return err
		}
		defer m.limits.Leave(p.most)
	}
	if err := m.service.throttled(x, true); err != nil {
		return err
	}
	x.c.budget.Deposit(x.pick.Now)
	if p.failMode == Failbackup && x.kind == unary {
		if after := x.hedgeAfter(x.pick.Now); after > 0 {
			return x.hedged(after)
		}
	}
	s, err := x.attempt()
	if err == nil {
		return nil
	}
	return x.failed(s, err)
}

// prepare finds out which servers the call may go to, and how it is made. While that is not known it waits, within the call's deadline.
func (x *call) prepare() error {
	waited := false
	if x.v = x.m.service.view.Load(); !x.v.known() {
		var err error
		if x.m, x.v, err = x.c.waitFor(x.ctx, x.m, deadline.Of(x.ctx, x.opts, x.c.began.Add(x.began), x.c.timeout)); err != nil {
			return err
		}
		waited = true
	}
	x.m.service.use.Note(x.began)
	x.p = x.m.policyUnder(x.c, x.v)
	if len(x.p.opts) > 0 && x.kind != streaming {
		x.opts = x.p.options(x.opts)
	}
	x.pick = balance.Call{Method: x.m.name, Random: x.side, Now: x.began}
	if waited {
		x.pick.Now = x.c.now()
		if x.kind != streaming {
			x.opts = x.until().Options(x.opts[:len(x.opts):len(x.opts)])
		}
	}
	if x.c.cfg.Key != nil || x.ctx != context.Background() {
		x.pick.Key = x.c.keyOf(x.ctx, x.m.name, x.args)
	}
	x.target = anywhere()
	if x.v.rules != nil {
		x.route()
	}
	return nil
}

// waitFor waits for the servers of a method's service to be known. The service may be closed, and is opened again then.
//
//go:noinline
func (c *Client) waitFor(ctx context.Context, m *method, d deadline.Deadline) (*method, *view, error) {
	ctx, cancel := d.Within(ctx)
	defer cancel()
	for !m.service.hold() {
		fresh, err := m.reopened()
		if err != nil {
			return m, nil, err
		}
		m = fresh
	}
	defer m.service.release()
	v, err := m.service.wait(ctx, m.name)
	return m, v, err
}

// until is the deadline of the call. The first attempt of most calls does without it, because the client of the server resolves the same
// options at the same time; it is resolved once, when it is first asked for, and every further attempt gets what is left.
func (x *call) until() deadline.Deadline {
	if !x.resolved {
		x.deadline, x.resolved = deadline.Of(x.ctx, x.opts, x.c.began.Add(x.began), x.c.timeout), true
	}
	return x.deadline
}
