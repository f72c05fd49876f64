package connect

import (
	"context"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/carriers"
	"github.com/weftrpc/weft/door/internal/webjson"
)

// DefaultMaxConns is the default of WireConfig.MaxConns.
const DefaultMaxConns = carriers.DefaultMaxConns

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

func (*wire) Protocols() []string { return carriers.Protocols() }

// Dial implements weft.Wire.
func (w *wire) Dial(ctx context.Context, cfg weft.WireConfig) (weft.WireConn, error) {
	conns, err := carriers.Dial(ctx, cfg, carriers.Options{HTTP2: w.cfg.HTTP2, Secure: w.secure, MaxConns: w.cfg.MaxConns})
	if err != nil {
		return nil, err
	}
	return &clientConn{Conns: conns, w: w, cfg: cfg, json: webjson.New(false)}, nil
}
