// Package admin lets operators look at a running server and steer it, over any wire that the
// server speaks: what it serves, its statistics, connections and open calls, its configuration and
// limits, its log level, its goroutines, and the calls as they pass.
//
//	err := admin.Register(srv, &admin.Config{Token: token})
//
//	a := admin.NewClient(client, &admin.ClientConfig{Token: token})
//	stats, err := a.Stats(ctx, nil)
//
// Register adds the service weft.Admin to a server. Its calls need the token, or what
// Config.Authenticate asks for. Without either only peers on the same machine are answered; see
// Config. A service that is not called costs nothing: it adds no interceptor and no hook to the server.
//
// All messages are structs with numbers, so that every codec carries them: Protocol Buffers,
// MessagePack, and JSON over HTTP and JSON-RPC. Durations are in seconds.
package admin

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/internal/logger"
)

// Service is the name of the service that Register adds.
const Service = "weft.Admin"

// Config configures the service. The zero value, and a nil pointer to one, answer peers on the
// same machine alone.
//
// Without Token and Authenticate, a peer that is connected by a Unix socket or in memory may make
// all calls. A peer whose connection has loopback addresses on both ends may make those that only read,
// except over plain HTTP, which pages in a browser on the machine can speak too. Calls that came
// through a proxy on the machine may look like local ones: set Token where there is one.
type Config struct {
	// Token is what callers must show: as "Bearer" and the token under the metadata key
	// "admin-authorization", or else as the credential of the call. "": no token is accepted.
	Token string
	// Authenticate decides in place of Token, as ServerConfig.Authenticate does. cred is the
	// credential under the key "admin-authorization", or else that of the call. The peer and its TLS
	// certificates are in info, the principal that the server has found in ctx. An error without a code
	// becomes Unauthenticated; one with PermissionDenied says that the caller may not make this
	// call. The principal it returns is noted in the log with what the caller changes.
	Authenticate func(ctx context.Context, cred weft.Credential, info *weft.CallInfo) (principal any, err error)
	// ReadOnly refuses the calls that change something: SetLogLevel and Drain.
	ReadOnly bool

	// Clusters are clients of other servers whose state Stats and Limits show, by a name of the
	// program's choice.
	Clusters map[string]*cluster.Client

	// LogLevel is the level that LogLevel and SetLogLevel show and set: that of the program's
	// slog handler. nil: neither is possible.
	LogLevel *slog.LevelVar
	// LogLevels are further ones, by name.
	LogLevels map[string]*slog.LevelVar
	// Shutdown is called by Drain, once and on a goroutine of its own, to end the program: it may cancel
	// the context of ListenAndServe. nil: Server.Shutdown, within ServerConfig.DrainTimeout.
	Shutdown func()
	// Settings returns the program's own settings for Config. Values are masked as Masked does.
	Settings func() map[string]string

	// Bodies permits taps to show requests and replies.
	Bodies bool
	// Mask tells which fields of requests and replies taps do not show: those at a path such as
	// "Card.Number", in the names of JSON. It is called on the goroutines of the calls, concurrently.
	// nil: those whose path is Sensitive.
	Mask func(method, path string) bool
	// MaxStreams is how many taps, watches and profiles may be open at once. 0: DefaultMaxStreams.
	MaxStreams int
	// Principal is the name of a principal. nil: that of a string or of a fmt.Stringer, and the type
	// of others.
	Principal func(principal any) string

	// Logger gets what callers change. nil: warnings and errors go to slog.Default(), and so do these
	// changes, which are warnings. slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

// DefaultMaxStreams is how many taps, watches and profiles may be open at once.
const DefaultMaxStreams = 16

// service is what answers the calls.
type service struct {
	cfg   Config
	srv   *weft.Server
	began time.Time
	log   *slog.Logger

	streams    atomic.Int32 // taps, watches and profiles that are open
	collecting sync.Mutex   // held while stacks are collected
	levels     levels
	drains     drains
}

// Register adds the service weft.Admin to a server. The error says what is wrong with the
// configuration, or that the server has a service of this name. cfg may be nil.
func Register(srv *weft.Server, cfg *Config) error {
	if srv == nil {
		return weft.Errorf(weft.InvalidArgument, "admin: the server is nil")
	}
	s := &service{srv: srv, began: time.Now()}
	if cfg != nil {
		s.cfg = *cfg
	}
	if err := s.check(); err != nil {
		return err
	}
	s.log = logger.OrDefault(s.cfg.Logger)
	return s.register()
}

// check tells what is wrong with the configuration.
func (s *service) check() error {
	c := &s.cfg
	if c.Token != "" && c.Authenticate != nil {
		return weft.Errorf(weft.InvalidArgument, "admin: Config.Token and Config.Authenticate are both set, want one of them")
	}
	if c.MaxStreams < 0 {
		return weft.Errorf(weft.InvalidArgument, "admin: Config.MaxStreams is %d, want 0 (%d) or more", c.MaxStreams, DefaultMaxStreams)
	}
	c.MaxStreams = cmp.Or(c.MaxStreams, DefaultMaxStreams)
	for name, level := range c.LogLevels {
		if level == nil {
			return weft.Errorf(weft.InvalidArgument, "admin: the level %q of Config.LogLevels is nil", name)
		}
	}
	for name, client := range c.Clusters {
		if client == nil {
			return weft.Errorf(weft.InvalidArgument, "admin: the client %q of Config.Clusters is nil", name)
		}
	}
	return nil
}

// register adds the methods.
func (s *service) register() error {
	// The calls are answered also when the server refuses others for overload.
	opts := func(doc string, more ...weft.MethodOption) []weft.MethodOption {
		return append(more, weft.Doc(doc), weft.MethodLimit(weft.Unlimited), weft.MethodAuthenticate(s.admit))
	}
	reads := func(doc string) []weft.MethodOption { return opts(doc, weft.Idempotent()) }
	return errors.Join(
		weft.Handle(s.srv, Service+".Describe", s.describe, reads("Describe lists the services and methods of the server, with the JSON Schemas of their messages.")...),
		weft.Handle(s.srv, Service+".Stats", s.stats, reads("Stats are what the server has counted since it was made.")...),
		weft.HandleServerStream(s.srv, Service+".Watch", s.watch, reads("Watch sends the statistics at once and then from time to time. It ends when the server shuts down.")...),
		weft.Handle(s.srv, Service+".Connections", s.connections, reads("Connections lists the open connections.")...),
		weft.Handle(s.srv, Service+".Calls", s.calls, reads("Calls lists the calls that are not answered yet, the oldest first.")...),
		weft.HandleServerStream(s.srv, Service+".Tap", s.tap, reads("Tap sends calls as they are answered, after a first message without a method. It ends when the server shuts down.")...),
		weft.Handle(s.srv, Service+".Config", s.config, reads("Config is the configuration in effect, without secrets.")...),
		weft.Handle(s.srv, Service+".Limits", s.limits, reads("Limits are the limits of connections and calls, the state of the overload protection, and breakers.")...),
		weft.Handle(s.srv, Service+".Stacks", s.stacks, reads("Stacks are the stacks of all goroutines.")...),
		weft.HandleServerStream(s.srv, Service+".Profile", s.profile, reads("Profile sends a profile of the process, for go tool pprof, in parts.")...),
		weft.Handle(s.srv, Service+".LogLevel", s.logLevel, reads("LogLevel is the level of the program's log.")...),
		weft.Handle(s.srv, Service+".SetLogLevel", s.setLogLevel, opts("SetLogLevel sets the level of the program's log, for some time or for good.")...),
		weft.Handle(s.srv, Service+".Drain", s.drain, opts("Drain publishes the server as draining, or shuts it down without losing a call.")...),
	)
}

// changed notes in the log what a caller has changed.
func (s *service) changed(ctx context.Context, what string, attrs ...slog.Attr) {
	attrs = append(attrs, slog.String("principal", s.principal(weft.PrincipalFrom(ctx))))
	if p := weft.PeerFrom(ctx); p != nil {
		attrs = append(attrs, slog.String("peer", p.Addr().String()), slog.String("client", p.Name()))
	}
	attrs = slices.DeleteFunc(attrs, func(a slog.Attr) bool { return a.Value.Kind() == slog.KindString && a.Value.String() == "" })
	s.log.LogAttrs(ctx, slog.LevelWarn, "admin: "+what, attrs...)
}
