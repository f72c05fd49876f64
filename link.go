package weft

import (
	"context"
	"crypto/tls"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/internal/fence"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport"
)

// link is one connection of a client, made anew whenever it is lost. It begins
// to connect when it is first needed. The goroutine that connects reads from then on,
// until it is lost; the goroutine that finds that the connection is of no more use has
// another one connect, so that there is never more than one attempt under way.
type link struct {
	c         *Client
	transport transport.Transport
	wire      Wire // nil: weft's own
	addr      string

	current atomic.Pointer[Peer]

	mu      sync.Mutex
	live    map[*Peer]struct{} // the current one, and those whose calls still end
	last    *Peer              // the one that was made last, alive or not
	running bool
	retired bool
	changed chan struct{} // closed, and made anew, whenever the state changes
	failed  *Error        // why the last attempt failed; nil when there was none since the last connection
	verdict *Error        // why the server did not take the first connection, until a call was told
	tries   int           // attempts since the last connection
	began   time.Time     // the last connection; it belongs to the goroutine that connects
	drained bool          // the last server has drained; likewise
	wanted  chan struct{} // a caller waits
}

// afterDrain is the first pause after a server has drained.
const afterDrain = 10 * time.Millisecond

// impatient is the longest pause between two attempts while a caller waits.
const impatient = time.Second

func newLink(c *Client, a address) *link {
	return &link{
		c: c, transport: a.transport, wire: a.wire, addr: a.rest, live: make(map[*Peer]struct{}),
		changed: make(chan struct{}), wanted: make(chan struct{}, 1),
	}
}

// peer returns the link's connection if it can be used.
func (l *link) peer() *Peer {
	if p := l.current.Load(); p != nil && p.usable() {
		return p
	}
	return nil
}

// wake has the link connect, if it does not already.
func (l *link) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.startLocked()
}

func (l *link) startLocked() {
	if l.running || l.retired || l.c.closed.Load() || !l.c.work.Enter() {
		return
	}
	l.running = true
	// It ends with the connection that it makes, or when the client is closed.
	go l.run()
}

// first makes the first connection. Calls leave together with the hello, which saves a
// round trip: what the server says to the hello, a call is told. It waits for the server's
// hello where hooks are told of connections, or the server makes calls to this client.
func (l *link) first(ctx context.Context) error {
	if l.wire != nil || len(l.c.hooks.opened) > 0 || len(l.c.hooks.closed) > 0 || l.c.cfg.Services != nil {
		if _, err := l.waitFor(ctx, true); err != nil {
			return err
		}
		return nil
	}
	credential, err := l.credential(ctx)
	var conn net.Conn
	if err == nil {
		conn, err = l.dial(ctx)
	}
	if err != nil {
		l.c.failures.Add(1)
		e := l.failure(err)
		if ctx.Err() != nil {
			return contextStatus(ctx, "no connection to "+l.c.address+" in time: "+e.Message)
		}
		return e
	}
	s := session.Open(conn, &l.c.session, credential.encode())
	p := s.Owner.(*Peer)
	l.c.connects.Add(1)
	l.began = time.Now()
	l.c.work.Enter() // the client is not closed before Dial has returned
	l.mu.Lock()
	l.running = true
	l.live[p] = struct{}{}
	l.last = p
	l.current.Store(p)
	l.mu.Unlock()
	s.Attend(func() { l.leave(p, true) }, func() {
		defer l.c.work.Leave() // also when a hook ends the goroutine
		defer l.leave(p, false)
		l.ended(p)
	})
	return nil
}

// wait waits for a connection.
func (l *link) wait(ctx context.Context) (*Peer, *Error) {
	return l.waitFor(ctx, l.c.cfg.NoWaitForReady)
}

