package weft

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/weftrpc/weft/internal/fence"
	"github.com/weftrpc/weft/internal/guess"
	"github.com/weftrpc/weft/internal/redial"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/tlsconf"
	"github.com/weftrpc/weft/internal/wire"
)

// link is one connection of a client, made anew whenever it is lost; package redial decides when.
type link struct {
	redial.Link[Peer]
	c *Client
}

// redialing is what the links of a client have in common.
func (c *Client) redialing() redial.Config {
	return redial.Config{
		Life: c.life, Closed: &c.closed, Work: &c.work, Backoff: c.cfg.Backoff, Most: c.cfg.MaxBackoff,
		Lasting: func(err error) bool { return wire.Code(CodeOf(err)).Lasting() }, // calls are told why at once, and the link goes on to try
		Exited:  &Error{Code: Internal, Outcome: NotSent, Peer: c.address, Message: "a hook of the client has ended its goroutine"},
		Log: func(level slog.Level, err error, attempt int) {
			e := (*Error)(nil)
			asWeft(err, &e)
			c.cfg.Logger.Log(c.life, level, "connect failed", "addr", c.address, "code", e.Code.String(), "error", e.Message, "attempt", attempt)
		},
		Connects: &c.connects, Failures: &c.failures,
	}
}

// peer returns the link's connection if it can be used.
func (l *link) peer() *Peer {
	if p := l.Current(); p != nil && p.usable() {
		return p
	}
	return nil
}

// first makes the first connection. Calls leave together with the hello, which saves a round trip: what the server says to the hello, a
// call is told. It waits for the server's hello where hooks are told of connections, or the server makes calls to this client.
func (l *link) first(ctx context.Context) error {
	c := l.c
	if c.target.Wire != nil || len(c.hooks.opened) > 0 || len(c.hooks.closed) > 0 || c.cfg.Services != nil {
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
		c.failures.Add(1)
		e := l.failure(err)
		if ctx.Err() != nil {
			return contextStatus(ctx, "no connection to "+c.address+" in time: "+e.Message)
		}
		return e
	}
	s := session.Open(conn, &c.session, credential.encode())
	s.Attend(l.Adopt(s.Owner.(*Peer)))
	return nil
}

// wait waits for a connection.
func (l *link) wait(ctx context.Context) (*Peer, *Error) {
	return l.waitFor(ctx, l.c.cfg.NoWaitForReady)
}

// waitFor waits for a connection; see redial.Link.Wait. The error is the caller's own.
func (l *link) waitFor(ctx context.Context, fast bool) (*Peer, *Error) {
	p, err := l.Wait(ctx, fast)
	if err == nil {
		return p, nil
	}
	if errors.Is(err, redial.ErrClosed) {
		return nil, closedError()
	}
	e := (*Error)(nil)
	if late, ok := errors.AsType[*redial.LateError](err); ok {
		why := "no connection to " + l.c.address + " in time"
		if asWeft(late.Last, &e) {
			why += ": " + e.Message
		}
		return nil, contextStatus(ctx, why)
	}
	asWeft(err, &e)
	copied := *e
	return nil, &copied
}

// dialer is what package redial needs of a link.
type dialer struct{ l *link }

// Connect implements redial.Dialer.
func (d dialer) Connect(ctx context.Context) (*Peer, error) { return d.l.connect(ctx) }

// Usable implements redial.Dialer.
func (dialer) Usable(p *Peer) bool { return p.usable() }

// Run implements redial.Dialer.
func (dialer) Run(p *Peer, gone, ended func()) { p.run(gone, ended) }

// Close implements redial.Dialer.
func (dialer) Close(p *Peer) { p.end() }

