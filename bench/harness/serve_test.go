package harness

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/weftrpc/weft/bench/contract"
)

// server is a peer that only serves.
type server struct {
	script
	serve func(ctx context.Context, cfg ServeConfig) error
}

func (s *server) Serve(ctx context.Context, cfg ServeConfig) error { return s.serve(ctx, cfg) }

func waits(ctx context.Context, cfg ServeConfig) error {
	cfg.Ready("here:1")
	<-ctx.Done()
	return nil
}

func TestServe(t *testing.T) {
	args := []string{"serve", "-peer", "script", "-codec", "raw", "-addr", "here:0"}
	tests := []struct {
		name   string
		serve  func(ctx context.Context, cfg ServeConfig) error
		orders []string
		events []string // and then the end
		want   string   // of the error
	}{
		{name: "obeys", serve: waits, orders: []string{contract.OrderUsage, contract.OrderUsage}, events: []string{contract.Ready, contract.Usage, contract.Usage}},
		{name: "unknown order", serve: waits, orders: []string{"spin"}, events: []string{contract.Ready, contract.Failed}, want: `"spin"`},
		{
			name: "cannot listen", events: []string{contract.Failed}, want: "no such port",
			serve: func(context.Context, ServeConfig) error { return errors.New("no such port") },
		},
		{
			name: "stops on its own", events: []string{contract.Ready, contract.Failed}, want: "tired",
			serve: func(_ context.Context, cfg ServeConfig) error { cfg.Ready("here:1"); return errors.New("tired") },
		},
		{
			name: "is told where to listen", events: []string{contract.Failed}, want: "here:0 raw",
			serve: func(_ context.Context, cfg ServeConfig) error { return errors.New(cfg.Addr + " " + string(cfg.Codec)) },
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := startChild(t, Peers{&server{serve: test.serve}}, args...)
			go func() { // ends with the child, at the latest
				for _, order := range test.orders {
					_ = c.tell(order) // a child that failed reads no more
				}
				if test.want == "" {
					c.in.Close()
				}
			}()
			for _, want := range test.events {
				e, err := c.next()
				if err != nil || e.Event != want {
					t.Fatalf("the child said %+v, %v; want %q", e, err, want)
				}
				if want == contract.Ready && e.Addr != "here:1" || want == contract.Usage && e.Allocs == 0 {
					t.Errorf("the event %+v is empty", e)
				}
				if want == contract.Failed && !strings.Contains(e.Error, test.want) {
					t.Errorf("the child failed with %q, want %q", e.Error, test.want)
				}
			}
			if e, err := c.next(); err != io.EOF {
				t.Errorf("the child said more, %+v, %v", e, err)
			}
			if err := <-c.ended; (err != nil) != (test.want != "") {
				t.Errorf("serve returned %v", err)
			}
		})
	}
}