// waitFor waits for a connection until ctx ends, an attempt has failed for a lasting reason or,
// if fast, for any. One that was made meanwhile and is lost already will do: its caller is
// told why.
func (l *link) waitFor(ctx context.Context, fast bool) (*Peer, *Error) {
	l.mu.Lock()
	before := l.last
	l.mu.Unlock()
	for {
		l.mu.Lock()
		l.startLocked()
		changed, failed, retired, last, verdict := l.changed, l.failed, l.retired, l.last, l.verdict
		l.verdict = nil
		l.mu.Unlock()
		if verdict != nil {
			copied := *verdict
			return nil, &copied
		}
		if p := l.peer(); p != nil {
			return p, nil
		}
		if last != before {
			return last, nil
		}
		if retired || l.c.closed.Load() {
			return nil, closedError()
		}
		if failed != nil && (fast || lasting(failed.Code)) {
			copied := *failed
			return nil, &copied
		}
		select {
		case l.wanted <- struct{}{}:
		default:
		}
		select {
		case <-changed:
		case <-ctx.Done():
			why := "no connection to " + l.c.address + " in time"
			if failed != nil {
				why += ": " + failed.Message
			}
			return nil, contextStatus(ctx, why)
		case <-l.c.life.Done():
			return nil, closedError()
		}
	}
}

// lasting reports whether an attempt to connect that failed with code is likely to fail again
// until the client or the server is configured in another way. While it does, calls are told
// why at once, and the link goes on to try.
func lasting(code Code) bool {
	switch code {
	case Unauthenticated, PermissionDenied, FailedPrecondition, Unimplemented, InvalidArgument:
		return true
	}
	return false
}

// change publishes a new state.
func (l *link) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	close(l.changed)
	l.changed = make(chan struct{})
}

// run connects, and reads until the connection has ended.
func (l *link) run() {
	var p *Peer
	tried := false
	defer func() {
		switch {
		case p != nil:
		case tried || l.over():
			l.change(func() { l.running = false })
			l.c.work.Leave()
		default:
			// A hook has ended this goroutine.
			l.attemptFailed(&Error{Code: Internal, Outcome: NotSent, Peer: l.c.address, Message: "a hook of the client has ended its goroutine"})
			// It ends as this one does; the pause before it keeps the attempts few.
			go func() {
				l.pause()
				l.run()
			}()
		}
	}()
	p = l.reconnect()
	if tried = true; p == nil {
		return
	}
	p.run(func() { l.leave(p, true) }, func() {
		defer l.c.work.Leave() // also when a hook ends the goroutine
		defer l.leave(p, false)
		l.ended(p)
	})
}

// attemptFailed notes an attempt to connect that has failed.
func (l *link) attemptFailed(err *Error) {
	l.c.failures.Add(1)
	l.change(func() {
		l.failed = err
		l.tries++
		// Callers that still wait are woken now and ask again.
		select {
		case <-l.wanted:
		default:
		}
	})
}

// leave has the link connect again if p, which is lost or whose server shuts down, is
// its connection still. The calls that are open on p still end.
func (l *link) leave(p *Peer, drained bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.retired || !l.current.CompareAndSwap(p, nil) || !l.c.work.Enter() {
		return
	}
	l.drained = drained
	// It ends with the connection that it makes, or when the client is closed.
	go l.run()
}

// reconnect tries to connect until there is a connection. It returns nil when there
// is not to be one.
func (l *link) reconnect() *Peer {
	// A server that accepts connections only to end them would otherwise be dialed
	// without end.
	if !l.began.IsZero() && time.Since(l.began) < l.c.cfg.Backoff && !l.pause() {
		return nil
	}
	for !l.over() {
		p, err := l.connect(l.c.life)
		if err != nil {
			l.attemptFailed(err)
			// The first failure is what Dial or a call returns; then fewer the longer it lasts.
			if l.tries > 1 && l.tries&(l.tries-1) == 0 {
				level := slog.LevelWarn
				if l.drained { // the server has shut down
					level = slog.LevelInfo
				}
				l.c.cfg.Logger.Log(l.c.life, level, "connect failed", "addr", l.c.address, "code", err.Code.String(), "error", err.Message, "attempt", l.tries)
			}
			if l.pause() {
				continue
			}
			return nil
		}
		l.c.connects.Add(1)
		retired := false
		l.began, l.drained = time.Now(), false
		l.change(func() {
			l.failed, l.verdict, l.tries = nil, nil, 0
			if retired = l.retired; !retired {
				l.live[p] = struct{}{}
				l.last = p
				l.current.Store(p)
			}
		})
		if retired {
			p.end()
		}
		return p
	}
	return nil
}

