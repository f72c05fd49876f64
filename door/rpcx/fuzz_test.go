package rpcx_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/rpcx"
	"github.com/weftrpc/weft/transport/mem"
)

// FuzzDoor sends a server any bytes: what it answers are frames, it ends the connection when the client does,
// and is well afterwards.
func FuzzDoor(f *testing.F) {
	for _, g := range golden {
		f.Add(unhex(f, g.request))
	}
	f.Add((&packet{second: 0x24, third: 0x30, path: "Arith", method: "Mul", meta: map[string]string{"__AUTH": "x", "__ServerTimeout": "1"}, payload: []byte{0x80}}).bytes())
	network := mem.New()
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{door()}, Logger: slog.New(slog.DiscardHandler),
		Limits: weft.Limits{MaxMessage: 1 << 16, HandshakeTimeout: time.Minute}})
	must(f, arith(srv))
	l, err := network.Listen(f.Context(), "server")
	must(f, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	f.Cleanup(func() {
		srv.Close()
		<-served
	})
	dial := func(t *testing.T) net.Conn {
		conn, err := network.Dial(t.Context(), "server")
		must(t, err)
		must(t, conn.SetDeadline(time.Now().Add(patience)))
		return conn
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		conn := dial(t)
		defer conn.Close()
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _ = conn.Write(b) // the server may have closed it
			if h, ok := conn.(interface{ CloseWrite() error }); ok {
				_ = h.CloseWrite()
			}
		})
		got, _ := io.ReadAll(conn) // an end in the middle is one of a hostile client
		wg.Wait()
		for r := bytes.NewReader(got); r.Len() > 0; {
			if _, err := readPacket(r); err != nil {
				t.Errorf("answered % x: %v", got, err)
				break
			}
		}
		good := dial(t)
		defer good.Close()
		_, err = good.Write(unhex(t, golden[0].request))
		must(t, err)
		if p, err := readPacket(good); err != nil || string(p.payload) != `{"C":56}` {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// FuzzWire answers a client with any bytes: its call ends.
func FuzzWire(f *testing.F) {
	for _, g := range golden {
		f.Add(unhex(f, g.response))
	}
	f.Add((&packet{second: 0x81, third: 0x30, seq: 1, meta: map[string]string{"__rpcx_error__": "x", "weft-code": "NotFound", "weft-detail-0": "t\x00v"}}).bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		near, far := net.Pipe()
		var wg sync.WaitGroup
		wg.Go(func() {
			defer far.Close()
			if _, err := readPacket(far); err == nil {
				_, _ = far.Write(b) // the client may have closed it
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		w := rpcx.Wire(&rpcx.WireConfig{OnMessage: func(*rpcx.Message) {}})
		limits := weft.Limits{MaxMessage: 1 << 16, MaxMetadata: 1 << 14, WriteBuffer: 1 << 16, WriteTimeout: patience, PingInterval: time.Minute, PingIdle: time.Minute, PingTimeout: time.Minute}
		c, err := w.Dial(ctx, weft.WireConfig{Dial: func(context.Context) (net.Conn, error) { return near, nil }, Limits: limits, Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		var reply Reply
		_ = c.Call(ctx, &weft.WireCall{Method: "Arith.Mul", Codec: msgpackCodec(), Args: &Args{7, 8}, Reply: &reply}) // any end is right
		if ctx.Err() != nil {
			t.Error("the call did not end")
		}
		c.Close()
		wg.Wait()
	})
}
