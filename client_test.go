package weft_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/transport/mem"
)

func TestDialErrors(t *testing.T) {
	closed := unusedAddress(t)
	for _, tt := range []struct {
		name, addr string
		cfg        weft.ClientConfig
		code       weft.Code
		want       []string
	}{
		{"unknown scheme", "carrier-pigeon://x", weft.ClientConfig{}, weft.InvalidArgument, []string{`scheme "carrier-pigeon"`, "tcp, unix"}},
		{"no port", "tcp://127.0.0.1", weft.ClientConfig{}, weft.InvalidArgument, []string{"127.0.0.1", "write host:port"}},
		{"a port too high", "tcp://127.0.0.1:70000", weft.ClientConfig{Lazy: true}, weft.InvalidArgument, []string{"tcp://127.0.0.1:70000", `"70000" is neither a number up to 65535`, "write host:port"}},
		{"a port that is none", "127.0.0.1:port!", weft.ClientConfig{}, weft.InvalidArgument, []string{`"port!" is neither a number`, "write host:port"}},
		{"no server there", "tcp://" + closed, weft.ClientConfig{}, weft.Unavailable, []string{closed, "refused"}},
		{"no socket", "unix:///nonexistent/socket", weft.ClientConfig{}, weft.Unavailable, []string{"/nonexistent/socket"}},
		{"MaxConns", "tcp://" + closed, weft.ClientConfig{Lazy: true, MaxConns: 65}, weft.InvalidArgument, []string{"MaxConns is 65"}},
		{"Backoff", "tcp://" + closed, weft.ClientConfig{Lazy: true, Backoff: -1}, weft.InvalidArgument, []string{"ClientConfig.Backoff is -1ns, want 0"}},
		{"MaxBackoff", "tcp://" + closed, weft.ClientConfig{Lazy: true, MaxBackoff: -1}, weft.InvalidArgument, []string{"ClientConfig.MaxBackoff is -1ns, want 0"}},
		{"a limit below zero", "tcp://" + closed, weft.ClientConfig{Lazy: true, Limits: weft.Limits{MaxMessage: -1}}, weft.InvalidArgument, []string{"MaxMessage is -1"}},
		{"a limit too high", "tcp://" + closed, weft.ClientConfig{Lazy: true, Limits: weft.Limits{MaxCalls: 1 << 17}}, weft.InvalidArgument, []string{"MaxCalls is 131072"}},
		{"a time below zero", "tcp://" + closed, weft.ClientConfig{Lazy: true, Limits: weft.Limits{HandshakeTimeout: -1}}, weft.InvalidArgument, []string{"HandshakeTimeout is -1ns"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			began := time.Now()
			_, err := weft.Dial(t.Context(), tt.addr, &tt.cfg)
			e, ok := errors.AsType[*weft.Error](err)
			if !ok || e.Code != tt.code {
				t.Fatalf("%T: %v", err, err)
			}
			wantText(t, err.Error(), tt.want...)
			if d := time.Since(began); d > 3*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
	_, err := weft.Dial(t.Context(), "tcp://"+closed, nil)
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("errors.Is does not find the system's error in %v", err)
	}
}

// unusedAddress is an address of TCP without a listener.
func unusedAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

// A server of another protocol is recognized, and said to be one.
func TestDialWrongProtocol(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	for _, tt := range []struct {
		name, addr string
		want       string
		outcome    weft.Outcome
		timeout    time.Duration
	}{
		{"HTTP", web.Listener.Addr().String(), "does not speak weft: it began with \"HTTP/1.", weft.NotSent, time.Minute},
		{"SSH", accepting(t, func(c net.Conn) { io.WriteString(c, "SSH-2.0-x\r\n"); io.Copy(io.Discard, c) }), `began with "SSH-2.0`, weft.NotSent, time.Minute},
		{"one that hangs up", accepting(t, func(net.Conn) {}), "", weft.OutcomeUnknown, time.Minute},
		{"one that says nothing", accepting(t, func(c net.Conn) { io.Copy(io.Discard, c) }), "no answer within 300ms", weft.OutcomeUnknown, 300 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := firstCall(t, "tcp://"+tt.addr, &weft.ClientConfig{Limits: weft.Limits{HandshakeTimeout: tt.timeout}})
			wantError(t, err, weft.Unavailable, tt.outcome, tt.want, "handshake")
		})
	}
	// An echo says of itself what a client says: that it serves nothing.
	c := dial(t, "tcp://"+accepting(t, func(c net.Conn) { io.Copy(c, c) }), nil)
	wantError(t, c.Call(t.Context(), "Arith.Mul", &Args{}, nil), weft.Unimplemented, weft.NotSent)
}

// accepting is the address of a server that has f do something with every connection.
func accepting(t *testing.T, f func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				f(c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

// Dial gives up when its context ends, whatever it waits for; a lazy one does not
// wait. The client lives on when the context of its Dial has ended.
func TestDialContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil, nil)
		silent, err := w.net.Listen(t.Context(), "silent")
		must(t, err)
		defer silent.Close()

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		eager, err := weft.Dial(ctx, "mem://silent", &weft.ClientConfig{Transports: transports(w.net)})
		must(t, err)
		err = eager.Call(ctx, "Arith.Mul", &Args{}, nil)
		wantError(t, err, weft.DeadlineExceeded, weft.OutcomeUnknown)
		if d := time.Since(began); d != time.Second {
			t.Errorf("took %v", d)
		}
		must(t, eager.Close())
		lazy, err := weft.Dial(ctx, "mem://silent", &weft.ClientConfig{Transports: transports(w.net), Lazy: true})
		must(t, err)
		if lazy.Peer() != nil {
			t.Error("a lazy client has a connection")
		}
		began = time.Now()
		err = lazy.Call(t.Context(), "Arith.Mul", &Args{}, nil, weft.WithTimeout(2*time.Second))
		wantError(t, err, weft.DeadlineExceeded, weft.NotSent, "no connection to mem://silent in time")
		if d := time.Since(began); d != 2*time.Second {
			t.Errorf("the call took %v", d)
		}
		must(t, lazy.Close())

		brief, cancelBrief := context.WithCancel(t.Context())
		c, err := weft.Dial(brief, address, &weft.ClientConfig{Transports: transports(w.net)})
		must(t, err)
		defer c.Close()
		cancelBrief()
		synctest.Wait()
		multiply(t, c)
	})
}