// over reports whether there is to be no further connection.
func (l *link) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.retired || l.c.life.Err() != nil
}

func (l *link) ended(p *Peer) {
	l.mu.Lock()
	delete(l.live, p)
	l.mu.Unlock()
	err := p.ended()
	err.Peer = l.c.address
	if p.s != nil && !p.s.Met() && !l.c.closed.Load() {
		l.c.failures.Add(1)
		l.change(func() {
			l.failed = err
			l.tries++
			if !again(err) {
				l.verdict = err
			}
		})
		return
	}
	l.c.cfg.Logger.Info("connection ended", "addr", l.c.address, "code", err.Code.String(), "error", err.Message)
	for _, h := range l.c.hooks.closed {
		l.c.host.fence.Run("ConnClosed", p.Addr(), func() { h.ConnClosed(p, err) })
	}
}

// pause waits before the next attempt: longer each time, but not long while a caller
// waits. It returns false when the client was closed.
func (l *link) pause() bool {
	f := &l.c.cfg
	d := float64(f.Backoff)
	if l.drained {
		// The server has drained: the next one is likely to be here soon.
		d = min(d, float64(afterDrain))
	}
	for i := 1; i < l.tries && d < float64(f.MaxBackoff); i++ {
		d *= 1.6
	}
	d = min(d, float64(f.MaxBackoff)) * (0.8 + 0.4*rand.Float64())
	full := time.NewTimer(time.Duration(d))
	defer full.Stop()
	short := time.NewTimer(min(time.Duration(d), impatient))
	defer short.Stop()
	var wanted chan struct{}
	for {
		select {
		case <-full.C:
			return true
		case <-short.C:
			// From now on, a caller that waits gets an attempt at once.
			wanted = l.wanted
		case <-wanted:
			return true
		case <-l.c.life.Done():
			return false
		}
	}
}

// connect makes one attempt, up to the server's hello.
func (l *link) connect(ctx context.Context) (*Peer, *Error) {
	credential, err := l.credential(ctx)
	if err != nil {
		return nil, l.failure(err)
	}
	if l.wire != nil {
		return l.connectForeign(ctx, credential)
	}
	conn, err := l.dial(ctx)
	if err != nil {
		return nil, l.failure(err)
	}
	s, st := session.Dial(ctx, conn, &l.c.session, credential.encode())
	if st != nil {
		return nil, fromStatus(st, "", l.c.address)
	}
	return s.Owner.(*Peer), nil
}

// connectForeign is connect for a foreign wire.
func (l *link) connectForeign(ctx context.Context, credential Credential) (*Peer, *Error) {
	bound, done := context.WithTimeout(ctx, 2*l.c.session.Limits.HandshakeTimeout)
	var w WireConn
	err := error(Errorf(Internal, "Dial of wire %s panicked", l.wire.Scheme()))
	l.c.host.fence.Run("Dial of wire "+l.wire.Scheme(), nil, func() {
		w, err = l.wire.Dial(bound, WireConfig{
			Dial: l.dial, Address: l.addr, Credential: credential, Limits: l.c.cfg.Limits, Logger: l.c.cfg.Logger,
			Compressors: l.c.cfg.Compressors, Compressor: l.c.cfg.Compressor,
		})
	})
	done()
	if err != nil {
		return nil, l.failure(err)
	}
	p := &Peer{w: w, wire: l.wire.Scheme(), conn: w.Conn(), caller: &l.c.caller, since: session.Nanos(), number: l.c.exec.Number()}
	told := false
	defer func() {
		if !told { // a hook has ended this goroutine
			w.Close()
		}
	}()
	l.c.tellOpened(p)
	told = true
	return p, nil
}

