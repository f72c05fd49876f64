package netrpc_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/rpc"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/door/netrpc"
	"github.com/weftrpc/weft/door/wiretest"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry/static"
)

// Pair is the request of Times.
type Pair struct{ A, B int }

// Times is a service in the shape of net/rpc.
type Times struct{}

// Mul multiplies.
func (Times) Mul(p *Pair, product *int) error {
	*product = p.A * p.B
	return nil
}

// serve starts a weft server with the door on an address.
func serve(t *testing.T, address string) (*weft.Server, string) {
	t.Helper()
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{netrpc.Door()}, Logger: slog.New(slog.DiscardHandler)})
	must(t, srv.Register(Times{}))
	var l net.Listener
	polltest.Until(t, 20*time.Second, "the address is free", func() (err error) {
		l, err = srv.Listen(context.Background(), "tcp://"+address)
		return err
	})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	t.Cleanup(func() {
		srv.Close()
		<-served
	})
	return srv, l.Addr().String()
}

// TestDialHTTP has clients of the standard library call through HTTP.
func TestDialHTTP(t *testing.T) {
	_, addr := serve(t, "127.0.0.1:0")
	dial := func(path string) func() (*rpc.Client, error) {
		return func() (*rpc.Client, error) { return rpc.DialHTTPPath("tcp", addr, path) }
	}
	for i, d := range []func() (*rpc.Client, error){
		func() (*rpc.Client, error) { return rpc.DialHTTP("tcp", addr) }, dial("/own"),
		func() (*rpc.Client, error) { return rpc.Dial("tcp", addr) },
	} {
		c, err := d()
		must(t, err)
		for n := range 10 {
			var product int
			if err := c.Call("Times.Mul", &Pair{n, 7}, &product); err != nil || product != 7*n {
				t.Errorf("client %d: %d, %v", i, product, err)
			}
		}
		c.Close()
	}
}

// TestConnectGarbage sends requests that are no CONNECT of net/rpc, in one piece and in bytes.
func TestConnectGarbage(t *testing.T) {
	_, addr := serve(t, "127.0.0.1:0")
	long := "CONNECT /" + string(make([]byte, 8<<10))
	for _, text := range []string{"CONNECT ", "CONNECT /x", "CONNECT /x HTTP/1.0\n", "CONNECT host:1 HTTP/1.1\r\n\r\n", long, "CONNECT /_goRPC_ HTTP/1.0\n\nnot gob at all"} {
		for _, piece := range []int{1, len(text)} {
			conn, err := net.Dial("tcp", addr)
			must(t, err)
			must(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
			for b := []byte(text); len(b) > 0 && err == nil; b = b[min(piece, len(b)):] {
				_, err = conn.Write(b[:min(piece, len(b))])
			}
			_ = conn.(*net.TCPConn).CloseWrite()
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%.20q: the connection stays open", text)
			}
			conn.Close()
		}
	}
	c, err := rpc.DialHTTP("tcp", addr)
	must(t, err)
	defer c.Close()
	must(t, c.Call("Times.Mul", &Pair{1, 2}, new(int)))
}

// TestWireHTTP calls servers of the standard library through HTTP.
func TestWireHTTP(t *testing.T) {
	wiretest.Run(t, wiretest.Kit{Wire: func() weft.Wire { return netrpc.WireHTTP("") }, NoCredential: true, Serve: func(conn net.Conn, h *wiretest.Handlers) {
		srv := rpc.NewServer()
		if err := srv.RegisterName("Test", plain{h}); err != nil {
			t.Error(err)
		}
		hs := &http.Server{Handler: srv, ReadHeaderTimeout: time.Minute}
		wiretest.ServeOne(conn, hs.Serve)
	}})
}

func TestWireHTTPRefused(t *testing.T) {
	srv := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) })
	defer wg.Wait()
	defer srv.Close()
	for path, want := range map[string]weft.Code{"": weft.Unavailable, "no slash": weft.InvalidArgument} {
		_, err := weft.Dial(t.Context(), "netrpc+http://"+l.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{netrpc.WireHTTP(path)}, Logger: slog.New(slog.DiscardHandler)})
		if weft.CodeOf(err) != want {
			t.Errorf("%q: %v, want %v", path, err, want)
		}
	}
}

