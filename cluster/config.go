package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/balance"
	"github.com/weftrpc/weft/cluster/breaker"
	"github.com/weftrpc/weft/cluster/health"
	"github.com/weftrpc/weft/cluster/retry"
	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/internal/logger"
	"github.com/weftrpc/weft/registry"
)

// FailMode says what happens to a unary call that fails.
type FailMode = route.FailMode

// The fail modes. None makes a call again that may have run, unless its method is idempotent.
const (
	// Failfast makes one attempt.
	Failfast FailMode = "failfast"
	// Failover tries again on another server. It is the default.
	Failover FailMode = "failover"
	// Failtry tries again on the same server.
	Failtry FailMode = "failtry"
	// Failbackup sends an idempotent call to a second server as well when the first has not answered within the time in which 19 of 20
	// calls of the method end; the first answer wins and the other attempt is cancelled. Failures are as with Failover.
	Failbackup FailMode = "failbackup"
)

// The defaults of a Config.
const (
	DefaultConnectTimeout = time.Second      // for a connection, and for its hellos
	DefaultPingInterval   = 2 * time.Second  // of silence, calls being open, before the server is asked for a sign of life
	DefaultPingTimeout    = 3 * time.Second  // of silence after that, before the connection ends
	DefaultMaxBackoff     = 2 * time.Second  // between two attempts to connect to a server
	DefaultIdleTimeout    = 5 * time.Minute  // without a call, until a server's connections are closed
	DefaultRestartGrace   = 3 * time.Second  // for which calls wait for a server that was lost, when no other can be reached
	DefaultServiceIdle    = 10 * time.Minute // without a call, until a service is no longer watched
	DefaultSlowStart      = 30 * time.Second // in which the share of a new server grows from a tenth to all
)

