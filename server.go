package weft

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/internal/logger"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/wire"
)

// Server serves registered methods on any number of listeners. Its methods may be
// called from any goroutine.
type Server struct {
	*Services

	cfg     ServerConfig
	err     error // what is wrong with the configuration
	host    host
	caller  caller // of calls to clients
	hooks   *hooks
	session session.Config
	exec    *session.Executor
	buffers sync.Pool    // of first bytes, *[firstRead]byte
	pending atomic.Int64 // connections in their handshake

	accepted, rejected atomic.Uint64 // connections that were accepted after authentication, and that were not
	strangers          occasionally

	announcer *announcer // nil: there is no registry

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	schemes   map[net.Listener]string // of the transports of what Listen returned
	peers     map[*Peer]struct{}
	entering  map[net.Conn]struct{} // connections that were admitted and are not among the peers yet
	turning   int                   // connections that are being refused
	admitted  sync.WaitGroup        // as many; grows only while the server is not closing
	conns     sync.WaitGroup        // connections from accept to end, and what else ends with the server
	closing   bool
	closed    bool
	stop      context.CancelFunc // ends handshakes
	life      context.Context
	ended     sync.Once
	over      chan struct{} // closed when the server has been closed
}

// NewServer makes a server. A nil configuration gives safe defaults. It does not fail: the
// error of a wrong configuration is returned by every Handle, Register, Alias, Listen, Serve
// and ListenAndServe of the server.
func NewServer(cfg *ServerConfig) *Server {
	s := &Server{
		Services:  NewServices(),
		listeners: make(map[net.Listener]struct{}),
		schemes:   make(map[net.Listener]string),
		peers:     make(map[*Peer]struct{}),
		entering:  make(map[net.Conn]struct{}),
		exec:      session.NewExecutor(),
		over:      make(chan struct{}),
	}
	if cfg != nil {
		s.cfg = *cfg
	}
	s.life, s.stop = context.WithCancel(context.Background())
	s.buffers.New = func() any { return new([firstRead]byte) }
	s.err = s.configure()
	s.Services.wrong = s.err
	return s
}

func (s *Server) configure() error {
	c := &s.cfg
	if c.Transports == nil {
		c.Transports = defaultTransports()
	}
	if c.MaxPending < 0 || c.MaxConns < 0 || c.DrainTimeout < 0 {
		return Errorf(InvalidArgument, "weft: MaxPending is %d, MaxConns %d, DrainTimeout %v: none can be negative",
			c.MaxPending, c.MaxConns, c.DrainTimeout)
	}
	c.MaxPending = orDefault(c.MaxPending, DefaultMaxPending)
	c.DrainTimeout = orDefault(c.DrainTimeout, DefaultDrainTimeout)
	c.Logger = logger.OrDefault(c.Logger)
	c.Timeout = orDefault(c.Timeout, DefaultTimeout)
	limits, err := c.Limits.resolve()
	var a around
	if err == nil {
		a, err = gather(c.Plugins, c.Hooks)
	}
	if err == nil {
		err = s.configureDoors()
	}
	if err == nil {
		err = checkCompressors(c.Compressors)
	}
	if err == nil {
		err = noneNil("interceptor", len(c.Interceptors), func(i int) bool { return c.Interceptors[i] == nil })
	}
	if err == nil {
		err = noneNil("stream interceptor", len(c.StreamInterceptors), func(i int) bool { return c.StreamInterceptors[i] == nil })
	}
	if err != nil {
		return err
	}
	c.Limits = limitsOf(limits)
	s.hooks = a.hooks
	s.host = host{
		services: s.Services, compressor: c.Compressor, log: c.Logger, authenticate: c.Authenticate, hooks: a.hooks.request,
	}
	if err := s.host.setup(c.Codecs, append(a.unary, c.Interceptors...), append(a.streams, c.StreamInterceptors...)); err != nil {
		return err
	}
	s.caller = caller{compressor: c.Compressor, timeout: c.Timeout, hooks: a.hooks.reply}
	s.caller.setup(nil, a.client, a.clientStream)
	c.LoadReportInterval = orDefault(c.LoadReportInterval, DefaultLoadReportInterval)
	if s.announcer, err = newAnnouncer(s); err != nil {
		return err
	}
	if s.announcer != nil {
		s.Services.changed = s.announcer.changed
	}
	for _, h := range s.hooks.registered {
		s.Services.onNew = append(s.Services.onNew, h.ServiceRegistered)
	}
	s.session = session.Config{
		Limits: limits, Codecs: s.host.names, Compressors: c.Compressors, Checksum: c.Checksum, Software: software,
		Resolve: s.host.resolve, Accept: s.admitSession, Setup: s.openedSession, Exec: s.exec, Logger: c.Logger,
		Refused: s.host.sessionRefused, Panicked: s.host.sessionPanicked,
	}
	return nil
}

