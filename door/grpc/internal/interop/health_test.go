package interop

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/weftrpc/weft"
	weftgrpc "github.com/weftrpc/weft/door/grpc"
	"github.com/weftrpc/weft/health"
)

// TestHealth asks a server for its health by grpc-go, before and while it drains.
func TestHealth(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{weftgrpc.Door(nil)}, Logger: slog.New(slog.DiscardHandler)})
	must(weft.Handle(srv, "shop.Orders.Place", func(_ context.Context, e *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckRequest, error) {
		return e, nil
	}))
	must(srv.Alias("shop.Purchases.Place", "shop.Orders.Place"))
	h, err := health.New(srv, nil)
	must(err)
	must(weftgrpc.RegisterHealth(srv, h))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(err)
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) })
	defer wg.Wait()
	defer srv.Close()

	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(err)
	defer conn.Close()
	c := grpc_health_v1.NewHealthClient(conn)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	watch, err := c.Watch(ctx, &grpc_health_v1.HealthCheckRequest{Service: "shop.Orders"})
	must(err)
	for { // it may still be starting
		r, err := watch.Recv()
		must(err)
		if r.Status == grpc_health_v1.HealthCheckResponse_SERVING {
			break
		}
	}
	for _, service := range []string{"", "shop.Orders", "shop.Purchases"} {
		if r, err := c.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: service}); err != nil || r.Status != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("service %q: %v, %v", service, r, err)
		}
	}
	if _, err := c.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "none"}); status.Code(err) != codes.NotFound {
		t.Errorf("a service there is not: %v", err)
	}
	all, err := c.List(ctx, &grpc_health_v1.HealthListRequest{})
	must(err)
	for _, service := range []string{"", "shop.Orders", "shop.Purchases"} {
		if s := all.Statuses[service]; s.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("service %q is listed as %v", service, s)
		}
	}
	wg.Go(func() { _ = srv.Shutdown(ctx) })
	r, err := watch.Recv()
	if err != nil || r.Status != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("while the server drains: %v, %v", r, err)
	}
	if _, err := watch.Recv(); err != io.EOF {
		t.Errorf("the watch ended with %v", err)
	}
}
