package grpc

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/doortest"
)

// TestLostStream cuts the connection of a stream: its end is an error, and not that of a stream that has come whole.
func TestLostStream(t *testing.T) {
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{Door(nil)}, Logger: slog.New(slog.DiscardHandler)})
	err := weft.HandleServerStream(srv, "Test.Long", func(ctx context.Context, _ *doortest.Unread, out *weft.Sender[doortest.Unread]) error {
		if err := out.Send(new(doortest.Unread)); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { _ = srv.Serve(l) })
	defer running.Wait()
	defer srv.Close()

	between, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer between.Close()
	cut := make(chan struct{})
	running.Go(func() {
		client, err := between.Accept()
		if err != nil {
			return
		}
		defer client.Close()
		server, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return
		}
		defer server.Close()
		running.Go(func() { _, _ = io.Copy(server, client) })
		running.Go(func() { _, _ = io.Copy(client, server) })
		<-cut
	})
	c, err := weft.Dial(t.Context(), "grpc://"+between.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{Wire(nil)}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stream, err := weft.Subscribe[doortest.Unread, doortest.Unread](t.Context(), c, "Test.Long", new(doortest.Unread))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err = range stream.All() {
		if n++; n == 1 {
			close(cut)
		}
	}
	if n != 2 || weft.CodeOf(err) != weft.Unavailable || errors.Is(err, io.EOF) {
		t.Errorf("after %d messages or errors the last is %v, want an error behind the one message, Unavailable and not io.EOF", n, err)
	}
}
