// Package target connects to what a command calls: one server, or the servers that a registry knows.
package target

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	weftjson "github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/registry"
)

// Caller is what a target is called with.
type Caller interface {
	weft.StreamCaller
	Notify(ctx context.Context, method string, args any, opts ...weft.CallOption) error
	Shutdown(ctx context.Context) error
	Close() error
}

// Target is what a command calls. One of Client and Cluster is nil.
type Target struct {
	Caller
	Client  *weft.Client
	Cluster *cluster.Client
	Address string // of the server, or of the registry without its password
	Trace   *Trace

	registry *registry.Registry
}

// Split takes the address of a server off the front of the arguments, if there is one. An address without
// a scheme, host:port, gets that of weft's own wire.
func Split(args []string) (address string, rest []string) {
	switch {
	case len(args) == 0:
	case strings.Contains(args[0], "://"):
		return args[0], args[1:]
	case isHostPort(args[0]):
		return "tcp://" + args[0], args[1:]
	}
	return "", args
}

// isHostPort reports whether an argument is a host and the number of a port. Names of services have no colon.
func isHostPort(arg string) bool {
	_, port, err := net.SplitHostPort(arg)
	return err == nil && port != "" && strings.Trim(port, "0123456789") == ""
}

// Open connects to the server at an address; "": to the one of the settings, or else to those of
// the registry.
func Open(ctx context.Context, p *shell.Shell, address string) (*Target, error) {
	return open(ctx, p, address, "")
}

// OpenFor is Open for calls of a method. If the registry has no server of its service, the error says so at once,
// where a call would wait for a server to register.
func OpenFor(ctx context.Context, p *shell.Shell, address, method string) (*Target, error) {
	return open(ctx, p, address, method)
}

func open(ctx context.Context, p *shell.Shell, address, method string) (*Target, error) {
	if address == "" && p.Settings.Server != "" {
		address = p.Settings.Server
	}
	t := &Target{Trace: new(Trace)}
	cfg, err := configure(p, address, t.Trace)
	if err != nil {
		return nil, err
	}
	if address != "" {
		return t, t.dial(ctx, address, cfg)
	}
	return t, t.watch(ctx, p, cfg, method)
}

// dial connects to one server.
func (t *Target) dial(ctx context.Context, address string, cfg *weft.ClientConfig) error {
	client, err := weft.Dial(ctx, address, cfg)
	if err != nil {
		return dialError(address, err)
	}
	t.Client, t.Caller, t.Address = client, client, address
	_, t.Trace.server, _ = strings.Cut(address, "://")
	if t.Trace.wire = Scheme(address); t.Trace.wire == "tcp" || t.Trace.wire == "unix" {
		t.Trace.wire = "weft"
	}
	return nil
}

// dialError says what to do about a server that cannot be reached.
func dialError(address string, err error) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "certificate") || strings.Contains(text, "tls:"):
		return shell.Exit(fmt.Errorf("%s: %w; 'weft doctor %s' looks at the certificate", address, err, address), shell.ExitUnreachable)
	case strings.Contains(text, "there is no transport"), strings.Contains(text, "unknown scheme"), weft.CodeOf(err) == weft.InvalidArgument:
		return fmt.Errorf("%w; 'weft help addresses' lists the forms; %w", err, shell.ErrUsage)
	case weft.CodeOf(err) == weft.Unauthenticated || weft.CodeOf(err) == weft.PermissionDenied:
		return shell.FromCall(err)
	}
	return shell.Exit(fmt.Errorf("%w; 'weft doctor %s' looks into it", err, address), shell.ExitUnreachable)
}