// configureDoors checks the doors, and the TLS that they share with weft's wire.
func (s *Server) configureDoors() error {
	c := &s.cfg
	protocols := []string{alpn}
	for i, d := range c.Doors {
		if d == nil {
			return Errorf(InvalidArgument, "weft: door %d of the configuration is nil", i)
		}
		for _, p := range d.Protocols() {
			if slices.Contains(protocols, p) {
				return Errorf(InvalidArgument, "weft: door %q and one before it both speak %q in TLS", d.Name(), p)
			}
			protocols = append(protocols, p)
		}
	}
	if c.TLS == nil {
		return nil
	}
	if t := c.TLS; len(t.Certificates) == 0 && t.GetCertificate == nil && t.GetConfigForClient == nil {
		return Errorf(InvalidArgument, "weft: TLS is configured without a certificate: set Certificates or GetCertificate, or leave TLS nil")
	}
	c.TLS = withProtocols(c.TLS, protocols...)
	return nil
}

// ListenAndServe listens on the addresses, such as "tcp://:8972" or
// "unix:///run/app.sock", and serves until ctx ends. Then it shuts down as
// Shutdown does, within the configured DrainTimeout, and returns nil after a full
// drain. It returns an error when it cannot listen on one of the addresses, when a
// listener fails, or when calls had to be cut off.
func (s *Server) ListenAndServe(ctx context.Context, addresses ...string) error {
	if s.err != nil {
		return s.err
	}
	var listeners []net.Listener
	for _, a := range addresses {
		l, err := s.Listen(ctx, a)
		if err != nil {
			s.forgetAll(listeners)
			return err
		}
		listeners = append(listeners, l)
	}
	if len(listeners) == 0 {
		return Errorf(InvalidArgument, "weft: listen and serve: no address was given")
	}
	return s.serveAll(ctx, listeners)
}

// Listen listens on an address of one of the server's transports, for Serve. The
// server remembers the transport's scheme for its registry; for a listener that Listen did
// not make, the scheme is the network of its Addr.
func (s *Server) Listen(ctx context.Context, address string) (net.Listener, error) {
	if s.err != nil {
		return nil, s.err
	}
	if address == "" {
		return nil, Errorf(InvalidArgument, "weft: listen: the address is empty; write tcp://:0 for any free port")
	}
	a, err := parseAddress(s.cfg.Transports, nil, address)
	if err != nil {
		return nil, Errorf(InvalidArgument, "%w", err)
	}
	l, err := a.transport.Listen(ctx, a.rest)
	if err != nil {
		return nil, Errorf(Unavailable, "weft: listen on %s: %w", address, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.schemes[l] = a.transport.Scheme()
	}
	return l, nil
}

// schemeOf is the scheme of addresses at which a listener is reached.
func (s *Server) schemeOf(l net.Listener) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return orDefault(s.schemes[l], l.Addr().Network())
}

