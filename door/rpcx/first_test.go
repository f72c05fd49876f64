package rpcx_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/rpcx"
	"github.com/weftrpc/weft/internal/backlog"
	"github.com/weftrpc/weft/internal/polltest"
)

// TestFirstCallsThatEnd: of a method whose replies are not known yet few calls run, and one whose time
// ends while it waits does not run.
func TestFirstCallsThatEnd(t *testing.T) {
	release := make(chan struct{})
	var begun, late atomic.Int32
	srv, addr := serve(t, weft.ServerConfig{Overload: weft.Overload{Off: true}}, func(srv *weft.Server) error {
		return weft.Handle(srv, "Test.Wait", func(ctx context.Context, b *[]byte) (*[]byte, error) {
			begun.Add(1)
			if ctx.Err() != nil {
				late.Add(1)
			}
			<-release
			return b, nil
		})
	})
	c := dial(t, addr, rpcx.Wire(nil), func(cfg *weft.ClientConfig) { cfg.MaxConns = 1 })
	var calls sync.WaitGroup
	call := func(timeout time.Duration) {
		calls.Go(func() {
			// Those that end before they run are refused.
			_, _ = weft.Invoke[[]byte](t.Context(), c, "Test.Wait", &[]byte{1}, weft.WithTimeout(timeout))
		})
	}
	for range backlog.FewFirst {
		call(time.Minute)
	}
	polltest.True(t, time.Minute, "the first calls run", func() bool { return begun.Load() == backlog.FewFirst })
	// On a busy machine the times of all may be over before they are sent: then others are made.
	polltest.True(t, time.Minute, "some of the others have come", func() bool {
		if srv.Stats().Methods[0].Calls > 0 || srv.Stats().InFlight > backlog.FewFirst {
			return true
		}
		for range 32 {
			call(backlog.SlowFirst / 10)
		}
		return false
	})
	polltest.True(t, time.Minute, "the others have ended", func() bool { return srv.Stats().InFlight <= backlog.FewFirst })
	close(release)
	calls.Wait()
	if n := late.Load(); n > 0 {
		t.Errorf("%d handlers ran for calls that had ended", n)
	}
}
