package weft

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weftrpc/weft/internal/greeting"
	"github.com/weftrpc/weft/internal/logger"
	"github.com/weftrpc/weft/internal/pending"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/sniff"
	"github.com/weftrpc/weft/internal/tlsconf"
	"github.com/weftrpc/weft/internal/wire"
)

// entrance is what a server has for connections that are on their way in.
type entrance struct {
	buffers sync.Pool // of first bytes, *[firstRead]byte
	pending pending.Table
	turning int     // connections that are being refused; guarded by Server.mu
	traffic Traffic // of connections that have ended; guarded by Server.mu

	accepted, rejected                 atomic.Uint64 // connections that were accepted after authentication, and that were not
	strangers, crowded, breaches, kept logger.Sparse // what is logged of them
}

// newcomer is a connection on its way in.
type newcomer struct {
	pending.Entry
	s    *Server
	conn net.Conn
	peer *Peer // once the connection is being admitted
	late error // of a door's connection: why it cannot be admitted
}

// take starts the handshake of a new connection.
func (s *Server) take(conn net.Conn) {
	if !s.conns.Enter() {
		conn.Close()
		return
	}
	n := &newcomer{s: s, conn: conn}
	ok, dropped := s.pending.Enter(&n.Entry, conn)
	if !ok || dropped {
		s.tooMany(conn)
	}
	if !ok {
		s.conns.Leave()
		s.turnAway(conn, &wire.Status{Code: wire.Unavailable, Message: "too many connections are in their handshake (ServerConfig.MaxPending)"})
		return
	}
	// A worker: its stack has grown with the connections before.
	s.exec.Go(n.keep)
}

// tooMany logs that a connection has to go because too many are in their handshake.
func (s *Server) tooMany(conn net.Conn) {
	const what = "too many connections in their handshake: one is given up for each new one"
	if s.crowded.Allow(func(left int) { s.cfg.Logger.Warn(what, "times", left, "limit", s.cfg.MaxPending) }) {
		s.cfg.Logger.Warn(what, "peer", conn.RemoteAddr().String(), "limit", s.cfg.MaxPending)
	}
}

// mostKeptOut is how many connections that do not come in are logged in full in a second.
const mostKeptOut = 10

// keptOut logs why a connection does not come in.
func keptOut(s *Server, conn net.Conn, what string, attrs ...any) {
	if s.cfg.Logger.Enabled(s.life, slog.LevelInfo) && s.kept.Allow(func(left int) { s.cfg.Logger.Info("more connections refused", "times", left) }) {
		s.cfg.Logger.Info(what, append([]any{"peer", conn.RemoteAddr().String()}, attrs...)...)
	}
}

// turnAway tells a client why its connection is refused, so that the client knows that the calls which it has sent already will not run.
// More than MaxPending such connections at a time are closed without an answer.
func (s *Server) turnAway(conn net.Conn, st *wire.Status) {
	if !s.beginTurning() {
		conn.Close()
		return
	}
	s.exec.Go(func() { s.endTurning(conn, st) })
}

func (s *Server) beginTurning() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ok := s.cfg.TLS == nil && s.turning < s.cfg.MaxPending && s.conns.Enter()
	if ok {
		s.turning++
	}
	return ok
}

func (s *Server) endTurning(conn net.Conn, st *wire.Status) {
	defer s.conns.Leave()
	greeting.RefuseUnread(conn, st)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turning--
}

// keep serves a connection from its handshake, which is bounded in time, to its end. A shutdown waits for it.
func (n *newcomer) keep() {
	s := n.s
	handed := false
	defer func() {
		if !handed { // also when a hook or Match of a door has ended this goroutine
			n.failed()
		}
	}()
	if !n.accepted() {
		return
	}
	sess, door := n.handshake()
	switch {
	case sess != nil:
		handed = true
		sess.Run(nil, func() { s.left(sess.Owner.(*Peer)) })
	case door != nil:
		handed = true
		s.keepDoor(door)
	}
}

