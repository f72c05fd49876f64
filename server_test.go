package weft_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/transport/mem"
	"github.com/weftrpc/weft/transport/tcp"
	"github.com/weftrpc/weft/transport/unix"
)

// ListenAndServe serves all its addresses until its context ends, and returns after
// a full drain.
func TestListenAndServe(t *testing.T) {
	all := transports(mem.New(), tcp.New(nil), unix.New(nil))
	addresses := []string{"mem://server", "tcp://127.0.0.1:0", "unix://" + filepath.Join(t.TempDir(), "socket")}
	var l ledger
	var heard diary
	srv := weft.NewServer(&weft.ServerConfig{Transports: all, Hooks: []any{listening{&heard}}})
	must(t, errors.Join(srv.Register(Arith{}), srv.RegisterName("Ledger", &l)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- srv.ListenAndServe(ctx, addresses...) }() // this goroutine ends when ctx does

	var listens []string
	polltest.True(t, time.Minute, "the server listens everywhere", func() bool {
		listens = append(listens, heard.take()...)
		return len(listens) >= len(addresses)
	})
	if listens[0] != addresses[0] || !strings.HasPrefix(listens[1], "tcp://127.0.0.1:") || listens[2] != addresses[2] {
		t.Fatalf("the server listens on %q, was told %q", listens, addresses)
	}
	addresses = listens
	var calls []*weft.Call
	for _, addr := range addresses {
		c := dial(t, addr, &weft.ClientConfig{Transports: all})
		multiply(t, c)
		for i := range 10 {
			calls = append(calls, c.Go(t.Context(), "Ledger.Book", &Args{200, i}, new(Product), nil))
		}
	}
	for l.running.Load()+l.booked.Load() < 30 { // all have begun
		time.Sleep(time.Millisecond)
	}
	heard.want(t)
	cancel()
	must(t, <-served)
	for _, call := range calls {
		if <-call.Done; call.Error != nil {
			t.Error(call.Error)
		}
	}
	for _, addr := range addresses {
		_, err := weft.Dial(t.Context(), addr, &weft.ClientConfig{Transports: all})
		if !errors.Is(err, weft.Unavailable) {
			t.Errorf("%s after the drain: %v", addr, err)
		}
	}
	if _, err := os.Stat(addresses[2][len("unix://"):]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

type listening struct{ d *diary }

func (l listening) Listening(a net.Addr) { l.d.add("%s://%s", a.Network(), a) }

func TestListenAndServeErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	free := filepath.Join(t.TempDir(), "socket")
	for _, tt := range []struct {
		name      string
		addresses []string
		code      weft.Code
		want      string
	}{
		{"none", nil, weft.InvalidArgument, "no address"},
		{"unknown scheme", []string{"x://y"}, weft.InvalidArgument, `scheme "x"`},
		{"taken", []string{"unix://" + free, "tcp://" + taken.Addr().String()}, weft.Unavailable, taken.Addr().String()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantError(t, weft.NewServer(nil).ListenAndServe(t.Context(), tt.addresses...), tt.code, weft.OutcomeUnknown, tt.want)
		})
	}
	l, err := net.Listen("unix", free) // which the failed attempt has given back
	must(t, err)
	l.Close()

	broken := &brokenListener{Listener: l}
	wantError(t, weft.NewServer(nil).Serve(broken), weft.Unavailable, weft.OutcomeUnknown, "accept on", "out of order")
}

type brokenListener struct{ net.Listener }

func (*brokenListener) Accept() (net.Conn, error) { return nil, errors.New("out of order") }

// A listener that fails for a moment, as when there are no file descriptors left, is
// given time.
func TestAcceptFailsForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := mem.New()
		l, err := network.Listen(t.Context(), "server")
		must(t, err)
		var logged log
		srv := weft.NewServer(&weft.ServerConfig{Logger: logged.logger()})
		must(t, srv.Register(Arith{}))
		served := make(chan error, 1)
		go func() { served <- srv.Serve(&flakyListener{Listener: l, fails: 5}) }() // this goroutine ends with the server
		c := dial(t, address, &weft.ClientConfig{Transports: transports(network)})
		multiply(t, c)
		wantText(t, logged.String(), "accept failed, trying again", "too many open files")
		srv.Close()
		if err := <-served; !errors.Is(err, weft.ErrServerClosed) {
			t.Error(err)
		}
		// Also while it waits.
		l, err = network.Listen(t.Context(), "server")
		must(t, err)
		srv = weft.NewServer(nil)
		go func() { served <- srv.Serve(&flakyListener{Listener: l, fails: 1 << 30}) }() // this goroutine ends with the server
		time.Sleep(10 * time.Second)
		srv.Close()
		if err := <-served; !errors.Is(err, weft.ErrServerClosed) {
			t.Error(err)
		}
	})
}

