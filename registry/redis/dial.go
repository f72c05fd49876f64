package redis

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// dialer returns the function that connects to Redis.
//
// The library writes to standard error when its dialer fails, and has no logger of one
// client. So a connection that cannot be made is returned as one on which everything
// fails with the reason, and the operation that wanted it returns that.
func dialer(config *tls.Config) func(ctx context.Context, network, address string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: dialTimeout}
	dial := plain.DialContext
	if config != nil {
		dial = (&tls.Dialer{NetDialer: plain, Config: config}).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return notConnected{address, err}, nil
		}
		return conn, nil
	}
}

// notConnected is a connection that could not be made.
type notConnected struct {
	address string
	err     error
}

func (c notConnected) Read([]byte) (int, error)         { return 0, c.err }
func (c notConnected) Write([]byte) (int, error)        { return 0, c.err }
func (c notConnected) Close() error                     { return nil }
func (c notConnected) LocalAddr() net.Addr              { return unknownAddr("") }
func (c notConnected) RemoteAddr() net.Addr             { return unknownAddr(c.address) }
func (c notConnected) SetDeadline(time.Time) error      { return nil }
func (c notConnected) SetReadDeadline(time.Time) error  { return nil }
func (c notConnected) SetWriteDeadline(time.Time) error { return nil }

// unknownAddr is the address of what is not connected.
type unknownAddr string

func (unknownAddr) Network() string  { return "tcp" }
func (a unknownAddr) String() string { return string(a) }