// Config configures a Client. Registry must be set; everything else has a safe default. A client copies it; changes made later have no
// effect.
type Config struct {
	// Registry is where servers are found: a *registry.Registry, or several joined. The client does not close it.
	Registry registry.Source
	// Client configures the connections, and gives calls their timeout, codec, credential and so on. nil: the defaults of package weft, but
	// DefaultMaxBackoff, and of the Limits DefaultConnectTimeout for HandshakeTimeout, DefaultPingInterval, and DefaultPingTimeout: a call
	// that waits for a dead server is to end while there is time for another. Lazy and NoWaitForReady are always set, and Interceptors run
	// around every attempt.
	Client *weft.ClientConfig
	// Plugins run around whole calls, all attempts of each included: their Client and ClientStream. CallInfo has no Peer there.
	Plugins []weft.Plugin
	// Observe is told what happens to calls, for tracing; ctx is that of the call, with what Plugins have put into it. It runs on the
	// goroutine of the call, and must not block. nil: nothing is told.
	Observe func(ctx context.Context, e Event)

	// Balancer chooses among the servers. nil: balance.SlowStart(DefaultSlowStart, balance.P2C()).
	Balancer balance.Balancer
	// Key gives the key by which consistent hashes choose, for calls whose context has none of WithKey; nil: none. It may be called
	// concurrently.
	Key func(ctx context.Context, method string, args any) string

	// FailMode is that of methods which name none. "": Failover.
	FailMode FailMode
	// Methods say more about methods, by full name, "Arith.Mul", or by service and star, "Arith.*". What a rule in the registry says about
	// a method goes before.
	Methods map[string]route.Method
	// Retry says when and how often a call is tried again. The zero values of this and of the next three are the defaults of their
	// packages.
	Retry retry.Policy
	// Budget bounds all retries and hedges of the client together.
	Budget retry.BudgetConfig
	// Breaker says when a method is no longer called on a server; there is a breaker for each of both.
	Breaker breaker.Config
	// Health says when a server is no longer called at all.
	Health health.Config

	// NoThrottle has every call sent, however many of them the servers refuse for overload. Otherwise calls that would most likely be
	// refused fail here, as NotSent with weft.ReasonThrottled; see package throttle.
	NoThrottle bool

	// Group and Version choose instances that have just these; "": any.
	Group, Version string
	// NoRules leaves the rules in the registry aside.
	NoRules bool

	// IdleTimeout is how long a server may go without a call before its connections are closed. 0: DefaultIdleTimeout; below zero: they
	// stay.
	IdleTimeout time.Duration

	// ServiceIdleTimeout is how long a service may go without a call before its instances and rules are no longer watched; a later call
	// watches them again, and waits for them. 0: DefaultServiceIdle; below zero: a service with instances is watched until Close. One
	// without instances, which may be a name that no registry knows, is watched until a minute after its last call at most, and of those no
	// more than 256 are watched: then the one goes whose last call was longest ago. What Stats counts by method stays.
	ServiceIdleTimeout time.Duration

	// RestartGrace is for how long calls wait for a server that this client had reached before, and that may just be restarting, when no
	// other can be reached. After that, and for servers that were never reached, a call fails as soon as each was tried. 0:
	// DefaultRestartGrace; below zero: calls do not wait.
	RestartGrace time.Duration

	// Logger gets what an operator should know: servers that come, go, fail and recover, and rules that cannot be used. The connections
	// have it too, unless Client has one. nil: warnings and errors go to slog.Default(); slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

// resolve fills in the defaults and tells what is wrong.
func (c *Config) resolve() error {
	if c.Registry == nil {
		return weft.Errorf(weft.InvalidArgument, "cluster: there is no Registry; for a fixed list of servers use registry/static")
	}
	if c.Balancer == nil {
		c.Balancer = balance.SlowStart(DefaultSlowStart, balance.P2C())
	}
	if err := balance.Check(c.Balancer); err != nil {
		return weft.Errorf(weft.InvalidArgument, "cluster: Balancer: %w", err)
	}
	if c.FailMode == "" {
		c.FailMode = Failover
	}
	if err := checkFailMode(c.FailMode); err != nil {
		return err
	}
	c.Methods = maps.Clone(c.Methods)
	for _, name := range slices.Sorted(maps.Keys(c.Methods)) {
		if err := checkMethod(name, c.Methods[name]); err != nil {
			return weft.Errorf(weft.InvalidArgument, "cluster: Methods[%q]: %w", name, err)
		}
	}
	if c.IdleTimeout == 0 {
		c.IdleTimeout = DefaultIdleTimeout
	}
	if c.ServiceIdleTimeout == 0 {
		c.ServiceIdleTimeout = DefaultServiceIdle
	}
	if c.RestartGrace == 0 {
		c.RestartGrace = DefaultRestartGrace
	}
	c.Logger = logger.OrDefault(c.Logger)
	return nil
}

// checkMethod tells what is wrong with an entry of Methods.
func checkMethod(name string, m route.Method) error {
	dot := strings.LastIndexByte(name, '.')
	switch {
	case dot <= 0 || dot == len(name)-1:
		return fmt.Errorf("no method has this name: write \"Service.Method\", or \"Service.*\" for all of a service")
	case strings.Contains(name[:dot], "*") || strings.Contains(name[dot+1:], "*") && name[dot+1:] != "*":
		return fmt.Errorf("no method has this name: a * stands for all methods of a service, \"Service.*\"; rules in the registry have patterns")
	}
	return m.Check()
}

// checkClient tells what is wrong with the configuration of the connections, before any of them is made.
func checkClient(cfg weft.ClientConfig) error {
	scheme := "tcp"
	if len(cfg.Transports) > 0 && cfg.Transports[0] != nil {
		scheme = cfg.Transports[0].Scheme()
	}
	c, err := weft.Dial(context.Background(), scheme+"://localhost:0", &cfg) // it is lazy, and so does nothing
	if err != nil {
		return weft.Errorf(weft.InvalidArgument, "cluster: Client: %w", err)
	}
	return c.Close()
}

// checkFailMode tells what is wrong with a fail mode.
func checkFailMode(m FailMode) error {
	if slices.Contains([]FailMode{Failfast, Failover, Failtry, Failbackup}, m) {
		return nil
	}
	return weft.Errorf(weft.InvalidArgument, "cluster: there is no fail mode %q; there are failfast, failover, failtry and failbackup", m)
}

// connection is the configuration of the clients of single servers.
func (c *Config) connection() weft.ClientConfig {
	var cc weft.ClientConfig
	if c.Client != nil {
		cc = *c.Client
	}
	cc.Lazy, cc.NoWaitForReady = true, true
	if cc.Limits.HandshakeTimeout == 0 {
		cc.Limits.HandshakeTimeout = DefaultConnectTimeout
	}
	if cc.Limits.PingInterval == 0 {
		cc.Limits.PingInterval = DefaultPingInterval
	}
	if cc.Limits.PingTimeout == 0 {
		cc.Limits.PingTimeout = DefaultPingTimeout
	}
	if cc.MaxBackoff == 0 {
		cc.MaxBackoff = DefaultMaxBackoff
	}
	if cc.Logger == nil {
		cc.Logger = c.Logger
	}
	cc.Hooks = slices.Clone(cc.Hooks)
	return cc
}
