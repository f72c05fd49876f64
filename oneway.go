package weft

import (
	"context"

	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/wire"
)

// maxOneway is how many one-way calls of a connection may be under way. No caller waits for their ends, so without a bound a caller that
// makes them faster than they are dealt with would leave no room for other calls.
const maxOneway = 1024

// WithOrder has a one-way call run after all earlier ones with the same key, of any method, on the same connection: one after the other, in
// the order in which they were made. Calls with other keys, or without one, run beside them. A key has at most 255 bytes; it may be empty.
// A Client makes all calls with a key on its first connection. When that is lost, or replaced because the server shuts down, calls made on
// it may still run while later ones begin. A cluster.Client needs a balancer that sends the calls of a key to one server. A call that is
// refused, as beyond Limits.MaxOrdered, or whose time is over before its turn, is left out, and the next one runs. On a wire other than
// weft's such a call fails with Unimplemented.
func WithOrder(key string) CallOption {
	return optionFunc(func(o *callOptions) error {
		if len(key) > wire.MaxOrder {
			return Errorf(InvalidArgument, "weft: the key of WithOrder has %d bytes, at most %d are allowed", len(key), wire.MaxOrder)
		}
		o.ordered, o.order = true, key
		return nil
	})
}

// asOneway makes a call a one-way call.
func asOneway(opts []CallOption) []CallOption {
	return append(opts[:len(opts):len(opts)], optionFunc(func(o *callOptions) error {
		o.oneway = true
		return nil
	}))
}

// startOneway makes a one-way call on a connection: it returns when the request has
// been handed to the session. Its slot stays taken until the peer has dealt with it.
func (c *caller) startOneway(ctx context.Context, p *Peer, sc *session.Call, of *CallInfo) error {
	err := p.waitOneway(ctx, sc)
	if err != nil {
		sc.Reset()
		c.calls.Give(sc)
		return err
	}
	started := false
	defer func() {
		if !started { // or the user's code in it has panicked
			<-p.oneway
		}
	}()
	var info *CallInfo
	if c.hooks.any {
		info = of.on(p, sc.Codec)
		if err := c.beforeRequest(ctx, info, sc.Args); err != nil {
			sc.Reset()
			c.calls.Give(sc)
			return err
		}
	}
	args := sc.Args
	sc.Method = c.stats.Kept(sc.Method)
	sc.Async = func(sc *session.Call) {
		<-p.oneway
		_ = c.ended(p.s, sc) // it is counted; no caller waits for its error
		sc.Reset()
		c.calls.Give(sc)
	}
	// Once it has started, sc belongs to the goroutine that ends it.
	if st := p.s.Start(ctx, sc); st != nil {
		err = failed(p.s, sc.Method, st)
		sc.Reset()
		c.calls.Give(sc)
	} else {
		started = true
	}
	for _, f := range c.hooks.afterRequest {
		f.AfterWriteRequest(ctx, info, args, err)
	}
	return err
}

// sizeOneway makes room for as many one-way calls as the limits of the peer allow, which must be known.
func sizeOneway(p *Peer) {
	p.onewaySized.Do(func() {
		p.oneway = make(chan struct{}, max(1, min(maxOneway, int(p.s.Peer().MaxCalls)/2)))
	})
}

// waitOneway waits until one more one-way call may be under way, within the time of the call.
func (p *Peer) waitOneway(ctx context.Context, sc *session.Call) error {
	if st := p.s.Meet(ctx, sc); st != nil {
		return failed(p.s, sc.Method, st)
	}
	sizeOneway(p)
	select {
	case p.oneway <- struct{}{}:
		return nil
	default:
	}
	ctx, cancel := bounded(ctx, sc.Deadline)
	defer cancel()
	select {
	case p.oneway <- struct{}{}:
		return nil
	case <-p.s.Done():
		st := *p.s.Err()
		st.Outcome = wire.NotSent
		return failed(p.s, sc.Method, &st)
	case <-ctx.Done():
		e := contextStatus(ctx, "as many one-way calls are under way on the connection as may be: 1024, or half of Limits.MaxCalls of the peer")
		e.Method, e.Peer = sc.Method, p.Addr().String()
		return e
	}
}
