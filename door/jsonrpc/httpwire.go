package jsonrpc

import (
	"context"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/carriers"
	"github.com/weftrpc/weft/door/internal/webjson"
)

// HTTPConfig configures a wire over HTTP. The zero value, and a nil pointer to one, give safe defaults.
type HTTPConfig struct {
	// Scheme is that of the addresses; "": "jsonrpc+http", or "jsonrpc+https" of SecureWireHTTP.
	Scheme string
	// Path is the path at which servers have JSON-RPC, such as "/rpc", with a query if they need one, for addresses
	// that have none; "": "/".
	Path string
	// Service is the service whose methods the server knows by their own names: with "node" a call of node.getblockcount
	// asks for getblockcount. "": there is none.
	Service string
	// MaxConns is how many connections of HTTP/1.1, each of which carries one call at a time, stand for one
	// connection of a weft client. 0: DefaultMaxConns.
	MaxConns int
}

// DefaultMaxConns is the default of HTTPConfig.MaxConns.
const DefaultMaxConns = carriers.DefaultMaxConns

// WireHTTP returns a wire to servers of JSON-RPC 2.0 over the POST of HTTP, for addresses such as "jsonrpc+http://127.0.0.1:8080/rpc".
// Connections have TLS if the client's configuration has. Params are those of Wire; metadata, credentials and the time of a call are in
// the headers that package door/http defines, and a one-way call is a notification.
func WireHTTP(cfg *HTTPConfig) weft.Wire { return newWireHTTP(cfg, "jsonrpc+http", false) }

// SecureWireHTTP is WireHTTP for addresses such as "jsonrpc+https://api.example.org:443/rpc", to which connections
// always have TLS: that of the client's configuration, or else one with the certificates of the system.
func SecureWireHTTP(cfg *HTTPConfig) weft.Wire { return newWireHTTP(cfg, "jsonrpc+https", true) }

func newWireHTTP(cfg *HTTPConfig, scheme string, secure bool) *wireHTTP {
	w := &wireHTTP{secure: secure}
	if cfg != nil {
		w.cfg = *cfg
	}
	if w.cfg.Scheme == "" {
		w.cfg.Scheme = scheme
	}
	if w.cfg.MaxConns <= 0 {
		w.cfg.MaxConns = DefaultMaxConns
	}
	return w
}

// wireHTTP implements weft.Wire, for addresses with a path.
type wireHTTP struct {
	cfg    HTTPConfig
	secure bool
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
	conns, err := carriers.Dial(ctx, cfg, carriers.Options{Secure: w.secure, MaxConns: w.cfg.MaxConns})
	if err != nil {
		return nil, err
	}
	c := &connHTTP{Conns: conns, codec: webjson.New(false), limit: cfg.Limits.MaxMessage, path: path}
	if w.cfg.Service != "" {
		c.service = w.cfg.Service + "."
	}
	return c, nil
}
