// Package admin lets operators look at a running server and steer it, over any wire that the
// server speaks: what it serves, its statistics, connections and open calls, its configuration and
// limits, its log level, its goroutines, and the calls as they pass.
//
//	err := admin.Register(srv, &admin.Config{Token: token})
//
//	a := admin.NewClient(client, &admin.ClientConfig{Token: token})
//	stats, err := a.Stats(ctx, nil)
//
// Register adds the service weft.Admin to a server. Calls of it need the token, or what
// Config.Authenticate asks for. Without either only peers on the same machine are answered; see
// Config. A service that is not called costs nothing: it adds no interceptor and no hook to the server.
//
// All messages are structs with numbers, so that every codec carries them: Protocol Buffers,
// MessagePack, and JSON over HTTP and JSON-RPC. Durations are in seconds.
package admin

import (
	"context"
	"errors"
	"log/slog"
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
// all calls. A peer with a loopback address may make those that only read, except over plain HTTP,
// which pages in a browser on the machine can speak too. Calls that came through a proxy on the
// machine look like local ones: set Token where there is one.
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

	// Logger gets what callers change. nil: warnings and errors go to slog.Default(), and so do these
	// changes, which are warnings. slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

// service is what answers the calls.
type service struct {
	cfg   Config
	srv   *weft.Server
	began time.Time
	log   *slog.Logger
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
	return errors.Join(
		weft.Handle(s.srv, Service+".Describe", s.describe, opts("Describe lists the services and methods of the server, with the JSON Schemas of their messages.", weft.Idempotent())...),
		weft.Handle(s.srv, Service+".Stats", s.stats, opts("Stats are what the server has counted since it was made.", weft.Idempotent())...),
	)
}