type flakyListener struct {
	net.Listener
	fails int
}

func (l *flakyListener) Accept() (net.Conn, error) {
	if l.fails > 0 {
		l.fails--
		return nil, tooManyFiles{}
	}
	return l.Listener.Accept()
}

type tooManyFiles struct{}

func (tooManyFiles) Error() string   { return "too many open files" }
func (tooManyFiles) Timeout() bool   { return false }
func (tooManyFiles) Temporary() bool { return true }

func TestServeWithoutListener(t *testing.T) {
	if err := weft.NewServer(nil).Serve(nil); weft.CodeOf(err) != weft.InvalidArgument {
		t.Errorf("Serve(nil): %v", err)
	}
}

func TestServeAfterShutdown(t *testing.T) {
	for name, end := range map[string]func(*weft.Server) error{
		"Shutdown": func(s *weft.Server) error { return s.Shutdown(t.Context()) },
		"Close":    (*weft.Server).Close,
	} {
		network := mem.New()
		srv := weft.NewServer(&weft.ServerConfig{Transports: transports(network)})
		must(t, end(srv))
		must(t, end(srv)) // again does no harm
		if _, err := srv.Listen(t.Context(), address); !errors.Is(err, weft.ErrServerClosed) {
			t.Errorf("%s: Listen: %v", name, err)
		}
		l, err := network.Listen(t.Context(), "server") // the address is free
		must(t, err)
		if err := srv.Serve(l); !errors.Is(err, weft.ErrServerClosed) {
			t.Errorf("%s: Serve: %v", name, err)
		}
		if _, err := l.Accept(); err == nil {
			t.Errorf("%s: the listener is open", name)
		}
		if err := srv.ListenAndServe(t.Context(), address); !errors.Is(err, weft.ErrServerClosed) {
			t.Errorf("%s: ListenAndServe: %v", name, err)
		}
	}
}

// Close ends what runs: contexts are cancelled, callers are told.
func TestServerClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		w := start(t, nil, p.register)
		c := w.dial(nil)
		call := c.Go(t.Context(), "Probe.Hang", &Args{}, nil, nil)
		synctest.Wait()
		must(t, w.srv.Close())
		if err := <-p.ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		wantError(t, (<-call.Done).Error, weft.Unavailable, weft.OutcomeUnknown)
		if n := len(w.srv.Peers()); n != 0 {
			t.Errorf("%d peers are left", n)
		}
	})
}

// Shutdown waits for calls and streams; when time is up it cancels them, and says
// to both sides that it did.
func TestShutdownOutOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		stuck := make(chan struct{})
		var logged log
		w := start(t, &weft.ServerConfig{Logger: logged.logger()}, func(s *weft.Server) error {
			return errors.Join(p.register(s), weft.Handle(s, "Probe.Deaf", func(context.Context, *Args) (*Product, error) {
				<-stuck
				return &Product{}, nil
			}))
		})
		c := w.dial(nil)
		calls := []*weft.Call{
			c.Go(t.Context(), "Probe.Hang", &Args{}, nil, nil, weft.WithTimeout(time.Hour)),
			c.Go(t.Context(), "Probe.Deaf", &Args{}, nil, nil, weft.WithTimeout(time.Hour)),
		}
		streamed := make(chan error, 1)
		go func() { streamed <- drainStream(t.Context(), c, "Probe.HangStream") }() // this goroutine ends with the stream
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		wantError(t, w.srv.Shutdown(ctx), weft.DeadlineExceeded, weft.OutcomeUnknown, "3 calls were still running")
		if d := time.Since(began); d < 5*time.Second || d > 7*time.Second {
			t.Errorf("took %v", d)
		}
		for _, call := range calls {
			e := wantError(t, (<-call.Done).Error, weft.Unavailable, weft.Executed, "shut down before the call had ended")
			if e.Reason != "SHUTDOWN" {
				t.Errorf("reason %q", e.Reason)
			}
		}
		wantError(t, <-streamed, weft.Unavailable, weft.Executed, "shut down")
		<-p.ended
		<-p.ended
		close(stuck)
		wantText(t, logged.String(), `level=INFO msg="shutdown began" connections=1 calls=3`, `level=WARN msg="shutdown ended, and calls were cut off" calls=3 took=`)
	})
}