// old is a server of the standard library on an address.
func old(t *testing.T, address string) (stop func(), addr string) {
	t.Helper()
	srv := rpc.NewServer()
	must(t, srv.Register(Times{}))
	l, err := net.Listen("tcp", address)
	must(t, err)
	var mu sync.Mutex
	var conns []net.Conn
	hs := &http.Server{Handler: srv, ReadHeaderTimeout: time.Minute, ConnState: func(c net.Conn, s http.ConnState) {
		if s == http.StateNew {
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
		}
	}}
	var wg sync.WaitGroup
	wg.Go(func() { _ = hs.Serve(l) })
	return sync.OnceFunc(func() {
		hs.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range conns { // those that net/rpc has taken over
			c.Close()
		}
		wg.Wait()
	}), l.Addr().String()
}

// TestRollingMigration replaces two servers of the standard library by weft servers, one after the
// other, while old and new clients call both: in every phase both kinds go on.
func TestRollingMigration(t *testing.T) {
	stopA, a := old(t, "127.0.0.1:0")
	stopB, b := old(t, "127.0.0.1:0")
	defer stopA()
	defer stopB()

	var oldCalls, newCalls atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { // a client of the standard library, which dials again when it has lost its server
			for n := i; !stop.Load(); n++ {
				c, err := rpc.DialHTTP("tcp", []string{a, b}[n%2])
				if err != nil {
					continue // that server is being replaced
				}
				for calls := 0; calls < 50 && err == nil && !stop.Load(); calls++ {
					var product int
					if err = c.Call("Times.Mul", &Pair{n, 2}, &product); err == nil && product != 2*n {
						t.Errorf("%d times 2 is %d", n, product)
					} else if refused := rpc.ServerError(""); errors.As(err, &refused) && strings.HasPrefix(string(refused), "rpc: can't find") {
						t.Errorf("an old client: %v", err)
					}
					if err == nil {
						oldCalls.Add(1)
					}
				}
				c.Close()
			}
		})
	}
	reg, err := static.New("netrpc+http://"+a, "netrpc+http://"+b)
	must(t, err)
	defer reg.Close()
	quiet := slog.New(slog.DiscardHandler)
	c, err := cluster.New(&cluster.Config{Registry: reg, Logger: quiet, Client: &weft.ClientConfig{
		Wires: []weft.Wire{netrpc.WireHTTP("")}, Logger: quiet, Backoff: 5 * time.Millisecond, MaxBackoff: 50 * time.Millisecond}})
	must(t, err)
	for range 4 {
		wg.Go(func() {
			for n := 0; !stop.Load(); n++ {
				product, err := weft.Invoke[int](context.Background(), c, "Times.Mul", &Pair{n, 2})
				switch {
				case err == nil && *product != 2*n:
					t.Errorf("%d times 2 is %d", n, *product)
				case err == nil:
					newCalls.Add(1)
				case weft.CodeOf(err) != weft.Unavailable && weft.CodeOf(err) != weft.DeadlineExceeded:
					t.Errorf("a new client: %v", err) // a call that an old server had cut off is not made again
				}
			}
		})
	}
	phase := func(name string) {
		t.Helper()
		o, n := oldCalls.Load(), newCalls.Load()
		polltest.True(t, time.Minute, "both kinds of clients go on: "+name, func() bool { return oldCalls.Load() > o+100 && newCalls.Load() > n+100 })
	}
	phase("old servers")
	stopA()
	srvA, _ := serve(t, a)
	phase("one server is new")
	stopB()
	srvB, _ := serve(t, b)
	phase("both servers are new")
	for _, s := range []*weft.Server{srvA, srvB} {
		polltest.True(t, time.Minute, "each new server gets calls", func() bool { m := s.Stats().Methods; return len(m) == 1 && m[0].Calls > 0 })
	}
	stop.Store(true)
	wg.Wait()
	c.Close()
}

// TestSchemes: the whole scheme of a wire goes before a wire and its transport.
func TestSchemes(t *testing.T) {
	_, addr := serve(t, "127.0.0.1:0")
	for _, scheme := range []string{"netrpc", "netrpc+tcp", "netrpc+http"} {
		c, err := weft.Dial(t.Context(), scheme+"://"+addr, &weft.ClientConfig{Wires: []weft.Wire{netrpc.Wire(), netrpc.WireHTTP("")}})
		must(t, err)
		if product, err := weft.Invoke[int](t.Context(), c, "Times.Mul", &Pair{6, 7}); err != nil || *product != 42 {
			t.Errorf("%s: %v", scheme, err)
		}
		if got, want := c.Peer().Wire(), scheme[:min(len(scheme), 11)]; got != want && !(scheme == "netrpc+tcp" && got == "netrpc") {
			t.Errorf("%s: the wire is %s", scheme, got)
		}
		c.Close()
	}
}
