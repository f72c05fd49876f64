package jsonrpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/rpc"
	stock "net/rpc/jsonrpc"
	"sync"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/jsonrpc"
	"github.com/weftrpc/weft/door/wiretest"
)

// TestWireOne calls the server of the standard library.
func TestWireOne(t *testing.T) {
	wiretest.Run(t, wiretest.Kit{Wire: jsonrpc.WireOne, NoCredential: true, Serve: func(conn net.Conn, h *wiretest.Handlers) {
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
	wiretest.Run(t, wiretest.Kit{Wire: jsonrpc.Wire, Codes: true, NoCredential: true, Serve: func(conn net.Conn, h *wiretest.Handlers) {
		srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{jsonrpc.Door(nil)}, Logger: slog.New(slog.DiscardHandler), Timeout: -1})
		if err := srv.RegisterName("Test", h); err != nil {
			t.Error(err)
		}
		defer srv.Close()
		wiretest.ServeOne(conn, srv.Serve)
	}})
}

// TestWebSocketWire calls a server with the handler over WebSocket.
func TestWebSocketWire(t *testing.T) {
	wiretest.Run(t, wiretest.Kit{Wire: func() weft.Wire { return jsonrpc.WebSocketWire("/rpc") }, Codes: true, Serve: func(conn net.Conn, h *wiretest.Handlers) {
		srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{http.Door(&http.Config{Handler: jsonrpc.Handler(nil)})},
			Logger: slog.New(slog.DiscardHandler), Timeout: -1})
		if err := srv.RegisterName("Test", h); err != nil {
			t.Error(err)
		}
		defer srv.Close()
		wiretest.ServeOne(conn, srv.Serve)
	}})
}

// TestServerTells: what a server sends unasked is ignored, and calls go on.
func TestServerTells(t *testing.T) {
	here, there := net.Pipe()
	var served sync.WaitGroup
	served.Go(func() {
		for d := json.NewDecoder(there); ; {
			var r struct{ ID json.RawMessage }
			if d.Decode(&r) != nil {
				return
			}
			fmt.Fprintf(there, `{"jsonrpc":"2.0","method":"event","params":{"id":1}} {"jsonrpc":"2.0","method":"ask","id":1} {"jsonrpc":"2.0","id":%s,"result":42}`, r.ID)
		}
	})
	defer served.Wait()
	defer there.Close()
	c, err := jsonrpc.Wire().Dial(t.Context(), weft.WireConfig{Dial: func(context.Context) (net.Conn, error) { return here, nil },
		Limits: weft.Limits{MaxMessage: 1 << 20, WriteBuffer: 1 << 20, WriteTimeout: patience}, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer c.Close()
	for range 3 {
		n := 0
		if err := c.Call(t.Context(), &weft.WireCall{Method: "Test.Sum", Args: &[]int{1}, Reply: &n}); err != nil || n != 42 {
			t.Fatalf("%d, %v", n, err)
		}
	}
}
