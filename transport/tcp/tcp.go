// Package tcp carries weft over TCP.
//
// Go already sends small writes at once (TCP_NODELAY). What this package adds is
// a bound on silence: a peer that vanished without closing (power cut, pulled
// cable, firewall that dropped the flow) is noticed after [Config.PeerTimeout];
// the system's own limit is about 15 minutes.
package tcp

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/weftrpc/weft/transport"
)

// DefaultPeerTimeout is the [Config.PeerTimeout] of a zero configuration.
const DefaultPeerTimeout = 15 * time.Second

// Config tunes the sockets of a transport. The zero value is ready for use.
type Config struct {
	// PeerTimeout is how long a peer may be silent when it owes an answer: to
	// bytes that were sent, or to a keep-alive probe on an idle connection. The
	// connection then fails with a timeout. Zero means [DefaultPeerTimeout],
	// negative leaves both to the system. The system counts probes in whole
	// seconds.
	//
	// On Linux this sets TCP_USER_TIMEOUT, which also ends a connection whose
	// peer is alive but has not read for that long while bytes wait for it.
	// Other systems have the probes alone: there, bytes that stay
	// unacknowledged cost as long as the system's own retransmissions.
	PeerTimeout time.Duration

	// Control, when not nil, is called with each socket before it connects or
	// binds, as in [net.Dialer] and [net.ListenConfig], for options such as
	// SO_REUSEPORT or SO_MARK. Its error fails the Dial or Listen. It may be
	// called from several goroutines at once.
	Control func(network, address string, c syscall.RawConn) error
}

type tcp struct {
	dialer   net.Dialer
	listener net.ListenConfig
}

// New returns a transport with scheme "tcp". A nil cfg means the defaults; cfg is
// not kept.
//
// Addresses are host:port, where host is a name, an IPv4 address, an IPv6 address
// in brackets, or nothing: all interfaces for Listen, this machine for Dial. Port
// 0 lets Listen choose one. The connections are of type [*net.TCPConn], the errors
// those of package net.
func New(cfg *Config) transport.Transport {
	if cfg == nil {
		cfg = &Config{}
	}
	timeout := cfg.PeerTimeout
	if timeout == 0 {
		timeout = DefaultPeerTimeout
	}
	set := control(timeout, cfg.Control)
	var probes net.KeepAliveConfig // of package net
	switch {
	case timeout > 0 && early:
		set = probing(set, keepAlive(timeout))
	case timeout > 0:
		probes = keepAlive(timeout)
	}
	t := &tcp{
		dialer:   net.Dialer{Control: set, KeepAlive: -1, KeepAliveConfig: probes},
		listener: net.ListenConfig{Control: set, KeepAlive: -1, KeepAliveConfig: probes},
	}
	// Many kernels refuse TCP_USER_TIMEOUT on multipath sockets, with which net
	// listens by default where it can.
	t.dialer.SetMultipathTCP(false)
	t.listener.SetMultipathTCP(false)
	return t
}

// keepAlive spreads the probes so that the connection has failed when timeout is
// over: with 15 s, a probe goes out after 9 s of silence, and one each second until it is
// answered. The system sends the probes of many connections in the same moment and may
// then drop some, so a few lost probes must not be the end.
func keepAlive(timeout time.Duration) net.KeepAliveConfig {
	idle := max(timeout/5*3, time.Second)
	interval := max(timeout/15, time.Second)
	return net.KeepAliveConfig{
		Enable:   true,
		Idle:     idle,
		Interval: interval,
		Count:    max(2, int((timeout-idle)/interval)),
	}
}

// probing has a socket send probes, or what it accepts, and does what inner does.
func probing(inner func(string, string, syscall.RawConn) error, k net.KeepAliveConfig) func(string, string, syscall.RawConn) error {
	return func(network, address string, c syscall.RawConn) error {
		if err := setKeepAlive(c, k); err != nil {
			return err
		}
		return inner(network, address, c)
	}
}

// control sets the options that net does not know, then calls the user's own.
func control(timeout time.Duration, user func(string, string, syscall.RawConn) error) func(string, string, syscall.RawConn) error {
	return func(network, address string, c syscall.RawConn) error {
		var err error
		failed := c.Control(func(fd uintptr) {
			if timeout > 0 {
				err = setUserTimeout(fd, timeout)
			}
			if err == nil {
				err = setMaxUnsent(fd)
			}
		})
		if failed != nil {
			return failed
		}
		if err != nil || user == nil {
			return err
		}
		return user(network, address, c)
	}
}

// Scheme returns "tcp".
func (t *tcp) Scheme() string { return "tcp" }

// Dial connects to addr. When ctx ends first, the error is its error.
func (t *tcp) Dial(ctx context.Context, addr string) (net.Conn, error) {
	c, err := t.dialer.DialContext(ctx, "tcp", addr)
	if err == nil {
		return c, nil
	}
	// Package net puts the deadline of ctx on the socket too, whose own timeout
	// may come a moment before ctx ends and would look like a failure of the network.
	at, ok := ctx.Deadline()
	var op *net.OpError
	if ok && !time.Now().Before(at) && errors.Is(err, os.ErrDeadlineExceeded) && errors.As(err, &op) {
		return nil, &net.OpError{Op: op.Op, Net: op.Net, Source: op.Source, Addr: op.Addr, Err: context.DeadlineExceeded}
	}
	return nil, err
}

// Listen listens on addr. Accepted connections inherit the socket options.
func (t *tcp) Listen(ctx context.Context, addr string) (net.Listener, error) {
	return t.listener.Listen(ctx, "tcp", addr)
}