func (s *Server) serveAll(ctx context.Context, listeners []net.Listener) error {
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		for _, h := range s.hooks.listening {
			h.Listening(l.Addr())
		}
	}
	// The registry gets the address of the first listener, so it is announced before
	// any goroutine serves.
	if err := s.announce(listeners[0]); err != nil {
		s.forgetAll(listeners)
		return err
	}
	for _, l := range listeners {
		// This goroutine ends when the listener is closed, which every way out of here does.
		go func() { failed <- s.Serve(l) }()
	}
	var err error
	left := len(listeners)
	select {
	case <-ctx.Done():
	case err = <-failed:
		left--
	}
	if errors.Is(err, ErrServerClosed) {
		// Another goroutine called Shutdown; its deadline applies.
		select {
		case <-s.over:
		case <-ctx.Done():
		}
	}
	stopping := ctx.Err() != nil
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.DrainTimeout)
	defer cancel()
	shut := s.Shutdown(drain)
	for ; left > 0; left-- {
		if e := <-failed; err == nil {
			err = e
		}
	}
	if stopping && errors.Is(err, ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, shut)
}

// Serve accepts connections from l until l fails or the server is shut down,
// which closes l. It always returns an error: ErrServerClosed after a shutdown.
func (s *Server) Serve(l net.Listener) error {
	if s.err != nil {
		return s.err
	}
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		s.forget(l)
		return ErrServerClosed
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	defer s.forget(l)
	// Connections that come before the first Accept wait in the listener.
	if err := s.announce(l); err != nil {
		return err
	}
	var pause time.Duration
	for {
		conn, err := l.Accept()
		if err == nil {
			pause = 0
			s.take(conn)
			continue
		}
		if s.stopping() {
			return ErrServerClosed
		}
		if ne, ok := errors.AsType[net.Error](err); !ok || !ne.Timeout() && !temporary(err) {
			return Errorf(Unavailable, "weft: accept on %v: %w", l.Addr(), err)
		}
		// Out of file descriptors or the like: wait for some to come back.
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		s.cfg.Logger.Warn("accept failed, trying again", "addr", l.Addr().String(), "error", err, "after", pause)
		select {
		case <-time.After(pause):
		case <-s.life.Done():
			return ErrServerClosed
		}
	}
}

// temporary reports whether an accept may well succeed later.
func temporary(err error) bool {
	t, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	return ok && t.Temporary()
}

func (s *Server) forget(l net.Listener) {
	l.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
	delete(s.schemes, l)
}

func (s *Server) forgetAll(listeners []net.Listener) {
	for _, l := range listeners {
		s.forget(l)
	}
}

func (s *Server) stopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// take starts the handshake of a new connection.
func (s *Server) take(conn net.Conn) {
	for _, h := range s.hooks.accepted {
		if err := h.ConnAccepted(conn); err != nil {
			s.cfg.Logger.Info("connection refused by a hook", "peer", conn.RemoteAddr().String(), "error", err)
			s.turnAway(conn, &wire.Status{Code: wire.PermissionDenied, Message: "a hook of the server does not let this connection in"})
			return
		}
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		conn.Close()
		return
	}
	s.conns.Add(1)
	s.mu.Unlock()
	if s.pending.Add(1) > int64(s.cfg.MaxPending) {
		s.pending.Add(-1)
		s.conns.Done()
		s.cfg.Logger.Warn("too many connections in their handshake", "peer", conn.RemoteAddr().String(), "limit", s.cfg.MaxPending)
		s.turnAway(conn, &wire.Status{Code: wire.Unavailable, Message: "too many connections are in their handshake (ServerConfig.MaxPending)"})
		return
	}
	// A worker: its stack has grown with the connections before.
	s.exec.Go(func() { s.keep(conn) })
}

