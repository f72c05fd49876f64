package jsonrpc

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	nethttp "net/http"
	"strings"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/carriers"
	"github.com/weftrpc/weft/door/internal/combine"
	"github.com/weftrpc/weft/door/internal/pending"
	"github.com/weftrpc/weft/door/internal/webjson"
	"github.com/weftrpc/weft/door/internal/websock"
	"github.com/weftrpc/weft/door/jsonrpc/internal/envelope"
)

// WebSocketWire returns a wire to servers of JSON-RPC 2.0 over WebSocket, for addresses such as
// "jsonrpc+ws://127.0.0.1:8080/rpc"; path is where they serve it for addresses that have no path, "/" if it is empty. Connections have
// TLS if the client's configuration has. The credential of a connection is sent in the header Authorization of its first request.
// Otherwise it is as Wire.
func WebSocketWire(path string) weft.Wire {
	return socketWire{path: path}
}

// SecureWebSocketWire is WebSocketWire for addresses such as "jsonrpc+wss://api.example.org:443", to which
// connections always have TLS: that of the client's configuration, or else one with the certificates of the system.
func SecureWebSocketWire(path string) weft.Wire {
	return socketWire{path: path, secure: true}
}

// socketWire implements weft.Wire, for addresses with a path.
type socketWire struct {
	path   string
	secure bool
}

// Scheme implements weft.Wire.
func (w socketWire) Scheme() string {
	if w.secure {
		return "jsonrpc+wss"
	}
	return "jsonrpc+ws"
}

// Protocols implements weft.Wire.
func (socketWire) Protocols() []string { return []string{"http/1.1"} }

// TakesPath says that addresses may have a path, which is WireConfig.Path then.
func (socketWire) TakesPath() bool { return true }

// Dial implements weft.Wire.
func (w socketWire) Dial(ctx context.Context, cfg weft.WireConfig) (weft.WireConn, error) {
	path, err := carriers.PathOf(cfg, w.path)
	if err != nil {
		return nil, err
	}
	conn, err := w.connect(ctx, cfg)
	if err != nil {
		return nil, err
	}
	header := make(nethttp.Header)
	if cfg.Credential != (weft.Credential{}) {
		header.Set("Authorization", strings.TrimSpace(cfg.Credential.Scheme+" "+cfg.Credential.Token))
	}
	ws, err := websock.Dial(ctx, conn, cfg.Address, path.RequestURI(), header, protocols()[:1], socketConfig(cfg.Limits))
	if err != nil {
		return nil, handshakeError(err)
	}
	out := combine.New(ws.Pieces(), cfg.Limits.WriteBuffer, cfg.Limits.WriteTimeout, websock.Append)
	c := &clientSocket{under: conn, ws: ws, clientConn: clientConn{Calls: pending.New[envelope.Response](ending{conn, ws}, out),
		codec: webjson.New(false), limit: cfg.Limits.MaxMessage}}
	c.uncarried = sync.OnceFunc(func() {
		cfg.Logger.Warn("weft: this wire carries no credentials of calls, the client's is not sent", "wire", w.Scheme(), "peer", cfg.Address)
	})
	// It ends when the connection does.
	go c.read()
	return c, nil
}

// connect makes the connection underneath, with TLS if it is to have it.
func (w socketWire) connect(ctx context.Context, cfg weft.WireConfig) (net.Conn, error) {
	conn, err := cfg.Dial(ctx)
	if err != nil || !w.secure {
		return conn, err
	}
	if _, ok := conn.(*tls.Conn); ok {
		return conn, nil
	}
	return carriers.WithTLS(ctx, conn, cfg.Address, w.Protocols())
}

// handshakeError is the error of a connection that was not made.
func handshakeError(err error) error {
	code := weft.Unavailable
	if refused, ok := errors.AsType[*websock.Refused](err); ok {
		switch refused.Status {
		case nethttp.StatusUnauthorized:
			code = weft.Unauthenticated
		case nethttp.StatusForbidden:
			code = weft.PermissionDenied
		case nethttp.StatusNotFound, nethttp.StatusMethodNotAllowed:
			code = weft.Unimplemented
		}
	}
	e := weft.Errorf(code, "%w", err)
	e.Outcome = weft.NotSent
	return e
}

// clientSocket is one connection of the wire.
type clientSocket struct {
	clientConn
	under net.Conn
	ws    *websock.Conn
}

// ending is the connection that pending.Calls ends: the server is told.
type ending struct {
	net.Conn
	ws *websock.Conn
}

func (e ending) Close() error {
	e.ws.Close(closeNormal, "")
	return nil
}

// Conn implements weft.WireConn.
func (c *clientSocket) Conn() net.Conn { return c.under }

// Ping implements weft.WirePinger.
func (c *clientSocket) Ping(ctx context.Context) error {
	if err := c.ws.Ping(ctx); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return weft.Errorf(weft.CodeOf(err), "ping: %w", err)
	}
	return nil
}

// read takes responses off the connection until it ends.
func (c *clientSocket) read() {
	for {
		value, err := c.ws.Next()
		if errors.Is(err, websock.ErrTooLarge) {
			err = longValue(c.limit)
		}
		if err != nil {
			c.Lost(err)
			return
		}
		if !c.answered(value) {
			return
		}
	}
}