// Calls wait for a server that is away; with NoWaitForReady they do not.
func TestReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil, nil)
		patient, hasty := w.dial(nil), w.dial(&weft.ClientConfig{NoWaitForReady: true})
		time.Sleep(time.Second)
		w.srv.Close()
		synctest.Wait()

		began := time.Now()
		err := hasty.Call(t.Context(), "Arith.Mul", &Args{}, nil)
		wantError(t, err, weft.Unavailable, weft.NotSent, "refused")
		_, err = weft.OpenStream[Args, Product](t.Context(), hasty, "Arith.Mul")
		wantError(t, err, weft.Unavailable, weft.NotSent, "refused")
		if d := time.Since(began); d != 0 {
			t.Errorf("failed fast after %v", d)
		}
		call := patient.Go(t.Context(), "Arith.Mul", &Args{7, 8}, new(Product), nil)
		time.Sleep(5 * time.Second)
		w.restart(nil, nil)
		began = time.Now()
		if call = <-call.Done; call.Error != nil || call.Reply.(*Product).C != 56 {
			t.Error(call.Error)
		}
		if d := time.Since(began); d > 1200*time.Millisecond {
			t.Errorf("the server was found %v after it came back", d)
		}
		time.Sleep(2 * weft.DefaultMaxBackoff)
		multiply(t, hasty)
	})
}

// A client tries rarely while no call waits, and soon when one does.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil, nil)
		c := w.dial(&weft.ClientConfig{MaxBackoff: 20 * time.Second})
		w.srv.Close()
		var mu sync.Mutex
		var tries []time.Time
		refusing, err := w.net.Listen(t.Context(), "server")
		must(t, err)
		w.net.Intercept(func(string, *mem.Conn, *mem.Conn) error {
			mu.Lock()
			defer mu.Unlock()
			tries = append(tries, time.Now())
			return syscall.ECONNREFUSED
		})
		began := time.Now()
		time.Sleep(10 * time.Minute)
		mu.Lock()
		n, last := len(tries), tries[len(tries)-1].Sub(tries[len(tries)-2])
		first := tries[1].Sub(began)
		tries = nil
		mu.Unlock()
		if n < 30 || n > 60 || last < 16*time.Second || last > 24*time.Second || first > 400*time.Millisecond {
			t.Errorf("%d attempts in ten minutes, the second after %v, the last two %v apart", n, first, last)
		}
		err = c.Call(t.Context(), "Arith.Mul", &Args{}, nil)
		wantError(t, err, weft.DeadlineExceeded, weft.NotSent, "refused")
		mu.Lock()
		n = len(tries)
		mu.Unlock()
		if n < 8 || n > 12 {
			t.Errorf("%d attempts in ten seconds of waiting", n)
		}
		refusing.Close()
	})
}

