// Package wiretest holds a wire to the contract of weft.Wire, by a server of the wire and
// by servers that break off or answer nonsense.
package wiretest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/leak"
)

// Kit is a wire and a server to try it with.
type Kit struct {
	// Wire returns the wire under test.
	Wire func() weft.Wire
	// Serve serves the methods of handlers on one connection, until it ends: by the stock
	// server of the wire, where there is one in Go.
	Serve func(conn net.Conn, handlers *Handlers)
	// Codes says that the wire carries status codes.
	Codes bool
	// Metadata says that the wire carries metadata both ways.
	Metadata bool
	// NoCredential says that the wire carries no credentials, neither of connections nor of calls. A client that
	// has one warns once for each connection.
	NoCredential bool
	// NoBytes says that the wire does not count the bytes of the bodies of calls and of the messages of streams.
	NoBytes bool
	// Streams says that the wire has streams. The server then has the method Test.Count.
	Streams bool
}

// Message is the request and the reply of the kit's methods.
type Message struct {
	Text string
	N    int
}

// Handlers are the methods that the server must have, as service "Test", in the shape of
// net/rpc.
type Handlers struct {
	entered chan struct{}
	release chan struct{}
}

// Echo returns its request.
func (h *Handlers) Echo(m *Message, reply *Message) error {
	*reply = *m
	return nil
}

// Fail returns an error with the text "no x here", and the code NotFound where the wire
// has codes.
func (h *Handlers) Fail(m *Message, _ *Message) error {
	return weft.Errorf(weft.NotFound, "no %s here", m.Text).WithReason("NONE")
}

// Wait waits until the check lets it go on.
func (h *Handlers) Wait(m *Message, reply *Message) error {
	h.entered <- struct{}{}
	<-h.release
	*reply = *m
	return nil
}

// Run runs every check. One that leaves a goroutine behind fails: it must not run in parallel with other tests.
func Run(t *testing.T, k Kit) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Kit)
	}{
		{"calls", testCalls}, {"many callers", testManyCallers}, {"sizes", testSizes}, {"errors", testErrors},
		{"deadline", testDeadline}, {"late before it is sent", testLate}, {"deaf server", testDeaf}, {"one-way calls and shutdown", testOnewayShutdown}, {"cancel", testCancel}, {"asynchronous and one-way", testOther}, {"around a call", testAround},
		{"credential that is not carried", testUncarried}, {"streams", testStreams}, {"bytes", testBytes}, {"ping", testPing}, {"no server", testNoServer}, {"lost connection", testLost},
		{"shutdown", testShutdown}, {"close", testClose}, {"too large", testTooLarge}, {"cluster", testCluster},
		{"answers cut at every byte", testCutBytes}, {"answers with changed bytes", testChangedBytes},
	} {
		t.Run(c.name, func(t *testing.T) {
			leak.Check(t)
			c.run(t, k)
		})
	}
}

const patience = 20 * time.Second

// world is a server of the wire, on loopback.
type world struct {
	t *testing.T
	k Kit
	h *Handlers
	l net.Listener

	mu    sync.Mutex
	conns []net.Conn
	sent  []byte // by the server
}

func start(t *testing.T, k Kit) *world {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	w := &world{t: t, k: k, l: l, h: &Handlers{make(chan struct{}, 1024), make(chan struct{})}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r := &recorded{Conn: conn, w: w}
			w.mu.Lock()
			w.conns = append(w.conns, conn)
			w.mu.Unlock()
			wg.Go(func() {
				defer conn.Close()
				k.Serve(r, w.h)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		w.letGo()
		w.cut()
		wg.Wait()
	})
	return w
}

// recorded notes what the server writes.
type recorded struct {
	net.Conn
	w *world
}

func (r *recorded) Write(p []byte) (int, error) {
	r.w.mu.Lock()
	r.w.sent = append(r.w.sent, p...)
	r.w.mu.Unlock()
	return r.Conn.Write(p)
}

// letGo lets the calls of Test.Wait end.
func (w *world) letGo() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.h.release:
	default:
		close(w.h.release)
	}
}

// cut ends all connections.
func (w *world) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		c.Close()
	}
	w.conns = nil
}

func (w *world) address() string { return w.k.Wire().Scheme() + "://" + w.l.Addr().String() }

// config is a configuration with the wire.
func (k Kit) config() *weft.ClientConfig {
	return &weft.ClientConfig{Wires: []weft.Wire{k.Wire()}, Logger: slog.New(slog.DiscardHandler), Backoff: 5 * time.Millisecond, MaxBackoff: 20 * time.Millisecond}
}

func (w *world) dial(change func(*weft.ClientConfig)) *weft.Client {
	w.t.Helper()
	cfg := w.k.config()
	if change != nil {
		change(cfg)
	}
	c, err := weft.Dial(w.t.Context(), w.address(), cfg)
	must(w.t, err)
	w.t.Cleanup(func() { c.Close() })
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func echo(t *testing.T, c weft.Caller, m Message) {
	t.Helper()
	back, err := weft.Invoke[Message](t.Context(), c, "Test.Echo", &m)
	if err != nil || *back != m {
		t.Fatalf("echo of %d bytes: %v", len(m.Text), err)
	}
}

// wantError checks an error of a call: its code if the wire carries codes, or if it came
// to be on this side, and its outcome.
func wantError(t *testing.T, err error, code weft.Code, outcome weft.Outcome, has string) {
	t.Helper()
	e, ok := errors.AsType[*weft.Error](err)
	if !ok {
		t.Fatalf("error %v of type %T, want an *Error", err, err)
	}
	if e.Code != code || e.Outcome != outcome || !strings.Contains(e.Message, has) || e.Method == "" || e.Peer == "" && outcome != weft.NotSent {
		t.Fatalf("%v: code %v, outcome %v, method %q, peer %q, want %v, %v and %q", err, e.Code, e.Outcome, e.Method, e.Peer, code, outcome, has)
	}
}

func within[T any](t *testing.T, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("%s: nothing within %v", what, patience)
	}
	return v
}

// async makes a call of Test.Wait and returns when it runs.
func (w *world) async(ctx context.Context, wg *sync.WaitGroup, c *weft.Client) <-chan error {
	w.t.Helper()
	done := make(chan error, 1)
	wg.Go(func() { done <- c.Call(ctx, "Test.Wait", &Message{"w", 1}, new(Message)) })
	within(w.t, w.h.entered, "the call runs")
	return done
}

// answering serves every connection with the same bytes, which it sends when it has read
// something.
func answering(t *testing.T, answer []byte) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(patience))
				if _, err := conn.Read(make([]byte, 1<<10)); err != nil {
					return
				}
				if _, err := conn.Write(answer); err == nil {
					_ = conn.(*net.TCPConn).CloseWrite()
					_, _ = io.Copy(io.Discard, conn)
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return l
}