// A shutdown without any time has the error of its context, and its cause.
func TestShutdownCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe()
		w := start(t, nil, p.register)
		call := w.dial(nil).Go(t.Context(), "Probe.Hang", &Args{}, nil, nil)
		synctest.Wait()
		impatient := errors.New("impatient")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(impatient)
		err := w.srv.Shutdown(ctx)
		wantError(t, err, weft.Canceled, weft.OutcomeUnknown, "1 calls were still running: impatient")
		if !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, impatient) {
			t.Error(err)
		}
		wantError(t, (<-call.Done).Error, weft.Unavailable, weft.Executed)
		<-p.ended
	})
}

// The log has the beginning and the end of a shutdown.
func TestShutdownIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged log
		w := start(t, &weft.ServerConfig{Logger: logged.logger()}, nil)
		c := w.dial(nil)
		multiply(t, c)
		synctest.Wait() // until the worker has counted the end of the call
		must(t, w.srv.Shutdown(t.Context()))
		wantText(t, logged.String(), `level=INFO msg="shutdown began" connections=1 calls=0`, `level=INFO msg="shutdown ended" took=`)
		must(t, w.srv.Shutdown(t.Context())) // as ListenAndServe does when it returns
		if text := logged.String(); strings.Count(text, "shutdown began") != 1 || strings.Count(text, "shutdown ended") != 1 {
			t.Errorf("two calls of Shutdown have logged\n%s", text)
		}
	})
}

// Connections of the handshake phase neither hold a shutdown up nor get in.
func TestShutdownDuringHandshakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w := start(t, &weft.ServerConfig{
			AuthenticateConn: func(context.Context, weft.Credential, *weft.Peer) (any, error) {
				<-release
				return nil, nil
			},
		}, nil)
		dialed := make(chan error, 1)
		go func() { // this goroutine ends with the dial
			c, err := weft.Dial(t.Context(), address, &weft.ClientConfig{Transports: transports(w.net), NoWaitForReady: true})
			must(t, err)
			defer c.Close()
			dialed <- c.Call(t.Context(), "Arith.Mul", &Args{7, 8}, nil)
		}()
		silent, err := w.net.Dial(t.Context(), "server")
		must(t, err)
		defer silent.Close()
		synctest.Wait()
		began := time.Now()
		done := make(chan error, 1)
		go func() { done <- w.srv.Shutdown(t.Context()) }() // this goroutine ends with the shutdown
		time.Sleep(time.Second)
		close(release)
		wantError(t, <-dialed, weft.Unavailable, weft.NotSent)
		must(t, <-done)
		if d := time.Since(began); d > 1500*time.Millisecond {
			t.Errorf("took %v", d)
		}
	})
}

// Several shutdowns at once are one.
func TestShutdownTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		w := start(t, nil, func(s *weft.Server) error { return s.RegisterName("Ledger", &l) })
		call := w.dial(nil).Go(t.Context(), "Ledger.Book", &Args{2000, 1}, nil, nil)
		synctest.Wait()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { must(t, w.srv.Shutdown(t.Context())) })
		}
		wg.Wait()
		must(t, (<-call.Done).Error)
	})
}

// The deadline of the call of Shutdown applies, also while ListenAndServe has another one.
func TestShutdownBesideListenAndServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		net := mem.New()
		srv := weft.NewServer(&weft.ServerConfig{Transports: transports(net), DrainTimeout: time.Second})
		must(t, srv.RegisterName("Ledger", &l))
		served := make(chan error, 1)
		go func() { served <- srv.ListenAndServe(t.Context(), address) }()
		synctest.Wait()
		c := dial(t, address, &weft.ClientConfig{Transports: transports(net)})
		call := c.Go(t.Context(), "Ledger.Book", &Args{5000, 1}, nil, nil)
		synctest.Wait()
		must(t, srv.Shutdown(t.Context()))
		must(t, (<-call.Done).Error)
		if err := <-served; !errors.Is(err, weft.ErrServerClosed) {
			t.Errorf("ListenAndServe: %v", err)
		}
	})
}

// A connection that nothing is done with costs one goroutine on either side.
func TestIdleConnectionsAreCheap(t *testing.T) {
	w := start(t, nil, nil)
	before := runtime.NumGoroutine()
	const clients = 100
	for range clients {
		multiply(t, w.dial(nil))
	}
	polltest.Until(t, time.Minute, "a connection has two goroutines", func() error {
		extra := runtime.NumGoroutine() - before - 2*clients
		if extra > clients/10 { // some workers of the first calls may be idle yet
			return fmt.Errorf("%d connections have %d goroutines more than two each", clients, extra)
		}
		return nil
	})
}
