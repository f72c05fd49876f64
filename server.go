package weft

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/weftrpc/weft/internal/accept"
	"github.com/weftrpc/weft/internal/address"
	"github.com/weftrpc/weft/internal/announce"
	"github.com/weftrpc/weft/internal/flights"
	"github.com/weftrpc/weft/internal/held"
	"github.com/weftrpc/weft/internal/logger"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/tlsconf"
)

// Server serves registered methods on any number of listeners. Its methods may be called from any goroutine.
type Server struct {
	*Services

	cfg     ServerConfig
	err     error // what is wrong with the configuration
	host    host
	caller  caller // of calls to clients
	hooks   *hooks
	session session.Config
	exec    *session.Executor
	entrance

	announcer *announce.Announcer // nil: there is no registry

	mu        sync.Mutex
	listeners map[*serving]struct{}
	schemes   map[any]string // of the transports of what Listen returned, by accept.Key
	peers     map[*Peer]struct{}
	entering  map[*Peer]struct{} // connections that were admitted and are not among the peers yet
	admitted  sync.WaitGroup     // as many; grows only while the server is not closing
	conns     flights.Flights    // connections from accept to end, and what else ends with the server
	closing   bool
	closed    bool
	stop      context.CancelFunc // ends handshakes
	life      context.Context
	ended     sync.Once
	over      chan struct{} // closed when the server has been closed
	draining  chan struct{} // closed when closing is set
}

// NewServer makes a server. A nil configuration gives safe defaults. It does not fail: the error of a wrong configuration is returned by
// every Handle, Register, Alias, Listen, Serve and ListenAndServe of the server.
func NewServer(cfg *ServerConfig) *Server {
	s := &Server{
		Services:  NewServices(),
		listeners: make(map[*serving]struct{}),
		schemes:   make(map[any]string),
		peers:     make(map[*Peer]struct{}),
		entering:  make(map[*Peer]struct{}),
		exec:      session.NewExecutor(),
		over:      make(chan struct{}),
		draining:  make(chan struct{}),
	}
	if cfg != nil {
		s.cfg = *cfg
	}
	s.life, s.stop = context.WithCancel(context.Background())
	s.buffers.New = func() any { return new([firstRead]byte) }
	s.kept.Most = mostKeptOut
	s.err = s.configure()
	s.Services.wrong = s.err
	return s
}

