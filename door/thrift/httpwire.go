package thrift

import (
	"context"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/carriers"
)

// HTTPConfig configures a wire over HTTP. The zero value, and a nil pointer to one, are those of most servers: the
// binary protocol without frames.
type HTTPConfig struct {
	// Scheme is that of the addresses; "": "thrift+http", or "thrift+https" of SecureWireHTTP.
	Scheme string
	// Path is the path at which servers have Thrift, such as "/thrift", with a query if they need one, for addresses
	// that have none; "": "/".
	Path string
	// Protocol is how messages are encoded.
	Protocol Protocol
	// Framed puts the length before each message, as TFramedTransport does.
	Framed bool
	// Multiplexed says that the server has several services, as in WireConfig.
	Multiplexed bool
	// HTTP2 has connections without TLS begin with HTTP/2, which the server must know. With TLS the server decides.
	HTTP2 bool
	// MaxConns is how many connections of HTTP/1.1, each of which carries one call at a time, stand for one
	// connection of a weft client. 0: DefaultMaxConnsHTTP.
	MaxConns int
}

// DefaultMaxConnsHTTP is the default of HTTPConfig.MaxConns.
const DefaultMaxConnsHTTP = carriers.DefaultMaxConns

// WireHTTP returns a wire to servers of Thrift over HTTP, which take what the THttpClient of Thrift's libraries sends, such as those with a
// Handler, for addresses such as "thrift+http://127.0.0.1:8080/thrift". Connections have TLS if the client's configuration has. Methods and
// messages are those of Wire; metadata, credentials and the time of a call are in the headers that package door/http defines.
func WireHTTP(cfg *HTTPConfig) weft.Wire { return newWireHTTP(cfg, "thrift+http", false) }

// SecureWireHTTP is WireHTTP for addresses such as "thrift+https://api.example.org:443/thrift", to which connections
// always have TLS: that of the client's configuration, or else one with the certificates of the system.
func SecureWireHTTP(cfg *HTTPConfig) weft.Wire { return newWireHTTP(cfg, "thrift+https", true) }

func newWireHTTP(cfg *HTTPConfig, scheme string, secure bool) *wireHTTP {
	w := &wireHTTP{secure: secure}
	if cfg != nil {
		w.cfg = *cfg
	}
	if w.cfg.Scheme == "" {
		w.cfg.Scheme = scheme
	}
	if w.cfg.MaxConns <= 0 {
		w.cfg.MaxConns = DefaultMaxConnsHTTP
	}
	w.messages.cfg = WireConfig{Protocol: w.cfg.Protocol, Framing: Unframed, Multiplexed: w.cfg.Multiplexed}
	if w.cfg.Framed {
		w.messages.cfg.Framing = Framed
	}
	return w
}

// wireHTTP implements weft.Wire, for addresses with a path.
type wireHTTP struct {
	cfg      HTTPConfig
	secure   bool
	messages wire // encodes and decodes messages
}

// Scheme implements weft.Wire.
func (w *wireHTTP) Scheme() string { return w.cfg.Scheme }

// Protocols implements weft.Wire.
func (*wireHTTP) Protocols() []string { return carriers.Protocols() }

// TakesPath says that addresses may have a path, which is WireConfig.Path then.
func (*wireHTTP) TakesPath() bool { return true }

// Dial implements weft.Wire.
func (w *wireHTTP) Dial(ctx context.Context, cfg weft.WireConfig) (weft.WireConn, error) {
	path, err := carriers.PathOf(cfg, w.cfg.Path)
	if err != nil {
		return nil, err
	}
	conns, err := carriers.Dial(ctx, cfg, carriers.Options{HTTP2: w.cfg.HTTP2, Secure: w.secure, MaxConns: w.cfg.MaxConns})
	if err != nil {
		return nil, err
	}
	return &connHTTP{Conns: conns, w: w, limit: cfg.Limits.MaxMessage, path: path}, nil
}
