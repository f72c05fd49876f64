package grpc

import (
	"context"
	"crypto/tls"
	"log/slog"
	nethttp "net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

// TestLoneCaller makes calls one at a time, so that each caller reads its own reply, on a connection with TLS and on one without. A deadline
// and a cancellation end the wait of a caller that reads at once, and the connection goes on. So it does while callers come and go.
func TestLoneCaller(t *testing.T) {
	stock := httptest.NewTLSServer(nil)
	certificates := &tls.Config{Certificates: stock.TLS.Certificates}
	trust := stock.Client().Transport.(*nethttp.Transport).TLSClientConfig.RootCAs
	stock.Close()
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			server := &weft.ServerConfig{Doors: []weft.Door{Door(nil)}, Logger: slog.New(slog.DiscardHandler)}
			client := &weft.ClientConfig{Wires: []weft.Wire{Wire(nil)}, MaxConns: 1, Logger: slog.New(slog.DiscardHandler)}
			if secure {
				server.TLS, client.TLS = certificates, &tls.Config{RootCAs: trust, ServerName: "example.com"}
			}
			srv := weft.NewServer(server)
			if err := weft.Handle(srv, "Test.Pause", func(ctx context.Context, p *Pause) (*Pause, error) {
				if p.Number < 0 {
					<-ctx.Done()
					return nil, ctx.Err() // the server's deadline may be the first to end
				}
				return p, nil
			}); err != nil {
				t.Fatal(err)
			}
			l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var served sync.WaitGroup
			served.Go(func() { _ = srv.Serve(l) })
			defer served.Wait()
			defer srv.Close()
			c, err := weft.Dial(t.Context(), "grpc://"+l.Addr().String(), client)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			call := func(number int64) {
				t.Helper()
				if p, err := weft.Invoke[Pause](t.Context(), c, "Test.Pause", &Pause{Number: number}); err != nil || p.Number != number {
					t.Fatalf("call %d: %v, %v", number, p, err)
				}
			}
			for n := range int64(30) {
				call(n)
				if n%10 != 9 {
					continue
				}
				ctx, cancel := context.WithCancel(t.Context())
				want, limit := weft.Canceled, 50*time.Millisecond
				if n == 9 {
					want = weft.DeadlineExceeded
					ctx, cancel = context.WithTimeout(t.Context(), limit)
				} else {
					time.AfterFunc(limit, cancel)
				}
				began := time.Now()
				if err := c.Call(ctx, "Test.Pause", &Pause{Number: -1}, nil); weft.CodeOf(err) != want {
					t.Errorf("a call that ends early: %v, want %v", err, want)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("it took %v, want %v", took, limit)
				}
				cancel()
			}
			var all sync.WaitGroup
			for caller := range int64(3) {
				all.Go(func() {
					for n := range int64(300) {
						ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
						if n%10 == caller {
							cancel()
							ctx, cancel = context.WithTimeout(t.Context(), time.Duration(n)*time.Microsecond)
						}
						p, err := weft.Invoke[Pause](ctx, c, "Test.Pause", &Pause{Number: n})
						if cancel(); err == nil && p.Number != n || err != nil && n%10 != caller {
							t.Errorf("call %d of %d: %v, %v", n, caller, p, err)
						}
						if n%50 < 10 {
							time.Sleep(time.Duration(n) * 50 * time.Microsecond) // the others are alone meanwhile
						}
					}
				})
			}
			all.Wait()
			call(1)
			if n := srv.Stats().Accepted; n != 1 {
				t.Errorf("the client has made %d connections, want 1", n)
			}
		})
	}
}