// watch makes a client of the servers that the registry knows. If it is for a method, there must be one.
func (t *Target) watch(ctx context.Context, p *shell.Shell, cfg *weft.ClientConfig, method string) error {
	a, reg, err := catalog.OpenRegistry(p)
	if err != nil {
		return err
	}
	if err := known(ctx, a, reg, method); err != nil {
		_ = reg.Close() // it has registered nothing
		return err
	}
	c, err := cluster.New(&cluster.Config{Registry: reg, Client: cfg, RestartGrace: -1, Observe: t.Trace.observe, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		_ = reg.Close() // it has registered nothing
		return err
	}
	t.Cluster, t.Caller, t.Address, t.registry = c, c, a.String(), reg
	return nil
}

// known asks the registry for the servers of the service of a method. The error is that of a call if there is none.
func known(ctx context.Context, a catalog.Address, reg *registry.Registry, method string) error {
	service, _, ok := cutMethod(method)
	if !ok {
		return nil
	}
	snapshot, err := catalog.Ask(ctx, reg, service)
	if err != nil || len(snapshot.Instances) > 0 {
		return err
	}
	e := weft.Errorf(weft.Unavailable, "%w", catalog.Unknown(ctx, a, reg, service)).WithReason(weft.ReasonNoServer)
	e.Method, e.Outcome = method, weft.NotSent
	return shell.FromCall(e)
}

// Close ends the connections.
func (t *Target) Close() error {
	var err error
	if t.Caller != nil {
		err = t.Caller.Close()
	}
	if t.registry != nil {
		err = errors.Join(err, t.registry.Close())
	}
	return err
}

// Scheme is the wire of the server, "" if that depends on the instance.
func (t *Target) Scheme() string {
	if t.Client == nil {
		return ""
	}
	return Scheme(t.Address)
}

// Scheme is the wire of an address; that of weft is "tcp" or "unix".
func Scheme(address string) string {
	scheme, _, found := strings.Cut(address, "://")
	if !found {
		return "tcp"
	}
	scheme, _, _ = strings.Cut(scheme, "+")
	return scheme
}

// Secure reports whether connections to an address always have TLS.
func Secure(address string) bool {
	scheme, _, _ := strings.Cut(address, "://")
	return slices.Contains([]string{"grpcs", "https"}, scheme) || strings.HasSuffix(scheme, "+https") || strings.HasSuffix(scheme, "+wss")
}

// mostMessage is how many bytes a message has at most. A server may permit more than the default of the package, and each call
// is made by hand.
const mostMessage = 64 << 20

// configure makes the configuration of all connections to servers.
func configure(p *shell.Shell, address string, trace *Trace) (*weft.ClientConfig, error) {
	s := &p.Settings
	cfg := &weft.ClientConfig{
		Timeout: s.Timeout, NoWaitForReady: true, MaxConns: 1,
		Limits:             weft.Limits{MaxMessage: mostMessage},
		Wires:              wires(),
		Interceptors:       []weft.UnaryInterceptor{trace.unary},
		StreamInterceptors: []weft.ClientStreamInterceptor{trace.stream},
		Hooks:              []any{trace},
		Logger:             slog.New(slog.DiscardHandler),
	}
	if Scheme(address) == "connect" {
		cfg.Codec = weftjson.New() // the wire has it and Protocol Buffers
	}
	if s.Token != "" {
		cfg.Credential = weft.StaticCredential("Bearer", s.Token)
	}
	if s.TLS || Secure(address) {
		var err error
		if cfg.TLS, err = s.Files.Config(); err != nil {
			return nil, err
		}
	} else if address != "" && s.Files != (shell.TLSFiles{}) {
		return nil, fmt.Errorf("the flags of TLS are given, and the connection to %s has none: add --tls; %w", address, shell.ErrUsage)
	}
	return cfg, nil
}

// decorated is the key of a context that has the metadata of the settings.
type decorated struct{}

// Context returns ctx with the metadata of the settings, once.
func Context(ctx context.Context, p *shell.Shell) context.Context {
	if len(p.Settings.Metadata) > 0 && ctx.Value(decorated{}) == nil {
		ctx = weft.WithMetadata(context.WithValue(ctx, decorated{}, true), p.Settings.Metadata...)
	}
	return ctx
}

// Within returns ctx with the time that a command has.
func Within(ctx context.Context, p *shell.Shell) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, p.Settings.Timeout)
}

// Instance is the address of an instance of a service in the registry.
func Instance(ctx context.Context, p *shell.Shell, service, id string) (string, error) {
	a, reg, err := catalog.OpenRegistry(p)
	if err != nil {
		return "", err
	}
	defer reg.Close()
	snapshot, err := catalog.Ask(ctx, reg, service)
	if err != nil {
		return "", err
	}
	if len(snapshot.Instances) == 0 {
		return "", catalog.Unknown(ctx, a, reg, service)
	}
	var known []string
	for _, i := range snapshot.Instances {
		if i.ID == id || id == "" {
			return i.Address, nil
		}
		known = append(known, i.ID)
	}
	return "", fmt.Errorf("%s has no instance %q, only %s; see 'weft instances %s'", service, id, strings.Join(known, ", "), service)
}

// Attempt is one attempt of a call at a server.
type Attempt struct {
	Server string
	Wire   string
	Took   time.Duration // of a stream, until it was open
	Opened bool          // it is that of a stream
	Err    error
}

func weftError(err error) (*weft.Error, bool) { return errors.AsType[*weft.Error](err) }
