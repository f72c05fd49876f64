package jsonrpc_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/jsonrpc"
	"github.com/weftrpc/weft/internal/polltest"
)

// TestBatchMemory: the answers of a batch count against MaxMemory until the last of them is there.
func TestBatchMemory(t *testing.T) {
	srv := weft.NewServer(&weft.ServerConfig{Logger: slog.New(slog.DiscardHandler), MaxMemory: 8 << 20, Doors: []weft.Door{jsonrpc.Door(nil)}})
	release := make(chan struct{})
	const replies, size = 90, 50 << 10 // twice as much, while the answer is copied to be written, is not far beyond MaxMemory
	var large atomic.Int32
	must(t, errors.Join(
		weft.Handle(srv, "Test.Large", func(context.Context, *struct{}) (*string, error) {
			text := strings.Repeat("x", size)
			large.Add(1)
			return &text, nil
		}),
		weft.Handle(srv, "Test.Wait", func(context.Context, *struct{}) (*string, error) {
			<-release
			return new(string), nil
		}),
		weft.Handle(srv, "Test.Length", func(_ context.Context, text *string) (*int, error) {
			n := len(*text)
			return &n, nil
		}),
	))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	defer func() {
		srv.Close()
		<-served
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	must(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "["+strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"Test.Large","params":{}},`, replies)+
		`{"jsonrpc":"2.0","id":2,"method":"Test.Wait","params":{}}]`)
	must(t, err)

	other, err := weft.Dial(t.Context(), "jsonrpc://"+l.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{jsonrpc.Wire()}, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer other.Close()
	text := strings.Repeat("y", 3950<<10)
	length := func() error {
		n := 0
		return other.Call(t.Context(), "Test.Length", &text, &n)
	}
	polltest.True(t, time.Minute, "all answers of the batch but one are there", func() bool { return large.Load() == replies && srv.Stats().InFlight == 1 })
	if e, ok := errors.AsType[*weft.Error](length()); !ok || e.Reason != weft.ReasonTooManyBytes {
		t.Errorf("another request, while the batch is not complete: %v", e)
	}
	close(release)
	_, err = io.CopyN(io.Discard, conn, replies*size)
	must(t, err)
	polltest.Until(t, time.Minute, "another request is taken", length)
}