// A call that is made again on another connection ends with the timeout that it began with, however it was made.
func TestAgainWithinTheTimeout(t *testing.T) {
	for name, call := range map[string]func(context.Context, *weft.Client) error{
		"Call": func(ctx context.Context, c *weft.Client) error { return c.Call(ctx, "Arith.Mul", &Args{7, 8}, nil) },
		"Go": func(ctx context.Context, c *weft.Client) error {
			return (<-c.Go(ctx, "Arith.Mul", &Args{7, 8}, new(Product), nil).Done).Error
		},
		"Reuse": func(ctx context.Context, c *weft.Client) error {
			var replies weft.Reuse[Product]
			_, err := replies.Invoke(ctx, c, "Arith.Mul", &Args{7, 8})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const refusedAfter, timeout = 900 * time.Millisecond, time.Second
				w := start(t, &weft.ServerConfig{AuthenticateConn: func(ctx context.Context, _ weft.Credential, _ *weft.Peer) (any, error) {
					select {
					case <-time.After(refusedAfter):
					case <-ctx.Done():
					}
					return nil, weft.Errorf(weft.Unavailable, "not ready")
				}}, nil)
				c, err := weft.Dial(t.Context(), address, &weft.ClientConfig{Transports: transports(w.net), Timeout: timeout, MaxBackoff: time.Minute})
				must(t, err)
				defer c.Close()
				began := time.Now()
				wantError(t, call(t.Context(), c), weft.DeadlineExceeded, weft.NotSent, "no connection")
				if took := time.Since(began); took < refusedAfter || took > timeout+refusedAfter/2 {
					t.Errorf("the call ended after %v, its timeout is %v", took, timeout)
				}
			})
		})
	}
}

// A server that lets a client in only to hang up is not asked without end.
func TestHangingUpServerIsNotHammered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened atomic.Int32
		w := start(t, &weft.ServerConfig{Hooks: []any{hangUp{&opened}}}, nil)
		c := w.dial(nil)
		time.Sleep(time.Minute)
		if n := opened.Load(); n < 2 || n > 800 {
			t.Errorf("%d connections in a minute", n)
		}
		must(t, c.Close())
	})
}

type hangUp struct{ opened *atomic.Int32 }

func (h hangUp) ConnOpened(p *weft.Peer) {
	h.opened.Add(1)
	p.Close()
}

// Dial succeeds when there was a connection, however soon its server hangs up.
func TestDialToServerThatHangsUp(t *testing.T) {
	srv := weft.NewServer(&weft.ServerConfig{Hooks: []any{hangUp{new(atomic.Int32)}}})
	addr := serve(t, srv, "tcp://127.0.0.1:0")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // the end is seen before Dial is woken
	for range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		from := time.Now()
		c, err := weft.Dial(ctx, addr, &weft.ClientConfig{Backoff: time.Minute})
		cancel()
		if err != nil {
			t.Fatalf("after %v: %v", time.Since(from), err)
		}
		must(t, c.Close())
	}
}

// A hook that ends its goroutine does not keep a server, or a client, from closing.
func TestHookEndsGoroutine(t *testing.T) {
	srv := weft.NewServer(&weft.ServerConfig{Hooks: []any{exit{}}})
	addr := serve(t, srv, "tcp://127.0.0.1:0")
	for _, hooks := range [][]any{nil, {exit{}}} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		c, err := weft.Dial(ctx, addr, &weft.ClientConfig{Hooks: hooks, Lazy: true})
		must(t, err)
		c.Call(ctx, "Arith.Mul", &Args{}, nil) // it ends with its context, or with the connection
		cancel()
		must(t, c.Close())
	}
	must(t, srv.Close())
}

type exit struct{}