// turnAway tells a client why its connection is refused, so that the client knows that the
// calls which it has sent already will not run. More than MaxPending such connections at a
// time are closed without an answer.
func (s *Server) turnAway(conn net.Conn, st *wire.Status) {
	s.mu.Lock()
	told := !s.closed && s.cfg.TLS == nil && s.turning < s.cfg.MaxPending
	if told {
		s.turning++
		s.conns.Add(1)
	}
	s.mu.Unlock()
	if !told {
		conn.Close()
		return
	}
	s.exec.Go(func() {
		defer s.conns.Done()
		session.RefuseUnread(conn, st)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.turning--
	})
}

// keep serves a connection from its handshake, which is bounded in time, to its end. A
// shutdown waits for it.
func (s *Server) keep(conn net.Conn) {
	handed := false
	defer func() {
		if !handed { // also when a hook or Match of a door has ended this goroutine
			conn.Close()
			s.rejected.Add(1)
			s.conns.Done()
		}
	}()
	sess, door := s.handshake(conn)
	switch {
	case sess != nil:
		handed = true
		sess.Run(nil, func() { s.left(sess.Owner.(*Peer)) })
	case door != nil:
		handed = true
		s.keepDoor(door)
	}
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
		s.enteredLocked(d.conn)
		s.mu.Unlock()
		if in {
			s.left(d.peer)
			return
		}
		s.rejected.Add(1)
		s.cfg.Logger.Info("connection refused", "peer", d.conn.RemoteAddr().String(), "door", d.door.Name(), "error", d.why().Message)
		s.conns.Done()
	}()
	d.serve()
}

// handshake returns the session of a connection that was admitted, or the connection of a
// door, or neither.
func (s *Server) handshake(conn net.Conn) (sess *session.Session, d *DoorConn) {
	defer func() {
		if d == nil {
			s.pending.Add(-1)
		}
	}()
	raw := conn
	conn, protocol, err := s.secure(conn)
	if err != nil {
		s.cfg.Logger.Info("TLS handshake failed", "peer", raw.RemoteAddr().String(), "error", err)
		refusePlain(raw, err)
		return nil, nil
	}
	buf := s.buffers.Get().(*[firstRead]byte)
	defer s.buffers.Put(buf)
	door, prefix := s.doorFor(protocol), []byte(nil)
	if door == nil && protocol != alpn {
		conn.SetDeadline(time.Now().Add(s.session.Limits.HandshakeTimeout))
		stop := context.AfterFunc(s.life, func() { conn.SetDeadline(time.Unix(1, 0)) })
		prefix, door, err = s.sniff(conn, buf[:])
		if !stop() && err == nil {
			err = s.life.Err()
		}
		if err != nil {
			s.strange(conn, err)
			return nil, nil
		}
	}
	if door != nil {
		conn.SetDeadline(time.Now().Add(s.session.Limits.HandshakeTimeout))
		stop := context.AfterFunc(s.life, func() { sever(conn) })
		return nil, &DoorConn{s: s, door: door, conn: conn, prefix: bytes.Clone(prefix),
			draining: make(chan struct{}), done: make(chan struct{}), free: func() { stop() },
			waits: sync.OnceFunc(func() { s.pending.Add(-1) })}
	}
	sess, st := session.Accept(s.life, conn, &s.session, prefix)
	if st != nil {
		s.cfg.Logger.Info("connection refused", "peer", raw.RemoteAddr().String(), "code", Code(st.Code).String(), "error", st.Message)
		s.mu.Lock()
		s.enteredLocked(conn)
		s.mu.Unlock()
	}
	return sess, nil
}

