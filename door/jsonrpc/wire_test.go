package jsonrpc_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/rpc"
	stock "net/rpc/jsonrpc"
	"strings"
	"sync"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/jsonrpc"
	"github.com/weftrpc/weft/door/wiretest"
)

// TestWireOne calls the server of the standard library.
func TestWireOne(t *testing.T) {
	wiretest.Run(t, wiretest.Kit{Wire: jsonrpc.WireOne, Serve: func(conn net.Conn, h *wiretest.Handlers) {
		srv := rpc.NewServer()
		if err := srv.RegisterName("Test", plain{h}); err != nil {
			t.Error(err)
		}
		srv.ServeCodec(stock.NewServerCodec(conn))
	}})
}

// plain are the handlers as a program of the standard library has them: their errors are
// text alone.
type plain struct{ h *wiretest.Handlers }

func (p plain) Echo(m, reply *wiretest.Message) error { return p.h.Echo(m, reply) }
func (p plain) Wait(m, reply *wiretest.Message) error { return p.h.Wait(m, reply) }
func (p plain) Fail(m, _ *wiretest.Message) error {
	return errors.New("no " + m.Text + " here")
}

// TestWire calls a server with the door.
func TestWire(t *testing.T) {
	wiretest.Run(t, wiretest.Kit{Wire: jsonrpc.Wire, Codes: true, Serve: func(conn net.Conn, h *wiretest.Handlers) {
		srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{jsonrpc.Door(nil)}, Logger: slog.New(slog.DiscardHandler), Timeout: -1})
		if err := srv.RegisterName("Test", h); err != nil {
			t.Error(err)
		}
		l := &only{conn: conn, ended: make(chan struct{})}
		if err := srv.Serve(l); err == nil {
			t.Error("Serve returned nil")
		}
		srv.Close()
	}})
}

// only is a listener of one connection, which fails when that has been closed.
type only struct {
	conn  net.Conn
	ended chan struct{}
	once  sync.Once
}

func (o *only) Accept() (net.Conn, error) {
	if c := o.conn; c != nil {
		o.conn = nil
		return noted{c, o}, nil
	}
	<-o.ended
	return nil, net.ErrClosed
}

func (o *only) Close() error {
	o.once.Do(func() { close(o.ended) })
	return nil
}

func (o *only) Addr() net.Addr { return &net.TCPAddr{} }

// noted tells its listener when it is closed.
type noted struct {
	net.Conn
	l *only
}

func (n noted) Close() error {
	n.l.Close()
	return n.Conn.Close()
}

// A credential that the wire cannot carry is told in the log, once for a connection.
func TestCredentialIsNotCarried(t *testing.T) {
	for name, cfg := range map[string]weft.ClientConfig{
		"of the connection": {ConnCredential: func(context.Context) (weft.Credential, error) {
			return weft.Credential{Scheme: "Bearer", Token: "secret"}, nil
		}},
		"of a call": {Credential: func(context.Context, string) (weft.Credential, error) {
			return weft.Credential{Scheme: "Bearer", Token: "secret"}, nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			var log strings.Builder
			cfg.Wires, cfg.Logger = []weft.Wire{jsonrpc.Wire()}, slog.New(slog.NewTextHandler(&log, nil))
			c, err := weft.Dial(t.Context(), "jsonrpc://"+l.Addr().String(), &cfg)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := c.Notify(t.Context(), "Some.Method", 1); err != nil {
					t.Error(err)
				}
			}
			c.Close() // no goroutine writes to the log after it
			if text := log.String(); strings.Count(text, "carries no credentials") != 1 || !strings.Contains(text, "wire=jsonrpc") || strings.Contains(text, "secret") {
				t.Errorf("the log has %q", text)
			}
		})
	}
}
