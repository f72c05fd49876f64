package weft

import (
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport"
)

// link is one connection of a client, made anew whenever it is lost. It begins
// to connect when it is first needed. The goroutine that connects reads from then on,
// until it is lost; who finds that the connection is of no more use has another
// goroutine connect, so that there is never more than one attempt under way.
type link struct {
	c         *Client
	transport transport.Transport
	addr      string

	current atomic.Pointer[session.Session]

	mu      sync.Mutex
	live    map[*session.Session]struct{} // the current one, and those whose calls end in peace
	last    *session.Session              // the one that was made last, alive or not
	running bool
	retired bool
	changed chan struct{} // closed, and made anew, whenever the state changes
	failed  *Error        // why the last attempt failed; nil when there was none since the last connection
	tries   int           // attempts since the last connection
	began   time.Time     // the last connection; it belongs to who connects
	drained bool          // the last server said goodbye; likewise
	wanted  chan struct{} // somebody waits
}

// afterDrain is the first pause after a server has said goodbye.
const afterDrain = 10 * time.Millisecond

// impatient is the longest pause between two attempts while somebody waits.
const impatient = time.Second

func newLink(c *Client, t transport.Transport, addr string) *link {
	return &link{
		c: c, transport: t, addr: addr, live: make(map[*session.Session]struct{}),
		changed: make(chan struct{}), wanted: make(chan struct{}, 1),
	}
}

// session returns the link's session if it can be used.
func (l *link) session() *session.Session {
	if s := l.current.Load(); s != nil && s.Usable() {
		return s
	}
	return nil
}

// wake has the link connect, if it does not already.
func (l *link) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.start()
}

// start is called with the lock held.
func (l *link) start() {
	if l.running || l.retired || l.c.closed.Load() {
		return
	}
	l.running = true
	l.c.wg.Add(1)
	// It ends with the connection that it makes, or when the client is closed.
	go l.run()
}

// first waits for the first attempt to connect.
func (l *link) first(ctx context.Context) error {
	if _, err := l.waitFor(ctx, true); err != nil {
		return err
	}
	return nil
}

// wait waits for a session.
func (l *link) wait(ctx context.Context) (*session.Session, *Error) {
	return l.waitFor(ctx, l.c.cfg.NoWaitForReady)
}

// waitFor waits for a session until ctx ends or, if fast, an attempt has failed. One
// that was made meanwhile and is lost already will do: who calls on it is told why.
func (l *link) waitFor(ctx context.Context, fast bool) (*session.Session, *Error) {
	l.mu.Lock()
	before := l.last
	l.mu.Unlock()
	for {
		l.mu.Lock()
		l.start()
		changed, failed, retired, last := l.changed, l.failed, l.retired, l.last
		l.mu.Unlock()
		if s := l.session(); s != nil {
			return s, nil
		}
		if last != before {
			return last, nil
		}
		if retired || l.c.closed.Load() {
			return nil, closedError()
		}
		if fast && failed != nil {
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
	var s *session.Session
	defer func() {
		if s == nil { // also when a hook has ended this goroutine
			l.c.wg.Done()
		}
	}()
	if s = l.reconnect(); s == nil {
		return
	}
	s.Run(func() { l.leave(s, true) }, func() {
		l.ended(s)
		l.leave(s, false)
		l.c.wg.Done()
	})
}

// leave has the link connect again if s, which is lost or whose server shuts down, is
// its connection still. What is left of its calls ends in peace.
func (l *link) leave(s *session.Session, drained bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.retired || !l.current.CompareAndSwap(s, nil) {
		return
	}
	l.drained = drained
	l.c.wg.Add(1)
	// It ends with the connection that it makes, or when the client is closed.
	go l.run()
}

// reconnect tries to connect until there is a connection. It returns nil when there
// is not to be one.
func (l *link) reconnect() *session.Session {
	// Whoever lets us in only to see us off would otherwise be asked without end.
	if !l.began.IsZero() && time.Since(l.began) < l.c.cfg.Backoff && !l.pause() {
		return nil
	}
	for !l.over() {
		s, err := l.connect(l.c.life)
		if err != nil {
			l.change(func() {
				l.failed = err
				l.tries++
				// Who still waits is woken now and says so again.
				select {
				case <-l.wanted:
				default:
				}
			})
			l.c.cfg.Logger.Warn("connect failed", "addr", l.c.address, "error", err.Message, "attempt", l.tries)
			if l.pause() {
				continue
			}
			return nil
		}
		retired := false
		l.began, l.drained = time.Now(), false
		l.change(func() {
			l.failed, l.tries = nil, 0
			if retired = l.retired; !retired {
				l.live[s] = struct{}{}
				l.last = s
				l.current.Store(s)
			}
		})
		if retired {
			s.Close(closedStatus())
		}
		return s
	}
	return nil
}

// over reports whether there is to be no further connection.
func (l *link) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.retired || l.c.life.Err() != nil
}

func (l *link) ended(s *session.Session) {
	l.mu.Lock()
	delete(l.live, s)
	l.mu.Unlock()
	err := fromStatus(s.Err(), "", l.c.address)
	l.c.cfg.Logger.Info("connection ended", "addr", l.c.address, "error", err.Message)
	for _, h := range l.c.hooks.closed {
		h.ConnClosed(s.Owner.(*Peer), err)
	}
}

// pause waits before the next attempt: longer each time, but not long while
// somebody waits. It returns false when the client was closed.
func (l *link) pause() bool {
	f := &l.c.cfg
	d := float64(f.Backoff)
	if l.drained {
		// The server said goodbye: the next one is likely to be here soon.
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
			// From now on, whoever waits gets an attempt at once.
			wanted = l.wanted
		case <-wanted:
			return true
		case <-l.c.life.Done():
			return false
		}
	}
}

