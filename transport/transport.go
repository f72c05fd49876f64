// Package transport defines how bytes travel between two processes.
//
// A [Transport] is a value, passed in a configuration. Each subpackage holds one.
package transport

import (
	"context"
	"net"
)

// Transport dials and listens on one kind of network.
//
// A transport is used by many goroutines at once.
type Transport interface {
	// Scheme is the part of an address before "://", for example "tcp".
	Scheme() string

	// Dial connects to addr, which has no scheme, for example "127.0.0.1:8972".
	// It returns as soon as ctx ends.
	Dial(ctx context.Context, addr string) (net.Conn, error)

	// Listen starts to listen on addr. The listener's own Addr is in the form
	// that Dial takes, with a port chosen by the system filled in.
	Listen(ctx context.Context, addr string) (net.Listener, error)
}
