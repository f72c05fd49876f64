package weft_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
)

// A server goes through its phases in order, and its handlers are told of the drain.
func TestPhases(t *testing.T) {
	if got := weft.NewServer(nil).Phase(); got != weft.Starting || got.String() != "starting" {
		t.Errorf("a new server is %v", got)
	}
	synctest.Test(t, func(t *testing.T) {
		var srv *weft.Server
		w := start(t, nil, func(s *weft.Server) error {
			srv = s
			return weft.HandleServerStream(s, "Last.Until", func(_ context.Context, _ *int, out *weft.Sender[int]) error {
				<-s.Draining()
				time.Sleep(time.Second)
				return nil
			})
		})
		c := w.dial(nil)
		n := 0
		stream, err := weft.Subscribe[int](t.Context(), c, "Last.Until", &n)
		must(t, err)
		synctest.Wait()
		if got := srv.Phase(); got != weft.Serving {
			t.Errorf("it is %v", got)
		}
		ended := make(chan error, 1)
		go func() { ended <- srv.Shutdown(t.Context()) }() // it ends when the stream has
		synctest.Wait()
		if got := srv.Phase(); got != weft.ShuttingDown || got.String() != "shutting down" {
			t.Errorf("it is %v", got)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := srv.Phase(); got != weft.ShutDown {
			t.Errorf("it is %v", got)
		}
		if _, err := stream.Recv(); err == nil {
			t.Error("a message came")
		}
		srv.Close()
	})
}
