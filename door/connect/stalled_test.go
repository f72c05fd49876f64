package connect_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/connect"
)

// TestBodyStalled: a request that is answered before its body is read does not hold its connection for longer than BodyTimeout.
func TestBodyStalled(t *testing.T) {
	srv := weft.NewServer(&weft.ServerConfig{Doors: connect.Doors(&connect.Config{BodyTimeout: 200 * time.Millisecond}), Logger: slog.New(slog.DiscardHandler)})
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	defer func() {
		srv.Close()
		<-served
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	// Less than the time that package http gives the body of a request by default.
	if err := conn.SetReadDeadline(time.Now().Add(25 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection goes on")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}