// Ended implements redial.Dialer.
func (d dialer) Ended(p *Peer) redial.End {
	c := d.l.c
	rejected := p.s != nil && !p.s.Met() && !c.closed.Load()
	if !rejected && len(c.hooks.closed) == 0 && !c.cfg.Logger.Enabled(c.life, slog.LevelInfo) {
		return redial.End{} // nothing is told why
	}
	err := p.ended()
	err.Peer = c.address
	if rejected {
		return redial.End{Err: err, Rejected: true, Final: !again(err)}
	}
	c.cfg.Logger.Info("connection ended", "addr", c.address, "code", err.Code.String(), "error", err.Message)
	for _, h := range c.hooks.closed {
		c.host.fence.Run("ConnClosed", p.Addr(), func() { h.ConnClosed(p, err) })
	}
	return redial.End{Err: err}
}

// connect makes one attempt, up to the server's hello.
func (l *link) connect(ctx context.Context) (*Peer, error) {
	credential, err := l.credential(ctx)
	if err != nil {
		return nil, l.failure(err)
	}
	if l.c.target.Wire != nil {
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
func (l *link) connectForeign(ctx context.Context, credential Credential) (*Peer, error) {
	bound, done := context.WithTimeout(ctx, 2*l.c.session.Limits.HandshakeTimeout)
	var w WireConn
	err := error(Errorf(Internal, "Dial of wire %s panicked", l.c.target.Wire.Scheme()))
	l.c.host.fence.Run("Dial of wire "+l.c.target.Wire.Scheme(), nil, func() {
		w, err = l.c.target.Wire.Dial(bound, WireConfig{
			Dial: l.dial, Address: l.c.target.Rest, Path: l.c.target.Path, Credential: credential, Limits: l.c.cfg.Limits, Logger: l.c.cfg.Logger,
			Compressors: l.c.cfg.Compressors, Compressor: l.c.cfg.Compressor,
		})
	})
	done()
	if err != nil {
		return nil, l.failure(err)
	}
	p := &Peer{w: w, wire: l.c.target.Wire.Scheme(), conn: w.Conn(), caller: &l.c.caller, since: session.Nanos(), number: l.c.exec.Number()}
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

// dial makes the connection underneath, with TLS if there is to be some. Each step has the time of the handshake.
func (l *link) dial(ctx context.Context) (net.Conn, error) {
	conn, err := l.dialPlain(ctx)
	if err != nil {
		return nil, err
	}
	return l.secure(ctx, conn)
}

// dialPlain makes the connection without TLS.
func (l *link) dialPlain(ctx context.Context) (net.Conn, error) {
	limit := l.c.session.Limits.HandshakeTimeout
	if until, ok := ctx.Deadline(); !ok || time.Until(until) > limit {
		var done context.CancelFunc
		ctx, done = context.WithTimeout(ctx, limit)
		defer done()
	}
	return l.c.target.Transport.Dial(ctx, l.c.target.Rest)
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
	if l.c.target.Wire != nil {
		cfg = tlsconf.Offer(cfg, l.c.target.Wire.Protocols()...)
	} else {
		cfg = tlsconf.Offer(cfg, alpn)
	}
	if cfg.ServerName == "" {
		cfg.ServerName = l.c.target.Rest
		if host, _, err := net.SplitHostPort(l.c.target.Rest); err == nil {
			cfg.ServerName = host
		}
	}
	ctx, cancel := context.WithTimeout(ctx, l.c.session.Limits.HandshakeTimeout)
	defer cancel()
	under := conn
	if cfg.Renegotiation == tls.RenegotiateNever { // a renegotiation writes beside the goroutine that writes
		under = l.c.exec.Pulsed(conn)
	}
	t := tls.Client(under, cfg)
	err := error(Errorf(Internal, "a function of the TLS configuration panicked"))
	l.c.host.fence.Run("tls.Config", conn.RemoteAddr(), func() { err = t.HandshakeContext(ctx) })
	if err != nil {
		conn.Close()
		return nil, Errorf(Unavailable, "TLS: %w", guess.TLSError(err))
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

// close ends the link's connections.
func (l *link) close() {
	for _, p := range l.Retire() {
		p.end()
	}
}