// failed ends a connection that did not get in.
func (n *newcomer) failed() {
	s := n.s
	_ = s.pending.Leave(&n.Entry) // it is over in any case
	n.conn.Close()
	s.mu.Lock()
	in := false
	if n.peer != nil {
		_, in = s.peers[n.peer]
		s.enteredLocked(n.peer)
	}
	s.mu.Unlock()
	if in { // ConnOpened has ended the goroutine
		n.peer.end()
		s.left(n.peer)
		return
	}
	s.rejected.Add(1)
	s.conns.Leave()
}

// accepted asks the hooks whether the connection may come in.
func (n *newcomer) accepted() bool {
	s := n.s
	if len(s.hooks.accepted) == 0 {
		return true
	}
	n.Set(pending.Deciding)
	for _, h := range s.hooks.accepted {
		err := error(Errorf(Internal, "the hook panicked"))
		s.host.fence.Run("ConnAccepted", n.conn.RemoteAddr(), func() { err = h.ConnAccepted(n.conn) })
		if err != nil {
			keptOut(s, n.conn, "connection refused by a hook", "error", err)
			if s.pending.Leave(&n.Entry) == nil && s.beginTurning() {
				s.endTurning(n.conn, &wire.Status{Code: wire.PermissionDenied, Message: "a hook of the server does not let this connection in"})
			}
			return false
		}
	}
	n.Set(pending.Silent)
	return true
}

// keepDoor serves a connection of a door.
func (s *Server) keepDoor(d *DoorConn) {
	defer func() {
		d.waits()
		s.mu.Lock()
		in := d.peer != nil
		if in {
			_, in = s.peers[d.peer]
		}
		s.enteredLocked(d.newcomer.peer)
		s.mu.Unlock()
		if in {
			s.left(d.peer)
			return
		}
		s.rejected.Add(1)
		keptOut(s, d.conn, "connection refused", "door", d.door.Name(), "error", d.why().Message)
		s.conns.Leave()
	}()
	d.serve()
}

// handshake returns the session of a connection that was admitted, or the connection of a door, or neither.
func (n *newcomer) handshake() (sess *session.Session, d *DoorConn) {
	s := n.s
	conn, protocol, err := n.secure()
	if err != nil {
		keptOut(s, n.conn, "TLS handshake failed", "error", err)
		refusePlain(n.conn, err)
		return nil, nil
	}
	buf := s.buffers.Get().(*[firstRead]byte)
	defer s.buffers.Put(buf)
	door, prefix := s.doorFor(protocol), []byte(nil)
	if door == nil && protocol != alpn {
		prefix, door, _, err = sniff.Read(conn, buf[:], wire.Preface[0], sniff.Doors[Door](n))
		if err != nil {
			if late := s.pending.Leave(&n.Entry); late != nil {
				err = late
			}
			n.strange(conn, err)
			return nil, nil
		}
	}
	n.Set(pending.Speaking)
	if door != nil {
		return nil, &DoorConn{s: s, door: door, conn: conn, prefix: bytes.Clone(prefix),
			doorDrain: doorDrain{draining: make(chan struct{})}, done: make(chan struct{}), newcomer: n,
			waits: sync.OnceFunc(func() { n.late = s.pending.Leave(&n.Entry) })}
	}
	sess, st := session.AcceptBounded(conn, &s.session, prefix, n, n.stop)
	if st != nil {
		keptOut(s, n.conn, "connection refused", "code", Code(st.Code).String(), "error", st.Message)
	}
	return sess, nil
}

// firstRead is how much of a connection is read to find out its wire: usually all that
// the peer sends first, so that a session need not read again.
const firstRead = 512

// Doors implements sniff.Doors.
func (n *newcomer) Doors() []Door { return n.s.cfg.Doors }

// Heard implements sniff.Doors. It is called for the first message of TLS too.
func (n *newcomer) Heard() { n.Set(pending.Speaking) }

