package weft

import (
	"context"
	"time"

	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/wire"
)

// maxOneway is how many one-way calls of a connection may be under way. Nobody waits
// for their ends, so without a bound whoever makes them faster than they are dealt
// with would leave no room for other calls.
const maxOneway = 1024

// newPeer makes the peer of a session whose hellos are known.
func newPeer(s *session.Session, c *caller) *Peer {
	room := max(1, min(maxOneway, int(s.Peer().MaxCalls)/2))
	return &Peer{s: s, conn: s.Conn(), caller: c, oneway: make(chan struct{}, room)}
}

// notify makes a one-way call: it returns when the request has been handed to
// the connection.
func notify(ctx context.Context, c Caller, method string, args any, opts []CallOption) error {
	return c.Call(ctx, method, args, nil, append(opts[:len(opts):len(opts)], optionFunc(func(o *callOptions) error {
		o.oneway = true
		return nil
	}))...)
}

// send makes a one-way call on a session. Its slot stays taken until the other side
// has dealt with it.
func (c *caller) send(ctx context.Context, s *session.Session, sc *session.Call, o *callOptions) error {
	peer, _ := s.Owner.(*Peer)
	err := peer.waitOneway(ctx, sc)
	if err != nil {
		c.recycle(sc, o)
		return err
	}
	started := false
	defer func() {
		if !started { // or the user's code in it has panicked
			<-peer.oneway
		}
	}()
	info, err := c.beforeRequest(ctx, s, sc)
	if err != nil {
		c.recycle(sc, o)
		return err
	}
	args := sc.Args
	sc.Async = func(sc *session.Call) {
		<-peer.oneway
		_ = c.ended(s, sc) // it is counted, and its error is nobody's
		sc.Reset()
		c.calls.Put(sc)
	}
	// Once it has started, sc belongs to whoever ends it.
	if st := s.Start(ctx, sc); st != nil {
		err = failed(s, sc.Method, st)
		c.recycle(sc, o)
	} else {
		started = true
	}
	for _, f := range c.hooks.afterRequest {
		f.AfterWriteRequest(ctx, info, args, err)
	}
	return err
}

// waitOneway waits until one more one-way call may be under way, within the time of
// the call.
func (p *Peer) waitOneway(ctx context.Context, sc *session.Call) error {
	select {
	case p.oneway <- struct{}{}:
		return nil
	default:
	}
	at := session.Nanos()
	if until := at + sc.Timeout; sc.Timeout > 0 && (sc.Deadline == 0 || until < sc.Deadline) {
		sc.Deadline = until
	}
	sc.Timeout = 0
	if sc.Deadline != 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(sc.Deadline-at))
		defer cancel()
	}
	select {
	case p.oneway <- struct{}{}:
		return nil
	case <-p.s.Done():
		st := *p.s.Err()
		st.Outcome = wire.NotSent
		return failed(p.s, sc.Method, &st)
	case <-ctx.Done():
		e := contextStatus(ctx, "as many one-way calls are under way as may be")
		e.Method, e.Peer = sc.Method, p.Addr().String()
		return e
	}
}
