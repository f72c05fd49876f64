package tls

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/weftrpc/weft/transport"
)

// Wrap returns inner with TLS on every connection and "+tls" after its scheme, for
// example "tcp+tls". Each connection has the newest files of source.
//
// Dial verifies the server by serverName, or by the host of the address it dials
// when serverName is empty, and returns after the handshake, which ctx bounds.
// Accept does not wait for a handshake, so that a silent peer does not delay others: it
// happens at the first Read or Write, or in [Handshake]. Set a deadline or a context
// for it. Connections are of type *tls.Conn of crypto/tls.
func Wrap(inner transport.Transport, source *Source, serverName string) transport.Transport {
	return &wrapped{inner: inner, source: source, serverName: serverName}
}

type wrapped struct {
	inner      transport.Transport
	source     *Source
	serverName string
}

func (w *wrapped) Scheme() string { return w.inner.Scheme() + "+tls" }

func (w *wrapped) Dial(ctx context.Context, addr string) (net.Conn, error) {
	name := w.serverName
	if name == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil || host == "" {
			return nil, fmt.Errorf("tls: address %q has no host name to verify the server by: give Wrap a server name", addr)
		}
		name = host
	}
	cfg := w.source.ClientConfig(name)
	raw, err := w.inner.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, cfg)
	if err := Handshake(ctx, conn); err != nil {
		raw.Close()
		return nil, err
	}
	return conn, nil
}

func (w *wrapped) Listen(ctx context.Context, addr string) (net.Listener, error) {
	cfg, err := w.source.ServerConfig()
	if err != nil {
		return nil, err
	}
	l, err := w.inner.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	return tls.NewListener(l, cfg), nil
}

// Handshake completes the handshake of either end. When ctx ends first it closes the
// connection and returns the context's error; on other errors closing is the
// caller's.
//
// The error says so when the peer does not speak TLS. It wraps a
// tls.RecordHeaderError then, whose Conn, if set, is the bare connection, on which a
// server can answer a plaintext client in its own protocol before closing.
func Handshake(ctx context.Context, conn *tls.Conn) error {
	err := conn.HandshakeContext(ctx)
	if err == nil {
		return nil
	}
	var plain tls.RecordHeaderError
	if errors.As(err, &plain) {
		return fmt.Errorf("tls: handshake with %v: the peer speaks no TLS, its first bytes are %q: turn TLS on there or off here: %w",
			conn.RemoteAddr(), plain.RecordHeader[:], err)
	}
	return fmt.Errorf("tls: handshake with %v: %w", conn.RemoteAddr(), err)
}