// credential asks for that of the connection.
func (l *link) credential(ctx context.Context) (Credential, error) {
	if l.c.cfg.ConnCredential == nil {
		return Credential{}, nil
	}
	ask, done := context.WithTimeout(ctx, l.c.session.Limits.HandshakeTimeout)
	defer done()
	cred, err := fence.Within(ask, &l.c.host.fence, "ConnCredential", func() (Credential, error) { return l.c.cfg.ConnCredential(ask) })
	if err != nil {
		return cred, unauthenticated(err)
	}
	if n := len(cred.encode()); n > wire.MaxCredential {
		return cred, Errorf(InvalidArgument, "the credential has %d bytes, at most %d are allowed", n, wire.MaxCredential)
	}
	return cred, nil
}

// dial makes the connection underneath, with TLS if there is to be some. Each step has
// the time of the handshake.
func (l *link) dial(ctx context.Context) (net.Conn, error) {
	dial, done := context.WithTimeout(ctx, l.c.session.Limits.HandshakeTimeout)
	conn, err := l.transport.Dial(dial, l.addr)
	done()
	if err != nil {
		return nil, err
	}
	return l.secure(ctx, conn)
}

// secure does the TLS handshake, if there is to be one.
func (l *link) secure(ctx context.Context, conn net.Conn) (net.Conn, error) {
	cfg := l.c.cfg.TLS
	if l.c.cfg.TLSFunc != nil {
		ask, cancel := context.WithTimeout(ctx, l.c.session.Limits.HandshakeTimeout)
		made, err := fence.Within(ask, &l.c.host.fence, "TLSFunc", func() (*tls.Config, error) { return l.c.cfg.TLSFunc(), nil })
		cancel()
		if err != nil {
			conn.Close()
			return nil, err
		}
		if cfg = made; cfg == nil {
			conn.Close()
			return nil, Errorf(FailedPrecondition, "TLSFunc returned no TLS configuration")
		}
	}
	if cfg == nil {
		return conn, nil
	}
	if l.wire != nil {
		cfg = withProtocols(cfg, l.wire.Protocols()...)
	} else {
		cfg = tlsConfig(cfg)
	}
	if cfg.ServerName == "" {
		cfg.ServerName = l.addr
		if host, _, err := net.SplitHostPort(l.addr); err == nil {
			cfg.ServerName = host
		}
	}
	ctx, cancel := context.WithTimeout(ctx, l.c.session.Limits.HandshakeTimeout)
	defer cancel()
	t := tls.Client(conn, cfg)
	err := error(Errorf(Internal, "a function of the TLS configuration panicked"))
	l.c.host.fence.Run("tls.Config", conn.RemoteAddr(), func() { err = t.HandshakeContext(ctx) })
	if err != nil {
		conn.Close()
		return nil, Errorf(Unavailable, "TLS: %w", plainHint(err))
	}
	return t, nil
}

func (l *link) failure(err error) *Error {
	e := Errorf(Unavailable, "connect to %s: %w", l.c.address, err)
	if known := (*Error)(nil); asWeft(err, &known) {
		e.Code = known.Code
	}
	e.Outcome, e.Peer = NotSent, l.c.address
	return e
}

// retire takes the link out of use for a shutdown, and returns the connections that
// may still have calls.
func (l *link) retire() []*Peer {
	var live []*Peer
	l.change(func() {
		l.retired = true
		l.current.Store(nil)
		live = slices.Collect(maps.Keys(l.live))
	})
	return live
}

// close ends the link's connections.
func (l *link) close() {
	for _, p := range l.retire() {
		p.end()
	}
}
