package admin_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/door/http"
	"github.com/weftrpc/weft/door/jsonrpc"
)

// The messages of the methods of the tests.
type (
	Args struct {
		A, B int
		Card Card
	}
	Card    struct{ Number, Password string }
	Product struct{ C int }
)

// rig is a server with the service weft.Admin.
type rig struct {
	t    testing.TB
	srv  *weft.Server
	addr string // host and port
}

// quiet drops what it gets.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// start starts a server on a port of 127.0.0.1.
func start(t testing.TB, cfg *weft.ServerConfig, own *admin.Config) *rig {
	t.Helper()
	var c weft.ServerConfig
	if cfg != nil {
		c = *cfg
	}
	if c.Logger == nil {
		c.Logger = quiet()
	}
	c.Doors = append(c.Doors, jsonrpc.Door(nil), http.Door(nil))
	srv := weft.NewServer(&c)
	t.Cleanup(func() { srv.Close() })
	err := errors.Join(
		weft.Handle(srv, "Arith.Mul", func(_ context.Context, a *Args) (*Product, error) { return &Product{a.A * a.B}, nil },
			weft.Idempotent(), weft.Doc("Mul multiplies.")),
		weft.Handle(srv, "Arith.Fail", func(_ context.Context, a *Args) (*Product, error) {
			return nil, weft.Errorf(weft.Code(a.A), "failed as asked")
		}),
		weft.Handle(srv, "Arith.Sleep", func(ctx context.Context, a *Args) (*Product, error) {
			timer := time.NewTimer(time.Duration(a.A) * time.Millisecond)
			defer timer.Stop()
			select {
			case <-timer.C:
				return &Product{a.A}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}),
		weft.HandleServerStream(srv, "Arith.Count", func(_ context.Context, a *Args, out *weft.Sender[Product]) error {
			for i := range a.A {
				if err := out.Send(&Product{i}); err != nil {
					return err
				}
			}
			return nil
		}),
		admin.Register(srv, own))
	if err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, srv: srv, addr: l.Addr().String()}
	// It ends with the server.
	go srv.Serve(l)
	return r
}

// serve has the server serve a listener too.
func (r *rig) serve(l net.Listener) {
	// It ends with the server.
	go r.srv.Serve(l)
}

// dial connects to the server by an address; "" is that of TCP.
func (r *rig) dial(address string, cfg *weft.ClientConfig) *weft.Client {
	r.t.Helper()
	var c weft.ClientConfig
	if cfg != nil {
		c = *cfg
	}
	if c.Logger == nil {
		c.Logger = quiet()
	}
	if address == "" {
		address = "tcp://" + r.addr
	}
	client, err := weft.Dial(r.t.Context(), address, &c)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { client.Close() })
	return client
}

// admin is a client of weft.Admin.
func (r *rig) admin(token string) *admin.Client {
	r.t.Helper()
	return admin.NewClient(r.dial("", nil), &admin.ClientConfig{Token: token})
}

// isError checks the code of an error.
func isError(t testing.TB, err error, code weft.Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("the error is %v, want %v", err, code)
	}
}
