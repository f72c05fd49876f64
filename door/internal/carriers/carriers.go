// Package carriers sends the requests of a wire by net/http on connections that a weft client makes: one of HTTP/2,
// or some of HTTP/1.1, each of which carries one request at a time.
package carriers

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	nethttp "net/http"
	"net/url"
	"strings"

	"github.com/weftrpc/weft"
)

// DefaultMaxConns is the default of Options.MaxConns.
const DefaultMaxConns = 64

// Options are how connections are made.
type Options struct {
	// HTTP2 has connections without TLS begin with HTTP/2. With TLS the server decides.
	HTTP2 bool
	// Secure gives connections TLS with the certificates of the system if they have none.
	Secure bool
	// MaxConns is how many connections of HTTP/1.1 there are at most.
	MaxConns int
}

// PathOf is the path of the requests to an address, with the query, or else fallback.
func PathOf(cfg weft.WireConfig, fallback string) (*url.URL, error) {
	text := cfg.Path
	if text == "" {
		text = fallback
	}
	path, err := url.ParseRequestURI("/" + strings.TrimPrefix(text, "/"))
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the query, which may hold secrets
		}
		text, _, _ = strings.Cut(text, "?")
		return nil, NotSent(weft.InvalidArgument, "", "the path %q of the address, or of the configuration of its wire: %w", text, err)
	}
	return path, nil
}

// Protocols are those that a connection with TLS offers.
func Protocols() []string { return []string{"h2", "http/1.1"} }

// dial makes a connection, with TLS if it is to have it.
func (o Options) dial(ctx context.Context, cfg weft.WireConfig) (net.Conn, error) {
	nc, err := cfg.Dial(ctx)
	if err != nil || !o.Secure || secured(nc) != nil {
		return nc, err
	}
	return WithTLS(ctx, nc, cfg.Address, Protocols())
}

// WithTLS makes a connection to an address one with TLS and the certificates of the system.
func WithTLS(ctx context.Context, nc net.Conn, address string, protocols []string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	t := tls.Client(nc, &tls.Config{ServerName: host, NextProtos: protocols, MinVersion: tls.VersionTLS12})
	if err := t.HandshakeContext(ctx); err != nil {
		nc.Close()
		return nil, weft.Errorf(weft.Unavailable, "TLS: %w", err)
	}
	return t, nil
}

// secured is a connection that has TLS; nil: it has none.
func secured(nc net.Conn) *tls.Conn {
	t, _ := nc.(*tls.Conn)
	return t
}

// speaksHTTP2 reports whether HTTP/2 is spoken on a connection.
func (o Options) speaksHTTP2(nc net.Conn) bool {
	if t := secured(nc); t != nil {
		return t.ConnectionState().NegotiatedProtocol == "h2"
	}
	return o.HTTP2
}

// scheme is that of the URLs of what is sent on a connection.
func scheme(nc net.Conn) string {
	if secured(nc) != nil {
		return "https"
	}
	return "http"
}

// clientConn makes a connection of net/http of one that is there. goAway is called when the server tells by HTTP/2 that it takes no
// more calls.
func (o Options) clientConn(ctx context.Context, nc net.Conn, address string, goAway func()) (*nethttp.ClientConn, error) {
	t := &nethttp.Transport{DisableCompression: true, Protocols: new(nethttp.Protocols)}
	under := nc
	if o.speaksHTTP2(nc) {
		under = &watched{Conn: nc, goAway: goAway}
		t.Protocols.SetUnencryptedHTTP2(true) // TLS, if there is some, is under it
	} else {
		t.Protocols.SetHTTP1(true)
	}
	given := func(context.Context, string, string) (net.Conn, error) { return under, nil }
	t.DialContext, t.DialTLSContext = given, given
	return t.NewClientConn(ctx, scheme(nc), address)
}
