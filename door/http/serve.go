package http

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"log/slog"
	"net"
	nethttp "net/http"
	"sync"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/httpconn"
	"github.com/weftrpc/weft/internal/turns"
)

// connection is one connection of the door.
type connection struct {
	*weft.DoorConn
	d       *door
	conn    *httpconn.Conn // nil: another door serves the connection
	tls     *tls.ConnectionState
	refused *weft.Error     // why the connection was not admitted
	first   nethttp.Handler // gets the requests of a connection that was admitted
	turns   turns.Turns     // of replies that are encoded
}

func (d *door) connectionOn(c *weft.DoorConn) *connection {
	x := &connection{DoorConn: c, d: d}
	x.first = nethttp.HandlerFunc(x.serve)
	if d.cfg.Front != nil {
		x.first = d.cfg.Front(c, x.first)
	}
	return x
}

// Handler returns what answers the requests of a connection as Door(cfg) does, for a door of
// another package that serves the connection itself, as one of HTTP/2. A door returned by Door
// makes handlers that share what they know of the methods.
func Handler(d weft.Door, c *weft.DoorConn, p *weft.Peer) (nethttp.Handler, error) {
	own, ok := d.(*door)
	if !ok {
		return nil, weft.Errorf(weft.InvalidArgument, "http: Handler was called with the door %q; want one that Door of this package has made", d.Name())
	}
	x := own.connectionOn(c)
	x.tls = p.TLS()
	return nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		x.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), connKey{}, x)))
	}), nil
}

// urlRoom is what the first line of a request may have, beside the metadata in the header.
const urlRoom = 16 << 10

// Serve implements weft.Door.
func (d *door) Serve(c *weft.DoorConn) error {
	limits := c.Limits()
	raw := c.Conn()
	x := d.connectionOn(c)
	x.conn = httpconn.New(raw, limits.WriteTimeout)
	peer, err := c.Admit(weft.Credential{}, nil)
	if err != nil {
		x.refused = asError(err)
	} else {
		x.tls = peer.TLS()
	}
	var protocols nethttp.Protocols
	protocols.SetHTTP1(true)
	srv := &nethttp.Server{
		Handler: x, Protocols: &protocols, ConnState: x.conn.State, DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout: limits.HandshakeTimeout, IdleTimeout: d.cfg.IdleTimeout, MaxHeaderBytes: limits.MaxMetadata + urlRoom,
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return httpconn.WithConn(context.WithValue(ctx, connKey{}, x), x.conn)
		},
		ErrorLog: log.New(lines{c.Logger()}, "", 0),
	}
	// It returns when it asks for a second connection; the first one is served by a goroutine
	// that ends with it.
	_ = srv.Serve(&single{conn: x.conn})
	select {
	case <-x.conn.Over():
	case <-c.Draining():
		x.conn.Drain()
		<-x.conn.Over()
	}
	if x.refused != nil {
		return x.refused
	}
	return nil
}

// single is a listener that accepts one connection.
type single struct {
	mu   sync.Mutex
	conn net.Conn
}

// Accept returns the connection the first time, and an error from then on.
func (s *single) Accept() (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return nil, net.ErrClosed
	}
	c := s.conn
	s.conn = nil
	return c, nil
}

func (s *single) Close() error { return nil }

func (s *single) Addr() net.Addr { return &net.TCPAddr{} }

// lines passes what net/http logs on, which is about clients that break the protocol and about
// handlers of Config.Handler that panic.
type lines struct{ log *slog.Logger }

func (l lines) Write(p []byte) (int, error) {
	l.log.Info("http: " + string(p))
	return len(p), nil
}

// asError is an error as one of weft.
func asError(err error) *weft.Error {
	if e, ok := errors.AsType[*weft.Error](err); ok {
		return e
	}
	return weft.Errorf(weft.CodeOf(err), "%w", err)
}