// secure does the TLS handshake, if there is to be one, and returns the protocol that
// was negotiated in it.
func (s *Server) secure(conn net.Conn) (net.Conn, string, error) {
	if s.cfg.TLS == nil {
		return conn, "", nil
	}
	t := tls.Server(conn, s.cfg.TLS)
	ctx, cancel := context.WithTimeout(s.life, s.session.Limits.HandshakeTimeout)
	defer cancel()
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, "", err
	}
	return t, t.ConnectionState().NegotiatedProtocol, nil
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
func (s *Server) strange(conn net.Conn, err error) {
	conn.Close()
	if errors.Is(err, io.EOF) {
		return // a probe of a load balancer connects and closes
	}
	level := slog.LevelInfo
	if _, ok := errors.AsType[*strangerError](err); ok {
		level = slog.LevelWarn
	}
	if skipped, ok := s.strangers.now(); ok {
		s.cfg.Logger.Log(context.Background(), level, "connection closed: its wire is not served here",
			"peer", conn.RemoteAddr().String(), "error", err, "not_logged", skipped)
	}
}

// enteredLocked records that a connection which was admitted is among the peers, or has
// failed.
func (s *Server) enteredLocked(conn net.Conn) {
	if _, ok := s.entering[conn]; ok {
		delete(s.entering, conn)
		s.admitted.Done()
	}
}

// admitSession accepts or refuses a connection by its hello, before the session takes any
// call.
func (s *Server) admitSession(sess *session.Session, credential string) *wire.Status {
	p := newPeer(sess, &s.caller)
	sess.Owner = p
	if err := s.admit(sess.Conn(), p, parseCredential(credential)); err != nil {
		return refusal(err)
	}
	return nil
}

// admit accepts or refuses a connection of any wire.
func (s *Server) admit(conn net.Conn, p *Peer, credential Credential) error {
	if s.cfg.AuthenticateConn != nil {
		principal, err := s.authenticateConn(credential, p)
		if err != nil {
			return unauthenticated(err)
		}
		p.principal = principal
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// A connection that is admitted gets its calls answered, so none is while the
	// server shuts down.
	if s.closing {
		return Errorf(Unavailable, "the server is shutting down").WithReason(ReasonDraining)
	}
	open := len(s.peers) + len(s.entering)
	if s.cfg.MaxConns > 0 && open >= s.cfg.MaxConns {
		return Errorf(ResourceExhausted, "the server has %d connections already and takes no more (ServerConfig.MaxConns)", open)
	}
	s.entering[conn] = struct{}{}
	s.admitted.Add(1)
	return nil
}

// authenticateConn calls the configured function. A panic in it, which a hostile peer may be
// able to cause, ends only the connection.
func (s *Server) authenticateConn(cred Credential, p *Peer) (principal any, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.cfg.Logger.Error("AuthenticateConn panicked", "peer", p.Addr().String(), "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = Errorf(Internal, "the connection could not be authenticated")
		}
	}()
	ctx, cancel := context.WithTimeout(s.life, s.session.Limits.HandshakeTimeout)
	defer cancel()
	return s.cfg.AuthenticateConn(ctx, cred, p)
}

// openedSession is called for every session before it reads its first frame.
func (s *Server) openedSession(sess *session.Session) { s.opened(sess.Owner.(*Peer)) }

// opened makes a connection that was admitted one of the peers.
func (s *Server) opened(p *Peer) {
	s.accepted.Add(1)
	s.mu.Lock()
	s.peers[p] = struct{}{}
	s.enteredLocked(p.conn)
	s.mu.Unlock()
	for _, h := range s.hooks.opened {
		h.ConnOpened(p)
	}
}

// left is called when a connection that was opened has ended.
func (s *Server) left(p *Peer) {
	defer s.conns.Done()
	s.mu.Lock()
	delete(s.peers, p)
	s.mu.Unlock()
	if s.cfg.Logger.Enabled(s.life, slog.LevelDebug) {
		s.cfg.Logger.Debug("connection closed", "peer", p.Addr().String(), "error", p.ended().Message)
	}
	if len(s.hooks.closed) == 0 {
		return
	}
	err := p.ended()
	for _, h := range s.hooks.closed {
		h.ConnClosed(p, err)
	}
}

// Peers lists the open connections, in no order.
func (s *Server) Peers() []*Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*Peer, 0, len(s.peers))
	for p := range s.peers {
		out = append(out, p)
	}
	return out
}