// Match implements sniff.Doors. A panic in a door's Match, which a hostile peer may be able to cause, ends only the connection.
func (n *newcomer) Match(d Door, prefix []byte) (yes, more bool) {
	defer func() {
		if p := recover(); p != nil {
			n.s.host.fence.Panicked("function", "Match of door "+d.Name(), nil, p)
			yes, more = false, false
		}
	}()
	return d.Match(prefix)
}

// stop ends the bound on a handshake; see session.AcceptBounded.
func (n *newcomer) stop() *wire.Status {
	err := n.s.pending.Leave(&n.Entry)
	if err == nil {
		return nil
	}
	return refusal(handshakeError(err))
}

// handshakeError is what the peer is told of an error of pending.Table.
func handshakeError(err error) *Error {
	if _, late := errors.AsType[*pending.LateError](err); late {
		return Errorf(DeadlineExceeded, "%w", err)
	}
	e := Errorf(Unavailable, "%w", err)
	if errors.Is(err, pending.ErrClosed) {
		e.Reason = ReasonDraining
	}
	return e
}

// hung is called when user code has not decided about a connection in time.
func (s *Server) hung(conn net.Conn) {
	s.cfg.Logger.Error("user code has not returned within the time of a handshake: a hook or AuthenticateConn; the connection was closed",
		"peer", conn.RemoteAddr().String())
}

// secure does the TLS handshake, if there is to be one, and returns the protocol that was negotiated in it.
func (n *newcomer) secure() (conn net.Conn, protocol string, err error) {
	s := n.s
	if s.cfg.TLS == nil {
		return n.conn, "", nil
	}
	t := tls.Server(s.exec.Pulsed(n.conn), s.cfg.TLS)
	ctx, cancel := context.WithTimeout(tlsconf.Accepting(s.life, n.conn, n.Heard), s.session.Limits.HandshakeTimeout)
	defer cancel()
	err = error(Errorf(Internal, "a function of the TLS configuration panicked"))
	s.host.fence.Run("tls.Config", n.conn.RemoteAddr(), func() { err = t.HandshakeContext(ctx) })
	if err == nil {
		return t, t.ConnectionState().NegotiatedProtocol, nil
	}
	if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() {
		return nil, "", err
	}
	if late := s.pending.Leave(&n.Entry); late != nil {
		err = late
	} else if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = Errorf(DeadlineExceeded, "it was not over within Limits.HandshakeTimeout (%v)", s.cfg.Limits.HandshakeTimeout)
	}
	return nil, "", err
}

// doorFor returns the door that has a protocol of TLS, or nil.
func (s *Server) doorFor(protocol string) Door {
	if protocol == "" {
		return nil
	}
	for _, d := range s.cfg.Doors {
		if slices.Contains(d.Protocols(), protocol) {
			return d
		}
	}
	return nil
}

// strange logs and closes a connection whose wire was not recognized.
func (n *newcomer) strange(conn net.Conn, err error) {
	s := n.s
	sever(conn)
	if errors.Is(err, io.EOF) {
		return // a probe of a load balancer connects and closes
	}
	level, what := slog.LevelInfo, "connection closed before its wire was known"
	if _, ok := errors.AsType[*sniff.StrangerError](err); ok {
		level, what = slog.LevelWarn, "connection closed: its wire is not served here"
	}
	full := s.strangers.Allow(func(left int) {
		s.cfg.Logger.Log(context.Background(), level, "more connections closed whose wires were not known, or are not served here", "times", left)
	})
	if full {
		s.cfg.Logger.Log(context.Background(), level, what, "peer", conn.RemoteAddr().String(), "error", err)
	}
}

// enteredLocked records that a connection which was admitted is among the peers, or has failed.
func (s *Server) enteredLocked(p *Peer) {
	if _, ok := s.entering[p]; ok {
		delete(s.entering, p)
		s.admitted.Done()
	}
}

// admitSession accepts or refuses a connection by its hello, before the session takes any call.
func (s *Server) admitSession(sess *session.Session, credential string) *wire.Status {
	n := sess.Owner.(*newcomer)
	n.peer = newPeer(sess, &s.caller)
	sess.Owner = n.peer
	if err := n.admit(n.peer, parseCredential(credential)); err != nil {
		return refusal(err)
	}
	return nil
}