func (exit) ConnOpened(p *weft.Peer) {
	p.Close()
	runtime.Goexit()
}

// A busy client uses more connections, up to MaxConns, an idle one a single one.
func TestMaxConnsOfClient(t *testing.T) {
	for maxConns, want := range map[int]int{0: 2, 1: 1, 4: 4} {
		synctest.Test(t, func(t *testing.T) {
			var l ledger
			w := start(t, nil, func(s *weft.Server) error { return s.RegisterName("Ledger", &l) })
			c := w.dial(&weft.ClientConfig{MaxConns: maxConns})
			done := make(chan *weft.Call, 1200)
			for i := range 1200 {
				c.Go(t.Context(), "Ledger.Book", &Args{A: 100 + i%100}, nil, done)
				if i == 50 {
					synctest.Wait()
					if n := len(w.srv.Peers()); n != 1 {
						t.Errorf("MaxConns %d: %d connections with 50 calls open", maxConns, n)
					}
				}
				if i%100 == 0 {
					synctest.Wait() // for a further connection, if there is to be one
				}
			}
			if n := len(w.srv.Peers()); n != want {
				t.Errorf("MaxConns %d: %d connections with 1200 calls open, want %d", maxConns, n, want)
			}
			for range 1200 {
				must(t, (<-done).Error)
			}
		})
	}
}

func TestClientClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		w := start(t, nil, p.register)
		c := w.dial(nil)
		var calls []*weft.Call
		for range 10 {
			calls = append(calls, c.Go(t.Context(), "Probe.Hang", &Args{}, nil, nil))
		}
		time.Sleep(time.Second) // all handlers run
		var wg sync.WaitGroup
		for range 3 { // at once, and again
			wg.Go(func() { must(t, c.Close()) })
		}
		wg.Wait()
		for _, call := range calls {
			wantError(t, (<-call.Done).Error, weft.Canceled, weft.OutcomeUnknown)
			<-p.ended
		}
		wantError(t, c.Call(t.Context(), "Probe.Left", &Args{}, nil), weft.Canceled, weft.NotSent, "the client is closed")
		wantError(t, c.Notify(t.Context(), "Probe.Left", &Args{}), weft.Canceled, weft.NotSent)
		call := <-c.Go(t.Context(), "Probe.Left", &Args{}, nil, nil).Done
		wantError(t, call.Error, weft.Canceled, weft.NotSent)
		_, err := weft.OpenStream[Args, Product](t.Context(), c, "Probe.HangStream")
		wantError(t, err, weft.Canceled, weft.NotSent)
		must(t, c.Shutdown(t.Context()))
		if c.Peer() != nil {
			t.Error("a closed client has a peer")
		}
	})
}

// A client's shutdown waits for its calls, in both directions, and takes no new ones.
func TestClientShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		services := weft.NewServices()
		must(t, services.RegisterName("Back", &l))
		w := start(t, nil, func(s *weft.Server) error { return s.RegisterName("Ledger", &l) })
		c := w.dial(&weft.ClientConfig{Services: services})
		var calls []*weft.Call
		for i := range 10 {
			calls = append(calls, c.Go(t.Context(), "Ledger.Book", &Args{2000, i}, new(Product), nil))
		}
		back := make(chan error, 1)
		peer := onlyPeer(t, w)
		go func() { back <- peer.Call(t.Context(), "Back.Book", &Args{3000, 1}, nil) }() // this goroutine ends with the call
		synctest.Wait()
		began := time.Now()
		done := make(chan error, 1)
		go func() { done <- c.Shutdown(t.Context()) }() // this goroutine ends with the shutdown
		time.Sleep(time.Second)
		wantError(t, c.Call(t.Context(), "Ledger.Book", &Args{}, nil), weft.Canceled, weft.NotSent, "closed")
		must(t, <-done)
		if d := time.Since(began); d < 3*time.Second || d > 4*time.Second {
			t.Errorf("took %v", d)
		}
		for i, call := range calls {
			if <-call.Done; call.Error != nil || call.Reply.(*Product).C != i {
				t.Error(call.Error)
			}
		}
		must(t, <-back)
	})
}

