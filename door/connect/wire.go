package connect

import (
	"context"
	"crypto/tls"
	"net"
	nethttp "net/http"

	"github.com/weftrpc/weft"
)

// DefaultMaxConns is the default of WireConfig.MaxConns.
const DefaultMaxConns = 64

// WireConfig configures a wire. The zero value, and a nil pointer to one, give safe defaults.
type WireConfig struct {
	// Scheme is that of the addresses; "": "connect+http", or "connect+https" of SecureWire.
	Scheme string
	// HTTP2 has connections without TLS begin with HTTP/2, which the server must know: then a connection
	// carries many calls, and streams in both directions at once. With TLS the server decides.
	HTTP2 bool
	// MaxConns is how many connections of HTTP/1.1, each of which carries one call at a time, stand for one
	// connection of a weft client. 0: DefaultMaxConns.
	MaxConns int
	// Get reports whether unary calls of a method are made by GET, which caches and proxies may answer and
	// repeat: only for methods without side effects. nil: all calls are made by POST.
	Get func(method string) bool
}

// Wire returns a wire to servers of Connect, for addresses such as "connect+http://127.0.0.1:8080". The
// connections have TLS if the client's configuration has.
func Wire(cfg *WireConfig) weft.Wire {
	w := &wire{}
	if cfg != nil {
		w.cfg = *cfg
	}
	if w.cfg.Scheme == "" {
		w.cfg.Scheme = "connect+http"
	}
	if w.cfg.MaxConns <= 0 {
		w.cfg.MaxConns = DefaultMaxConns
	}
	return w
}

// SecureWire is Wire for addresses such as "connect+https://api.example.org:443", to which connections always
// have TLS: that of the client's configuration, or else one with the certificates of the system.
func SecureWire(cfg *WireConfig) weft.Wire {
	w := Wire(cfg).(*wire)
	w.secure = true
	if cfg == nil || cfg.Scheme == "" {
		w.cfg.Scheme = "connect+https"
	}
	return w
}

// wire implements weft.Wire.
type wire struct {
	cfg    WireConfig
	secure bool
}

func (w *wire) Scheme() string { return w.cfg.Scheme }

func (*wire) Protocols() []string { return []string{"h2", "http/1.1"} }

// Dial implements weft.Wire.
func (w *wire) Dial(ctx context.Context, cfg weft.WireConfig) (weft.WireConn, error) {
	nc, err := w.dial(ctx, cfg)
	if err != nil {
		return nil, err
	}
	c := newClientConn(w, nc, cfg)
	if err := c.add(ctx, nc); err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

// dial makes a connection, with TLS if it is to have it.
func (w *wire) dial(ctx context.Context, cfg weft.WireConfig) (net.Conn, error) {
	nc, err := cfg.Dial(ctx)
	if err != nil || !w.secure || secured(nc) != nil {
		return nc, err
	}
	host, _, err := net.SplitHostPort(cfg.Address)
	if err != nil {
		host = cfg.Address
	}
	t := tls.Client(nc, &tls.Config{ServerName: host, NextProtos: w.Protocols(), MinVersion: tls.VersionTLS12})
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

// transport makes a connection of net/http of one that is there.
func (w *wire) transport(nc net.Conn) (t *nethttp.Transport, scheme string) {
	t = &nethttp.Transport{DisableCompression: true, Protocols: new(nethttp.Protocols)}
	given := func(context.Context, string, string) (net.Conn, error) { return nc, nil }
	t.DialContext, t.DialTLSContext = given, given
	secure := secured(nc)
	switch {
	case secure != nil && secure.ConnectionState().NegotiatedProtocol == "h2":
		t.Protocols.SetHTTP2(true)
		return t, "https"
	case secure == nil && w.cfg.HTTP2:
		t.Protocols.SetUnencryptedHTTP2(true)
	case secure != nil:
		t.Protocols.SetHTTP1(true)
		return t, "https"
	default:
		t.Protocols.SetHTTP1(true)
	}
	return t, "http"
}
