package thrift_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/thrift"
	"github.com/weftrpc/weft/door/thrift/testdata/stock"
	"github.com/weftrpc/weft/transport/mem"
)

// FuzzServer sends a server any bytes: it ends the connection when the client does, and is well
// afterwards.
func FuzzServer(f *testing.F) {
	for _, b := range garbage() {
		f.Add(b)
	}
	f.Add([]byte("\x80\x01\x00\x01\x00\x00\x00\x03add\x00\x00\x00\x01\x08\x00\x01\x00\x00\x00\x01\x00"))
	f.Add([]byte("\x82\x21\x01\x03add\x15\x02\x15\x04\x00\x82\x81\x01\x04ping\x00"))
	f.Add([]byte("\x00\x00\x00\x1e\x0f\xff\x00\x00\x00\x00\x00\x01\x00\x01\x02\x00\x00\x00\x82\x21\x01\x04echo\x1c\x11\x13\x05\x00\x00\x00\x00"))
	f.Add([]byte("\x00\x00\x00\x0d\x00\x00\x00\x04ping\x01\x00\x00\x00\x01\x00"))
	network := mem.New()
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{thrift.Door(nil)}, Logger: slog.New(slog.DiscardHandler),
		Limits: weft.Limits{MaxMessage: 1 << 16, HandshakeTimeout: time.Minute}})
	for _, err := range []error{
		weft.Handle(srv, "Demo.add", func(_ context.Context, a *Add) (*Add, error) { return a, nil }),
		weft.Handle(srv, "Demo.echo", func(_ context.Context, e *EchoArgs) (*Everything, error) {
			if e.E == nil {
				return &Everything{}, nil
			}
			return e.E, nil
		}),
		weft.Handle(srv, "Demo.stock", func(_ context.Context, e *stock.Everything) (*stock.Everything, error) { return e, nil }),
		weft.Handle(srv, "Demo.ping", func(context.Context, *struct{}) (*struct{}, error) { return &struct{}{}, nil }),
	} {
		if err != nil {
			f.Fatal(err)
		}
	}
	l, err := network.Listen(f.Context(), "server")
	if err != nil {
		f.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	f.Cleanup(func() {
		srv.Close()
		<-served
	})
	f.Fuzz(func(t *testing.T, b []byte) {
		conn, err := network.Dial(t.Context(), "server")
		must(t, err)
		defer conn.Close()
		must(t, conn.SetDeadline(time.Now().Add(patience)))
		_, _ = conn.Write(b) // the server may have closed it
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
		if _, err := io.Copy(io.Discard, conn); err != nil && isTimeout(err) {
			t.Error("the server did not end the connection")
		}
		good, err := network.Dial(t.Context(), "server")
		must(t, err)
		defer good.Close()
		must(t, good.SetDeadline(time.Now().Add(patience)))
		_, err = io.WriteString(good, "\x82\x21\x05\x04ping\x00")
		must(t, err)
		answer := make([]byte, 9)
		if _, err := io.ReadFull(good, answer); err != nil || string(answer) != "\x82\x41\x05\x04ping\x00" {
			t.Errorf("afterwards: %q, %v", answer, err)
		}
	})
}

func isTimeout(err error) bool {
	e, ok := err.(interface{ Timeout() bool })
	return ok && e.Timeout()
}
