package weft_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/mem"
)

func TestMain(m *testing.M) {
	// Tests of what is logged by default set it themselves.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	leak.Main(m)
}

// Args and Product are the messages of most tests, Arith their service.
type (
	Args    struct{ A, B int }
	Product struct{ C int }
	Arith   struct{}
)

func (Arith) Mul(_ context.Context, a *Args) (*Product, error) { return &Product{a.A * a.B}, nil }

func (Arith) Div(_ context.Context, a *Args, p *Product) error {
	if a.B == 0 {
		return weft.Errorf(weft.InvalidArgument, "division by zero").WithReason("ZERO")
	}
	p.C = a.A / a.B
	return nil
}

// world is a network in memory with one server on it.
type world struct {
	t    testing.TB
	net  *mem.Network
	srv  *weft.Server
	last atomic.Pointer[mem.Conn] // the client's end of the connection made last
}

// address is where the server of a world listens.
const address = "mem://server"

// start starts a server with what setup registers; nil registers Arith. It ends
// with the test, or the bubble.
func start(t testing.TB, cfg *weft.ServerConfig, setup func(*weft.Server) error) *world {
	t.Helper()
	w := &world{t: t, net: mem.New()}
	w.net.Intercept(func(_ string, client, _ *mem.Conn) error {
		w.last.Store(client)
		return nil
	})
	w.restart(cfg, setup)
	return w
}

// restart puts a new server on the address, which must be free.
func (w *world) restart(cfg *weft.ServerConfig, setup func(*weft.Server) error) {
	w.t.Helper()
	var c weft.ServerConfig
	if cfg != nil {
		c = *cfg
	}
	if c.Transports == nil {
		c.Transports = transports(w.net)
	}
	if setup == nil {
		setup = func(s *weft.Server) error { return s.Register(Arith{}) }
	}
	srv := weft.NewServer(&c)
	must(w.t, setup(srv))
	w.srv = srv
	serve(w.t, srv, address)
}

// serve has a server listen on an address of one of its transports and serve
// until the test ends. It returns the address to dial.
func serve(t testing.TB, srv *weft.Server, addr string) string {
	t.Helper()
	l, err := srv.Listen(t.Context(), addr)
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }() // this goroutine ends when the cleanup closes the server
	t.Cleanup(func() {
		srv.Close()
		if err := <-ended; !errors.Is(err, weft.ErrServerClosed) {
			t.Errorf("Serve: %v, want ErrServerClosed", err)
		}
	})
	scheme, _, _ := strings.Cut(addr, "://")
	return scheme + "://" + l.Addr().String()
}

// dial makes a client of the server, closed when the test ends.
func (w *world) dial(cfg *weft.ClientConfig) *weft.Client {
	w.t.Helper()
	var c weft.ClientConfig
	if cfg != nil {
		c = *cfg
	}
	if c.Transports == nil {
		c.Transports = transports(w.net)
	}
	return dial(w.t, address, &c)
}

func dial(t testing.TB, addr string, cfg *weft.ClientConfig) *weft.Client {
	t.Helper()
	c, err := weft.Dial(t.Context(), addr, cfg)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	// Until the server has said its hello, if the connection lives so long.
	for p := c.Peer(); p != nil && p.Software() == ""; p = c.Peer() {
		time.Sleep(100 * time.Microsecond)
	}
	return c
}

// firstCall dials and makes one call.
func firstCall(t testing.TB, addr string, cfg *weft.ClientConfig) error {
	t.Helper()
	c, err := weft.Dial(t.Context(), addr, cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Call(t.Context(), "Arith.Mul", &Args{7, 8}, nil)
}

// multiply makes the one call that always works, and checks it.
func multiply(t testing.TB, c weft.Caller, opts ...weft.CallOption) {
	t.Helper()
	p, err := weft.Invoke[Product](t.Context(), c, "Arith.Mul", &Args{7, 8}, opts...)
	must(t, err)
	if p.C != 56 {
		t.Fatalf("7 × 8 = %d", p.C)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError checks what kind of error err is, and that its text has parts.
func wantError(t testing.TB, err error, code weft.Code, outcome weft.Outcome, parts ...string) *weft.Error {
	t.Helper()
	e, ok := errors.AsType[*weft.Error](err)
	if !ok {
		t.Fatalf("error %v of type %T, want an *Error with code %v", err, err, code)
	}
	if e.Code != code || e.Outcome != outcome {
		t.Errorf("code %v, outcome %v, want %v and %v: %v", e.Code, e.Outcome, code, outcome, err)
	}
	wantText(t, err.Error(), parts...)
	return e
}

func wantText(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q lacks %q", text, part)
		}
	}
}

func transports(all ...transport.Transport) []transport.Transport { return all }