// admit accepts or refuses a connection of any wire.
func (n *newcomer) admit(p *Peer, credential Credential) error {
	s := n.s
	if s.cfg.AuthenticateConn != nil {
		n.Set(pending.Deciding)
		principal, err := n.authenticate(credential, p)
		n.Set(pending.Speaking)
		if err != nil {
			return unauthenticated(err)
		}
		p.principal = principal
	}
	p.critical = mayBeCritical(&s.cfg, &s.host.fence, p)
	s.mu.Lock()
	defer s.mu.Unlock()
	// A connection that is admitted gets its calls answered, so none is while the server shuts down.
	if s.closing {
		return Errorf(Unavailable, "the server is shutting down").WithReason(ReasonDraining)
	}
	open := len(s.peers) + len(s.entering)
	if s.cfg.MaxConns > 0 && open >= s.cfg.MaxConns {
		return Errorf(ResourceExhausted, "the server has %d connections already and takes no more (ServerConfig.MaxConns)", open)
	}
	n.peer = p
	s.entering[p] = struct{}{}
	s.admitted.Add(1)
	return nil
}

// authenticate calls the configured function. A panic in it, which a hostile peer may be able to cause, ends only the connection.
func (n *newcomer) authenticate(cred Credential, p *Peer) (principal any, err error) {
	s := n.s
	ctx, cancel := context.WithTimeout(s.life, s.session.Limits.HandshakeTimeout)
	defer cancel()
	err = Errorf(Internal, "the connection could not be authenticated")
	s.host.fence.Run("AuthenticateConn", p.Addr(), func() { principal, err = s.cfg.AuthenticateConn(ctx, cred, p) })
	return principal, err
}

// openedSession is called for every session before it reads its first frame.
func (s *Server) openedSession(sess *session.Session) { s.opened(sess.Owner.(*Peer)) }

// opened makes a connection that was admitted one of the peers.
func (s *Server) opened(p *Peer) {
	s.accepted.Add(1)
	s.mu.Lock()
	s.peers[p] = struct{}{}
	s.enteredLocked(p)
	s.mu.Unlock()
	for _, h := range s.hooks.opened {
		s.host.fence.Run("ConnOpened", p.Addr(), func() { h.ConnOpened(p) })
	}
}

// left is called when a connection that was opened has ended.
func (s *Server) left(p *Peer) {
	defer s.conns.Leave()
	var carried Traffic
	carried.add(p)
	s.mu.Lock()
	delete(s.peers, p)
	s.traffic.Read += carried.Read
	s.traffic.Written += carried.Written
	s.mu.Unlock()
	debug := s.cfg.Logger.Enabled(s.life, slog.LevelDebug)
	if p.door == nil && !debug && len(s.hooks.closed) == 0 {
		return // nothing is told why
	}
	err := p.ended()
	if p.door != nil && (err.Reason == ReasonProtocol || err.Reason == ReasonMessageTooLarge) {
		broken(s, p, err)
	} else if debug {
		s.cfg.Logger.Debug("connection closed", "peer", p.Addr().String(), "error", err.Message)
	}
	for _, h := range s.hooks.closed {
		s.host.fence.Run("ConnClosed", p.Addr(), func() { h.ConnClosed(p, err) })
	}
}

// broken logs and counts the end of a connection whose peer broke the protocol of its door: all its calls fail.
func broken(s *Server, p *Peer, e *Error) {
	s.host.countRefused(e.Code, e.Reason)
	const what = "connection closed: its peer broke the protocol"
	full := s.breaches.Allow(func(left int) { s.cfg.Logger.Warn(what+" again", "door", p.Wire(), "times", left) })
	if full {
		s.cfg.Logger.Warn(what, "peer", p.Addr().String(), "door", p.Wire(), "error", e.Message)
	}
}
