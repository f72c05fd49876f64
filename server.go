package weft

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

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
	hooks   *hooks
	session session.Config
	exec    *session.Executor
	pending atomic.Int64 // connections in their handshake

	announcer *announcer // nil: there is no registry

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	schemes   map[net.Listener]string // of the transports of what Listen returned
	peers     map[*Peer]struct{}
	entering  map[net.Conn]struct{} // connections that were let in and are not among the peers yet
	admitted  sync.WaitGroup        // as many; grows only while the server is not closing
	conns     sync.WaitGroup        // connections from accept to end, and what else ends with the server
	closing   bool
	closed    bool
	stop      context.CancelFunc // ends handshakes
	life      context.Context
	ended     sync.Once
	over      chan struct{} // closed when the server has been closed
}

// NewServer makes a server. A nil configuration gives safe defaults. A
// configuration with an error gives a server whose Register, Serve and
// ListenAndServe return it.
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
	s.err = s.configure()
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
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.TLS != nil {
		c.TLS = tlsConfig(c.TLS)
	}
	limits, err := c.Limits.resolve()
	if err == nil {
		s.hooks, err = newHooks(c.Hooks)
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
	s.host = host{
		services: s.Services, compressor: c.Compressor, log: c.Logger, authenticate: c.Authenticate,
		unary: c.Interceptors, streams: c.StreamInterceptors, hooks: s.hooks.request,
	}
	if err := s.host.setCodecs(c.Codecs); err != nil {
		return err
	}
	s.host.ready()
	c.LoadReportInterval = orDefault(c.LoadReportInterval, DefaultLoadReportInterval)
	if c.Instance.Service != "" {
		return Errorf(InvalidArgument, "weft: Instance.Service is %q: leave it empty, every service is registered by its own name", c.Instance.Service)
	}
	if c.Registry != nil {
		s.announcer = &announcer{s: s, registry: c.Registry, template: c.Instance.Clone(),
			shown: make(map[string]Registration), leaving: make(map[string]context.Context)}
		s.Services.changed = s.announcer.changed
	}
	for _, h := range s.hooks.registered {
		s.Services.onNew = append(s.Services.onNew, h.ServiceRegistered)
	}
	s.session = session.Config{
		Limits: limits, Codecs: s.host.names, Compressors: c.Compressors, Checksum: c.Checksum, Software: software,
		Resolve: s.host.resolve, Accept: s.admit, Setup: s.opened, Exec: s.exec, Logger: c.Logger,
	}
	return nil
}

// Register registers the methods of a value; see Services.Register.
func (s *Server) Register(receiver any) error {
	if s.err != nil {
		return s.err
	}
	return s.Services.Register(receiver)
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
// server remembers the transport's scheme, which its registry is told; a listener
// from elsewhere is taken for one of the scheme that its Addr names.
func (s *Server) Listen(ctx context.Context, address string) (net.Listener, error) {
	t, rest, err := transportFor(s.cfg.Transports, address)
	if err != nil {
		return nil, Errorf(InvalidArgument, "%w", err)
	}
	l, err := t.Listen(ctx, rest)
	if err != nil {
		return nil, Errorf(Unavailable, "weft: listen on %s: %w", address, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.schemes[l] = t.Scheme()
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
	// It is the first listener whose address the registry gets, so it is not left to
	// the goroutines.
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
		// Somebody else shuts the server down, and has his own idea of the time.
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

// ErrServerClosed is what Serve returns after Shutdown or Close.
var ErrServerClosed = errors.New("weft: server closed")

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
			conn.Close()
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
		conn.Close()
		return
	}
	// A worker: its stack has grown with the connections before.
	s.exec.Go(func() { s.keep(conn) })
}

// keep has a connection from its handshake, which is bounded in time, to its end. A
// shutdown waits for it.
func (s *Server) keep(conn net.Conn) {
	var sess *session.Session
	defer func() {
		if sess == nil { // also when a hook has ended this goroutine
			s.conns.Done()
		}
	}()
	if sess = s.handshake(conn); sess != nil {
		sess.Run(nil, func() { s.left(sess) })
	}
}

// handshake returns the session of a connection that was let in, or nil.
func (s *Server) handshake(conn net.Conn) *session.Session {
	defer s.pending.Add(-1)
	raw := conn
	if s.cfg.TLS != nil {
		t := tls.Server(conn, s.cfg.TLS)
		ctx, cancel := context.WithTimeout(s.life, s.session.Limits.HandshakeTimeout)
		err := t.HandshakeContext(ctx)
		cancel()
		if err != nil {
			s.cfg.Logger.Info("TLS handshake failed", "peer", raw.RemoteAddr().String(), "error", err)
			refusePlain(conn, err)
			return nil
		}
		conn = t
	}
	sess, st := session.Accept(s.life, conn, &s.session, nil)
	if st != nil {
		s.cfg.Logger.Info("connection refused", "peer", raw.RemoteAddr().String(), "code", Code(st.Code).String(), "error", st.Message)
		s.mu.Lock()
		s.entered(conn)
		s.mu.Unlock()
	}
	return sess
}

// entered notes that a connection which was let in is among the peers, or has
// failed. It is called with the lock held.
func (s *Server) entered(conn net.Conn) {
	if _, ok := s.entering[conn]; ok {
		delete(s.entering, conn)
		s.admitted.Done()
	}
}

// admit decides over a connection by what its hello says. It runs before the
// session takes any call.
func (s *Server) admit(sess *session.Session, credential string) *wire.Status {
	p := newPeer(sess, &caller{timeout: DefaultTimeout})
	p.caller.setDefaults(nil)
	sess.Owner = p
	if s.cfg.AuthenticateConn != nil {
		principal, err := s.authenticateConn(parseCredential(credential), p)
		if err != nil {
			return refusal(unauthenticated(err))
		}
		p.principal = principal
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// A connection that is let in gets its calls answered, so none is while the
	// server shuts down; what was not let in has not sent any.
	if s.closing {
		return &wire.Status{Code: wire.Unavailable, Reason: session.ReasonDraining, Message: "the server is shutting down"}
	}
	open := len(s.peers) + len(s.entering)
	if s.cfg.MaxConns > 0 && open >= s.cfg.MaxConns {
		return &wire.Status{Code: wire.ResourceExhausted, Message: fmt.Sprintf("the server has %d connections already and takes no more", open)}
	}
	s.entering[sess.Conn()] = struct{}{}
	s.admitted.Add(1)
	return nil
}

// authenticateConn asks the configured function. Its panic, which a stranger may
// have found a way to cause, costs only the connection.
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

// opened is called for every session before it reads its first frame.
func (s *Server) opened(sess *session.Session) {
	p := sess.Owner.(*Peer)
	s.mu.Lock()
	s.peers[p] = struct{}{}
	s.entered(sess.Conn())
	s.mu.Unlock()
	for _, h := range s.hooks.opened {
		h.ConnOpened(p)
	}
}

// left is called when a session that was opened has ended.
func (s *Server) left(sess *session.Session) {
	defer s.conns.Done()
	p := sess.Owner.(*Peer)
	s.mu.Lock()
	delete(s.peers, p)
	s.mu.Unlock()
	err := fromStatus(sess.Err(), "", p.Addr().String())
	s.cfg.Logger.Debug("connection closed", "peer", p.Addr().String(), "error", err.Message)
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
