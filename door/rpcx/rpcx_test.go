package rpcx_test

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/doortest"
	"github.com/weftrpc/weft/door/rpcx"
	"github.com/weftrpc/weft/door/wiretest"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func door() weft.Door { return rpcx.Door(nil) }

func wire() weft.Wire { return rpcx.Wire(nil) }

func TestDoor(t *testing.T) {
	good := (&packet{third: 0x30, path: "Test", method: "Echo", payload: []byte{0x80}}).bytes()
	with := func(at int, b ...byte) []byte {
		changed := append([]byte(nil), good...)
		copy(changed[at:], b)
		return changed
	}
	doortest.Run(t, doortest.Kit{
		Scheme: weft.WireRPCX,
		Door:   door,
		Dial:   func(conn net.Conn) (doortest.Client, error) { return newClient(conn), nil },
		Garbage: [][]byte{
			{8},
			good[:len(good)-1],
			with(12, 0xff, 0xff, 0xff, 0xff),                             // the whole
			with(12, 0x7f, 0xff, 0xff, 0xff),                             //
			with(16+4+4, 0xff, 0xff, 0xff, 0xfc),                         // the method
			with(16+4+4+4+4, 0xff, 0xff, 0xff, 0xff),                     // the metadata
			append(with(0), with(2, 0x80)...),                            // a response behind a request
			append(with(0), with(1, 1)...),                               // another version
			append(with(0), with(12, 0, 0, 0, 0)...),                     // nothing behind the header
			(&packet{second: 0x40, payload: make([]byte, 4096)}).bytes(), // a heartbeat
			(&packet{second: 0x04, third: 0x30, path: "Test", method: "Echo"}).bytes(),
		},
	})
}

func TestLargeRequestsTakeTurns(t *testing.T) {
	doortest.RunTurns(t, doortest.Kit{Door: door, Dial: func(conn net.Conn) (doortest.Client, error) { return newClient(conn), nil }})
}

func TestWireToPlainServer(t *testing.T) {
	wiretest.Run(t, wiretest.Kit{Wire: wire, Serve: serveRaw})
}

// TestWireToDoor has codes and outcomes, which travel between two programs of weft.
func TestWireToDoor(t *testing.T) {
	wiretest.Run(t, wiretest.Kit{Wire: wire, Codes: true, Metadata: true, Serve: func(conn net.Conn, h *wiretest.Handlers) {
		srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{door()}, Logger: slog.New(slog.DiscardHandler), Limits: weft.Limits{HandshakeTimeout: time.Minute}})
		if err := srv.RegisterName("Test", h); err != nil {
			t.Error(err)
		}
		defer srv.Close()
		wiretest.ServeOne(conn, srv.Serve)
	}})
}

// serve starts a server with the door.
func serve(t testing.TB, cfg weft.ServerConfig, register func(*weft.Server) error) (*weft.Server, string) {
	t.Helper()
	cfg.Doors = append(cfg.Doors, door())
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	srv := weft.NewServer(&cfg)
	must(t, register(srv))
	l, err := srv.Listen(context.Background(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	t.Cleanup(func() {
		srv.Close()
		<-served
	})
	return srv, l.Addr().String()
}