// It also waits for calls on a connection whose server shuts down at the same time.
func TestClientShutdownDuringServerDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		w := start(t, nil, func(s *weft.Server) error { return s.RegisterName("Ledger", &l) })
		c := w.dial(nil)
		call := c.Go(t.Context(), "Ledger.Book", &Args{2000, 1}, new(Product), nil)
		synctest.Wait()
		old := w.srv
		drained := make(chan error, 1)
		go func() { drained <- old.Shutdown(context.Background()) }() // this goroutine ends with the drain
		time.Sleep(500 * time.Millisecond)
		w.restart(nil, nil)
		multiply(t, c) // on a new connection
		must(t, c.Shutdown(t.Context()))
		if <-call.Done; call.Error != nil {
			t.Error(call.Error)
		}
		must(t, <-drained)
	})
}

func TestClientShutdownOutOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		c := start(t, nil, p.register).dial(nil)
		call := c.Go(t.Context(), "Probe.Hang", &Args{}, nil, nil, weft.WithTimeout(time.Hour))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		wantError(t, c.Shutdown(ctx), weft.DeadlineExceeded, weft.OutcomeUnknown, "still open")
		if d := time.Since(began); d < time.Second || d > 3*time.Second {
			t.Errorf("took %v", d)
		}
		if <-call.Done; call.Error == nil {
			t.Error("the call went well")
		}
		<-p.ended
	})
}

// A shutdown without any time has the error of its context.
func TestClientShutdownCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		c := start(t, nil, p.register).dial(nil)
		call := c.Go(t.Context(), "Probe.Hang", &Args{}, nil, nil)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := c.Shutdown(ctx)
		wantError(t, err, weft.Canceled, weft.OutcomeUnknown, "still open: context canceled")
		if errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		<-call.Done
		<-p.ended
	})
}

// A dead connection is noticed by pings: soon with a call open, later without.
func TestPings(t *testing.T) {
	for _, open := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p := newProbe()
			w := start(t, nil, p.register)
			c := w.dial(nil)
			peer := c.Peer()
			var call *weft.Call
			limit := weft.DefaultPingIdle
			if open {
				call = c.Go(t.Context(), "Probe.Hang", &Args{}, nil, nil, weft.WithTimeout(time.Hour))
				limit = weft.DefaultPingInterval
			}
			time.Sleep(time.Second)
			began := time.Now()
			w.last.Load().In().Stall()
			<-peer.Done()
			if d := time.Since(began); d < limit/2 || d > limit+2*weft.DefaultPingTimeout+5*time.Second {
				t.Errorf("open call %v: noticed after %v", open, d)
			}
			if open {
				<-call.Done
				wantError(t, call.Error, weft.Unavailable, weft.OutcomeUnknown, "ping")
			}
		})
	}
	// And a connection that is alive stays.
	synctest.Test(t, func(t *testing.T) {
		c := start(t, nil, nil).dial(nil)
		peer := c.Peer()
		time.Sleep(time.Hour)
		multiply(t, c)
		if c.Peer() != peer {
			t.Error("the connection was made anew")
		}
	})
}

func TestAddressWithoutScheme(t *testing.T) {
	_, err := weft.Dial(t.Context(), "127.0.0.1:1", nil)
	if e, ok := errors.AsType[*weft.Error](err); !ok || !slices.Contains([]string{"127.0.0.1:1", "tcp://127.0.0.1:1"}, e.Peer) {
		t.Errorf("%+v", err)
	}
	if !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Error(err)
	}
}

// An address without a port is refused with words that say so, before anything is dialed.
func TestAddressWithoutPort(t *testing.T) {
	for _, address := range []string{"localhost", "tcp://localhost", "tcp://[::1]", "10.0.0.1", "::1"} {
		_, err := weft.Dial(t.Context(), address, nil)
		wantError(t, err, weft.InvalidArgument, 0, strconv.Quote(address), "write host:port")
		_, err = weft.NewServer(nil).Listen(t.Context(), address)
		wantError(t, err, weft.InvalidArgument, 0, strconv.Quote(address), "write host:port")
	}
}

// A nil context is a mistake of the caller, and panics on its goroutine, where it can be recovered from.
func TestShutdownWithoutContext(t *testing.T) {
	c := start(t, nil, nil).dial(nil)
	defer func() {
		if recover() == nil {
			t.Error("Shutdown with a nil context did not panic")
		}
		must(t, c.Shutdown(t.Context()))
	}()
	//lint:ignore SA1012 that is what is tested
	c.Shutdown(nil)
}
