// Package tlsconf readies configurations of TLS for the connections of servers and clients.
package tlsconf

import (
	"context"
	"crypto/tls"
	"net"
)

// Offer returns a copy of a configuration that offers these protocols, unless it names some of its own.
func Offer(c *tls.Config, protocols ...string) *tls.Config {
	c = c.Clone()
	if len(c.NextProtos) == 0 {
		c.NextProtos = protocols
	}
	return c
}

// key is the key of the newcomer in the context of its handshake.
type key struct{}

// newcomer is a connection in its handshake.
type newcomer struct {
	conn  net.Conn
	heard func()
}

// Accepting returns the context of the handshake of a connection that a listener has accepted, for Heard.
func Accepting(ctx context.Context, conn net.Conn, heard func()) context.Context {
	return context.WithValue(ctx, key{}, &newcomer{conn, heard})
}

// Heard changes c so that in a handshake with a context of Accepting heard is called when the first message of the client has come whole, and
// that the callbacks see the connection that the listener accepted. It returns c.
func Heard(c *tls.Config) *tls.Config {
	next, certificate := c.GetConfigForClient, c.GetCertificate
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if n := of(hello); n != nil {
			n.heard()
		}
		if next == nil {
			return nil, nil
		}
		return next(accepted(hello))
	}
	if certificate != nil {
		c.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate(accepted(hello)) }
	}
	return c
}

// accepted is hello with the connection that the listener accepted.
func accepted(hello *tls.ClientHelloInfo) *tls.ClientHelloInfo {
	if n := of(hello); n != nil {
		hello.Conn = n.conn
	}
	return hello
}

func of(hello *tls.ClientHelloInfo) *newcomer {
	n, _ := hello.Context().Value(key{}).(*newcomer)
	return n
}