// connect makes one attempt.
func (l *link) connect(ctx context.Context) (*session.Session, *Error) {
	handshake := l.c.session.Limits.HandshakeTimeout // each step has that long
	dial, done := context.WithTimeout(ctx, handshake)
	conn, err := l.transport.Dial(dial, l.addr)
	done()
	if err != nil {
		return nil, l.failure(err)
	}
	if conn, err = l.secure(ctx, conn); err != nil {
		return nil, l.failure(err)
	}
	credential := ""
	if l.c.cfg.ConnCredential != nil {
		ask, done := context.WithTimeout(ctx, handshake)
		cred, err := l.c.cfg.ConnCredential(ask)
		done()
		if err != nil {
			conn.Close()
			return nil, l.failure(unauthenticated(err))
		}
		if credential = cred.encode(); len(credential) > wire.MaxCredential {
			conn.Close()
			return nil, l.failure(Errorf(InvalidArgument, "the credential has %d bytes, at most %d are allowed", len(credential), wire.MaxCredential))
		}
	}
	s, st := session.Dial(ctx, conn, &l.c.session, credential)
	if st != nil {
		return nil, fromStatus(st, "", l.c.address)
	}
	return s, nil
}

// secure does the TLS handshake, if there is to be one.
func (l *link) secure(ctx context.Context, conn net.Conn) (net.Conn, error) {
	cfg := l.c.cfg.TLS
	if l.c.cfg.TLSFunc != nil {
		if cfg = l.c.cfg.TLSFunc(); cfg == nil {
			conn.Close()
			return nil, Errorf(FailedPrecondition, "TLSFunc returned no TLS configuration")
		}
		cfg = tlsConfig(cfg)
	}
	if cfg == nil {
		return conn, nil
	}
	if cfg.ServerName == "" {
		cfg = cfg.Clone()
		cfg.ServerName = l.addr
		if host, _, err := net.SplitHostPort(l.addr); err == nil {
			cfg.ServerName = host
		}
	}
	ctx, cancel := context.WithTimeout(ctx, l.c.session.Limits.HandshakeTimeout)
	defer cancel()
	t := tls.Client(conn, cfg)
	if err := t.HandshakeContext(ctx); err != nil {
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

// retire takes the link out of use for a shutdown, and returns the sessions that
// may still have calls.
func (l *link) retire() []*session.Session {
	var live []*session.Session
	l.change(func() {
		l.retired = true
		l.current.Store(nil)
		live = slices.Collect(maps.Keys(l.live))
	})
	return live
}

// close ends the link's sessions.
func (l *link) close() {
	for _, s := range l.retire() {
		s.Close(closedStatus())
	}
}

func asWeft(err error, e **Error) bool { return errors.As(err, e) }
