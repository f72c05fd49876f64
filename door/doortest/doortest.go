// Package doortest holds a door to the contract of weft.Door, by a stock client of its
// wire and by hostile bytes.
package doortest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/leak"
)

// Kit is a door and a client to try it with.
type Kit struct {
	// Scheme is that of the addresses by which clients reach the wire: the name of the door, and what
	// Peer.Wire returns.
	Scheme string
	// Door returns the door under test.
	Door func() weft.Door
	// Dial makes a client of the wire on a connection that it owns: the stock one of the
	// wire, where there is one in Go.
	Dial func(conn net.Conn) (Client, error)
	// Codes says that the wire carries status codes.
	Codes bool
	// OneCall says that a connection of the wire carries one call at a time, so that calls of one
	// client wait for one another.
	OneCall bool
	// Handshake says that Dial waits for bytes of the server.
	Handshake bool
	// TLSProtocol is what the client negotiates in TLS; "": nothing, as wires do that are
	// told by their first bytes alone.
	TLSProtocol string
	// Garbage are byte strings that begin as the wire does and are wrong further on.
	Garbage [][]byte
}

// Client is a client of the wire. Both methods may be called concurrently.
type Client interface {
	// Call makes a unary call. An error of the server has its text in it.
	Call(method string, args, reply any) error
	// Close closes the connection. Open calls fail.
	Close() error
}

// Message is the request and the reply of the kit's methods.
type Message struct {
	Text string
	N    int
}

// Run runs every check. One that leaves a goroutine behind fails: it must not run in parallel with other tests.
func Run(t *testing.T, k Kit) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Kit)
	}{
		{"calls", testCalls}, {"many callers", testManyCallers}, {"paces", testPaces}, {"sizes", testSizes}, {"errors", testErrors},
		{"unknown method", testUnknownMethod}, {"pipeline", testPipeline}, {"authentication", testAuthentication},
		{"connection refused", testConnRefused}, {"panics", testPanics}, {"limits", testLimits}, {"too large", testTooLarge},
		{"default timeout", testTimeout}, {"disconnect", testDisconnect}, {"drain", testDrain}, {"cut", testCut}, {"close", testClose},
		{"name", testName}, {"bytes", testBytes}, {"one port", testOnePort}, {"TLS", testTLS}, {"cut at every byte", testCutBytes}, {"changed bytes", testChangedBytes},
		{"garbage", testGarbage}, {"client that reads nothing", testUnread}, {"memory for such a client", testUnreadMemory}, {"long method name", testLongName}, {"busy drain", testBusyDrain}, {"silence", testSilence}, {"calling back", testCallback},
		{"metadata, deadline and cancellation", testCarried},
	} {
		t.Run(c.name, func(t *testing.T) {
			leak.Check(t)
			c.run(t, k)
		})
	}
}

// patience is how long a check waits for what must happen. A busy machine needs it.
const patience = 20 * time.Second

// world is a server with the door, on loopback.
type world struct {
	t       *testing.T
	k       Kit
	srv     *weft.Server
	addr    string
	entered chan struct{} // gets a value when a call of Test.Wait runs
	release chan struct{} // is closed to let those calls end
	ended   chan error    // gets the reason when the context of such a call ends first
	served  chan error
	big     atomic.Int64 // calls of Test.Big, whose reply has 1 MiB
}

// start starts a server with the door.
func start(t *testing.T, k Kit, cfg *weft.ServerConfig) *world {
	t.Helper()
	w := &world{t: t, k: k, entered: make(chan struct{}, 1024), release: make(chan struct{}), ended: make(chan error, 1024), served: make(chan error, 1)}
	var c weft.ServerConfig
	if cfg != nil {
		c = *cfg
	}
	c.Doors = append(c.Doors, k.Door())
	if c.Limits.PingTimeout == 0 {
		c.Limits.PingTimeout = time.Minute // a client on a busy machine answers a ping late
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	w.srv = weft.NewServer(&c)
	must(t, weft.Handle(w.srv, "Test.Echo", func(_ context.Context, m *Message) (*Message, error) { return m, nil }))
	must(t, weft.Handle(w.srv, "Test.Fail", func(_ context.Context, m *Message) (*Message, error) {
		return nil, weft.Errorf(weft.NotFound, "no %s here", m.Text)
	}))
	must(t, weft.Handle(w.srv, "Test.Plain", func(_ context.Context, m *Message) (*Message, error) { return nil, errors.New(m.Text) }))
	must(t, weft.Handle(w.srv, "Test.Panic", func(context.Context, *Message) (*Message, error) { panic("on purpose") }))
	must(t, weft.Handle(w.srv, "Test.Wait", w.wait))
	must(t, weft.Handle(w.srv, "Test.Peer", func(ctx context.Context, _ *Message) (*Message, error) {
		p := weft.PeerFrom(ctx)
		return &Message{Text: p.Wire() + " " + p.Addr().Network() + " " + fmt.Sprint(weft.PrincipalFrom(ctx)), N: len(w.srv.Peers())}, nil
	}))
	must(t, weft.Handle(w.srv, "Test.CallBack", func(ctx context.Context, m *Message) (*Message, error) {
		return weft.Invoke[Message](ctx, weft.PeerFrom(ctx), "Client.Echo", m)
	}))
	big := &Message{Text: strings.Repeat("x", 1<<20)}
	must(t, weft.Handle(w.srv, "Test.Big", func(context.Context, *Message) (*Message, error) {
		w.big.Add(1)
		return big, nil
	}))
	l, err := w.srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	w.addr = l.Addr().String()
	// It ends when the server does.
	go func() { w.served <- w.srv.Serve(l) }()
	t.Cleanup(func() {
		w.srv.Close()
		if err := <-w.served; !errors.Is(err, weft.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	return w
}

// wait is a handler that waits until it is released or its context ends.
func (w *world) wait(ctx context.Context, m *Message) (*Message, error) {
	w.entered <- struct{}{}
	select {
	case <-w.release:
		return m, nil
	case <-ctx.Done():
		w.ended <- ctx.Err()
		return nil, ctx.Err()
	}
}

// dial makes a client.
func (w *world) dial() Client {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	must(w.t, err)
	return w.client(conn)
}

func (w *world) client(conn net.Conn) Client {
	w.t.Helper()
	c, err := w.k.Dial(conn)
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

// echo makes a call that must go well.
func echo(t *testing.T, c Client, m Message) {
	t.Helper()
	var back Message
	if err := c.Call("Test.Echo", &m, &back); err != nil || back != m {
		t.Fatalf("echo of %d bytes: %v, %d bytes back", len(m.Text), err, len(back.Text))
	}
}

// wantError checks the text of a server's error.
func wantError(t *testing.T, err error, has string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), has) {
		t.Fatalf("error %v, want one with %q", err, has)
	}
}

// within waits for something.
func within[T any](t *testing.T, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("%s: nothing within %v", what, patience)
	}
	return v
}

// async makes a call on a goroutine of its own.
func async(wg *sync.WaitGroup, c Client, method string, m *Message) <-chan error {
	done := make(chan error, 1)
	wg.Go(func() { done <- c.Call(method, m, new(Message)) })
	return done
}

// closedWithin reads a connection until the server closes it.
func closedWithin(t *testing.T, conn net.Conn, d time.Duration, what string) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(d))
	if _, err := io.Copy(io.Discard, conn); err != nil {
		if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
			t.Errorf("%s: the server left the connection open for %v", what, d)
		}
	}
}
