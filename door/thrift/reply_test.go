package thrift_test

import (
	"context"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/doortest"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/thrift"
)

// TestPartsOfRequests: parts of bodies over HTTP count against the memory of the server.
func TestPartsOfRequests(t *testing.T) {
	doortest.PartsOfRequests(t, http.Door(&http.Config{Handler: thrift.Handler(nil)}),
		"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-thrift\r\nContent-Length: 4000000\r\n\r\n",
		func(srv *weft.Server) error {
			return weft.Handle(srv, "Test.Add", func(_ context.Context, a *Add) (*Add, error) { return a, nil })
		})
}

// afterReply runs when a reply was handed to the connection.
type afterReply func()

func (f afterReply) AfterWriteReply(context.Context, *weft.CallInfo, any, error) { f() }

// TestReplyBeforeHooks: the client has the reply of a call while a hook behind the reply still runs.
func TestReplyBeforeHooks(t *testing.T) {
	got := make(chan struct{})
	late := make(chan struct{})
	time.AfterFunc(time.Minute, func() { close(late) })
	hook := afterReply(func() {
		select {
		case <-got:
		case <-late:
			t.Error("the reply waits for the hook behind it")
		}
	})
	addr := start(t, &weft.ServerConfig{Hooks: []any{hook}}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Test.Add", func(_ context.Context, a *Add) (*Add, error) { return a, nil })
	})
	c, err := weft.Dial(t.Context(), "thrift://"+addr, &weft.ClientConfig{Wires: []weft.Wire{thrift.Wire(&thrift.WireConfig{Multiplexed: true})}, Timeout: 2 * time.Minute})
	must(t, err)
	defer c.Close()
	_, err = weft.Invoke[Add](t.Context(), c, "Test.Add", &Add{1, 2})
	close(got)
	must(t, err)
}