func (s *Server) configure() error {
	c := &s.cfg
	if c.Transports == nil {
		c.Transports = defaultTransports
	}
	c.MaxPending = orDefault(c.MaxPending, DefaultMaxPending)
	c.DrainTimeout = orDefault(c.DrainTimeout, DefaultDrainTimeout)
	c.Logger = logger.OrDefault(c.Logger)
	c.Timeout = min(orDefault(c.Timeout, DefaultTimeout), mostTimeout)
	limits, outside := c.Limits.resolve()
	a, err := gather(c.Plugins, c.Hooks)
	if err := cmp.Or(
		notNegative("ServerConfig.MaxPending", c.MaxPending),
		notNegative("ServerConfig.MaxConns", c.MaxConns),
		notNegative("ServerConfig.DrainTimeout", c.DrainTimeout),
		outside, err, s.configureDoors(), checkCompressors(c.Compressors),
		noneNil("interceptor", len(c.Interceptors), func(i int) bool { return c.Interceptors[i] == nil }),
		noneNil("stream interceptor", len(c.StreamInterceptors), func(i int) bool { return c.StreamInterceptors[i] == nil }),
	); err != nil {
		return err
	}
	c.Limits = limitsOf(limits)
	s.pending.Most, s.pending.Hung = c.MaxPending, s.hung
	s.pending.Limit, s.pending.TLS = limits.HandshakeTimeout, c.TLS != nil
	s.hooks = a.hooks
	protection, err := newProtection(s)
	if err != nil {
		return err
	}
	s.host = host{
		overload: protection, services: s.Services, compressor: c.Compressor, log: c.Logger, authenticate: c.Authenticate, hooks: a.hooks.request,
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
		s.Services.changed = s.announcer.Changed
	}
	for _, h := range s.hooks.registered {
		s.Services.onNew = append(s.Services.onNew, func(service string) {
			s.host.fence.Run("ServiceRegistered", nil, func() { h.ServiceRegistered(service) })
		})
	}
	s.session = session.Config{
		Limits: limits, Codecs: s.host.names, Compressors: c.Compressors, Checksum: c.Checksum, Software: software,
		Resolve: s.host.resolve, Accept: s.admitSession, Setup: s.openedSession, Exec: s.exec, Logger: c.Logger,
		Refused: s.host.sessionRefused, Panicked: s.host.sessionPanicked, Memory: held.Of(c.MaxMemory), InTurn: s.host.turn,
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
	c.TLS = tlsconf.Heard(tlsconf.Offer(c.TLS, protocols...))
	return nil
}

// Config returns the configuration of the server, with the defaults filled in. What it refers to must not be changed.
func (s *Server) Config() ServerConfig { return s.cfg }

// ListenAndServe listens on the addresses, such as "tcp://:8972" or "unix:///run/app.sock", and serves until ctx ends. Then it shuts down
// as Shutdown does, within the configured DrainTimeout, and returns nil after a full drain. It returns an error when it cannot listen on
// one of the addresses, when a listener fails, or when calls had to be cut off.
func (s *Server) ListenAndServe(ctx context.Context, addresses ...string) error {
	if s.err != nil {
		return s.err
	}
	var listeners []net.Listener
	for _, a := range addresses {
		l, err := s.Listen(ctx, a)
		if err != nil {
			s.forgetAll(listeners)
			s.awaitOver(ctx, err)
			return err
		}
		listeners = append(listeners, l)
	}
	if len(listeners) == 0 {
		return Errorf(InvalidArgument, "weft: listen and serve: no address was given")
	}
	return s.serveAll(ctx, listeners)
}

// LoggerOf returns where a server logs, for packages that belong to one: ServerConfig.Logger, or else slog.Default() for warnings and errors.
func LoggerOf(s *Server) *slog.Logger { return logger.OrDefault(s.cfg.Logger) }

// Listen listens on an address of one of the server's transports, for Serve. The server remembers the transport's scheme for its registry;
// for a listener that Listen did not make, the scheme is the network of its Addr. After a shutdown it returns ErrServerClosed.
func (s *Server) Listen(ctx context.Context, addr string) (net.Listener, error) {
	if s.err != nil {
		return nil, s.err
	}
	if s.stopping() {
		return nil, ErrServerClosed
	}
	if addr == "" {
		return nil, Errorf(InvalidArgument, "weft: listen: the address is empty; write tcp://:0 for any free port")
	}
	a, err := address.Parse(s.cfg.Transports, []Wire(nil), addr)
	if err != nil {
		return nil, Errorf(InvalidArgument, "%w", err)
	}
	l, err := a.Transport.Listen(ctx, a.Rest)
	if err != nil {
		return nil, Errorf(Unavailable, "weft: listen on %s: %w", addr, err)
	}
	key := accept.Key(l)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		l.Close()
		return nil, ErrServerClosed
	}
	s.schemes[key] = a.Transport.Scheme()
	return l, nil
}

// schemeOf is the scheme of addresses at which a listener is reached.
func (s *Server) schemeOf(l net.Listener) string {
	key := accept.Key(l)
	s.mu.Lock()
	defer s.mu.Unlock()
	return orDefault(s.schemes[key], l.Addr().Network())
}

func (s *Server) serveAll(ctx context.Context, listeners []net.Listener) error {
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		for _, h := range s.hooks.listening {
			s.host.fence.Run("Listening", nil, func() { h.Listening(l.Addr()) })
		}
	}
	// The registry gets the address of the first listener, so it is announced before any goroutine serves.
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
	s.awaitOver(ctx, err)
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

// awaitOver waits for the end of the Shutdown that another goroutine has called, if err says so: its deadline applies.
func (s *Server) awaitOver(ctx context.Context, err error) {
	if errors.Is(err, ErrServerClosed) {
		select {
		case <-s.over:
		case <-ctx.Done():
		}
	}
}

// Serve accepts connections from l until l fails or the server is shut down,
// which closes l. It always returns an error: ErrServerClosed after a shutdown.
func (s *Server) Serve(l net.Listener) error {
	if s.err != nil {
		return s.err
	}
	if l == nil {
		return Errorf(InvalidArgument, "weft: serve: the listener is nil")
	}
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		s.forget(l)
		return ErrServerClosed
	}
	here := &serving{l}
	s.listeners[here] = struct{}{}
	s.mu.Unlock()
	defer s.forget(l)
	defer s.served(here)
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
		if !accept.Temporary(err) {
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

// serving is one call of Serve.
type serving struct{ net.Listener }

// served notes the end of a call of Serve.
func (s *Server) served(here *serving) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, here)
}

// forget closes a listener that is served no more.
func (s *Server) forget(l net.Listener) {
	key := accept.Key(l)
	l.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.schemes, key)
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
