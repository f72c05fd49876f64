package netrpc_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/rpc"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/netrpc"
	"github.com/weftrpc/weft/internal/polltest"
)

// logBuffer is a buffer for a logger.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// serveDoor serves a method that answers with n bytes.
func serveDoor(t *testing.T, logged io.Writer) (*weft.Server, string) {
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{netrpc.Door()}, Logger: slog.New(slog.NewTextHandler(logged, nil))})
	must(t, weft.Handle(srv, "Text.Sized", func(_ context.Context, n *int) (*string, error) {
		text := strings.Repeat("x", *n)
		return &text, nil
	}))
	must(t, weft.Handle(srv, "Text.Length", func(_ context.Context, text *string) (*int, error) { n := len(*text); return &n, nil }))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	t.Cleanup(func() {
		srv.Close()
		<-served
	})
	return srv, l.Addr().String()
}

// A message that is too long, or is none, ends the connection: an operator is told, and the
// statistics count it.
func TestBrokenConnectionsAreTold(t *testing.T) {
	var logged logBuffer
	srv, addr := serveDoor(t, &logged)
	for _, reason := range []string{weft.ReasonMessageTooLarge, weft.ReasonProtocol} {
		conn, err := net.Dial("tcp", addr)
		must(t, err)
		c := rpc.NewClient(conn)
		var n int
		must(t, c.Call("Text.Length", "abc", &n))
		if reason == weft.ReasonProtocol {
			_, err = conn.Write(bytes.Repeat([]byte{0}, 64))
			must(t, err)
		} else if err := c.Call("Text.Length", strings.Repeat("x", weft.DefaultMaxMessage+1), &n); err == nil {
			t.Error("a message beyond the limit was taken")
		}
		polltest.True(t, 20*time.Second, "the end is counted", func() bool { return srv.Stats().Refused[reason] == 1 })
		c.Close()
	}
	polltest.True(t, 20*time.Second, "both are logged", func() bool { return strings.Count(logged.String(), "broke the protocol") >= 2 })
	if text := logged.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "Limits.MaxMessage") {
		t.Errorf("logged:\n%s", text)
	}
}

// A client that reads slowly, and goes on to make calls, gets its reply whole though the server
// shuts down meanwhile.
func TestSlowReaderDuringDrain(t *testing.T) {
	srv, addr := serveDoor(t, io.Discard)
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	must(t, conn.(*net.TCPConn).SetReadBuffer(8<<10))
	slow := &slowReader{Conn: conn, begin: make(chan struct{})}
	c := rpc.NewClient(slow)
	defer c.Close()
	var text string
	const size = 150_000 // so much fits into the buffers of the server's system
	call := c.Go("Text.Sized", size, &text, nil)
	polltest.True(t, 20*time.Second, "the call was answered", func() bool {
		for _, m := range srv.Stats().Methods {
			if m.Method == "Text.Sized" && m.Calls == 1 {
				return true
			}
		}
		return false
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	shut := make(chan error, 1)
	go func() { shut <- srv.Shutdown(ctx) }() // it ends with the drain
	for range 10 {
		time.Sleep(50 * time.Millisecond)
		c.Go("Text.Length", "more", new(int), make(chan *rpc.Call, 1))
	}
	close(slow.begin)
	if <-call.Done; call.Error != nil || len(text) != size {
		t.Errorf("%d bytes came: %v", len(text), call.Error)
	}
	must(t, <-shut)
}

// slowReader reads nothing until it may begin.
type slowReader struct {
	net.Conn
	begin chan struct{}
}

func (s *slowReader) Read(b []byte) (int, error) {
	<-s.begin
	return s.Conn.Read(b)
}
