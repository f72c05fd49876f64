package websock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/door/internal/combine"
	"github.com/weftrpc/weft/internal/polltest"
)

// patience is how long what must happen may take.
const patience = 20 * time.Second

// echo starts a server that sends every message back, and closes the connection with the code 4000 when Next fails,
// and the error as the reason.
func echo(t *testing.T, cfg Config) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !Asked(r) {
			http.Error(w, "no", http.StatusTeapot)
			return
		}
		c, err := Accept(w, r, []string{"echo"}, cfg)
		if err != nil {
			return
		}
		for {
			b, err := c.Next()
			if err != nil {
				c.Close(4000, err.Error())
				return
			}
			if c.Send(b) != nil {
				return
			}
		}
	}))
	t.Cleanup(srv.Close)
	return srv.Listener.Addr().String()
}

func limits() Config {
	return Config{Limit: 1 << 20, Stall: patience, Idle: patience, Silence: patience, Write: patience}
}

func dial(t *testing.T, addr string) *Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Dial(ctx, conn, addr, "/", nil, nil, limits())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Cut)
	return c
}

// TestMessages sends messages of many sizes, by Send and by a combine.Writer.
func TestMessages(t *testing.T) {
	c := dial(t, echo(t, limits()))
	w := combine.New(c.Pieces(), 1<<20, patience, Append)
	for i, n := range []int{0, 1, 125, 126, 127, 4095, 4096, 65535, 65536, 1 << 20} {
		text := strings.Repeat("x", n)
		if i%2 == 0 {
			if err := c.Send([]byte(text)); err != nil {
				t.Fatal(err)
			}
		} else if err := w.Send([]byte("first"), []byte(text)); err != nil {
			t.Fatal(err)
		} else if b, err := c.Next(); err != nil || string(b) != "first" {
			t.Fatalf("%q, %v", b, err)
		}
		if b, err := c.Next(); err != nil || string(b) != text {
			t.Fatalf("%d bytes came back as %d, %v", n, len(b), err)
		}
	}
	if _, err := c.Pieces().Write([]byte{0, 0, 0, 9, 'x'}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a message that is cut short: %v", err)
	}
	c.Close(1000, "")
	if err := c.Send([]byte("late")); err == nil {
		t.Error("a message was sent after Close")
	}
}

// raw opens a connection by hand, to send frames that no client sends.
func raw(t *testing.T, addr string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	in := bufio.NewReader(conn)
	answer, err := http.ReadResponse(in, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(answer, err)
	}
	return conn, in
}

// mask is the key of frames that are not masked really.
const mask = "\x00\x00\x00\x00"

// TestHostileFrames: the connection of a client that breaks the protocol ends, and no memory is taken for what it
// announces.
func TestHostileFrames(t *testing.T) {
	addr := echo(t, limits())
	for name, frames := range map[string]string{
		"not masked":                "\x81\x01x",
		"a reserved bit":            "\xc1\x81" + mask + "x",
		"an unknown opcode":         "\x83\x81" + mask + "x",
		"a continuation of nothing": "\x80\x81" + mask + "x",
		"a message in another":      "\x01\x81" + mask + "x\x81\x81" + mask + "x",
		"a ping in pieces":          "\x09\x81" + mask + "x",
		"a ping of 126 bytes":       "\x89\xfe\x00\x7e" + mask + strings.Repeat("x", 126),
		"a length below zero":       "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff" + mask + strings.Repeat("x", 2<<20),
		"a length of 4 EiB":         "\x81\xff\x40\x00\x00\x00\x00\x00\x00\x00" + mask + strings.Repeat("x", 2<<20),
		"a close of one byte":       "\x88\x81" + mask + "x",
		"a close with 1005":         "\x88\x82" + mask + "\x03\xed",
	} {
		conn, in := raw(t, addr)
		_, _ = io.WriteString(conn, frames) // the server may have closed it
		_ = conn.(*net.TCPConn).CloseWrite()
		if _, err := io.Copy(io.Discard, in); errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: the connection stays open", name)
		}
		conn.Close()
	}
	conn, in := raw(t, addr)
	// A message in pieces with a ping between them.
	if _, err := io.WriteString(conn, "\x01\x81"+mask+"a"+"\x89\x81"+mask+"p"+"\x80\x81"+mask+"b"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 7)
	if _, err := io.ReadFull(in, got); err != nil || string(got) != "\x8a\x01p\x81\x02ab" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestCount: what a message holds is counted as it grows, and until its caller counts it off.
func TestCount(t *testing.T) {
	var counted atomic.Int64
	cfg := limits()
	cfg.Limit = 300 << 10
	cfg.Count = func(n int) { counted.Add(int64(n)) }
	came := make(chan []byte, 1)
	ended := make(chan struct{}, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := Accept(w, r, nil, cfg)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Cut()
		for {
			b, err := c.Next()
			if err != nil {
				ended <- struct{}{}
				return
			}
			came <- b
		}
	}))
	defer srv.Close()
	addr := srv.Listener.Addr().String()
	const size = 200 << 10
	body := "\xff\x00\x00\x00\x00\x00\x03\x20\x00" + mask + strings.Repeat("x", size)
	conn, _ := raw(t, addr)
	send := func(frames string) {
		t.Helper()
		if _, err := io.WriteString(conn, frames); err != nil {
			t.Fatal(err)
		}
	}
	take := func(want int) {
		t.Helper()
		b := <-came
		if n := int(counted.Load()); len(b) != want || n != cap(b) || n > 2*want+16 {
			t.Errorf("%d bytes came of %d, with a capacity of %d; %d are counted", len(b), want, cap(b), n)
		}
		counted.Add(int64(-cap(b)))
	}
	begin := func() {
		t.Helper()
		send("\x01" + body)
		polltest.True(t, patience, "what has come is counted", func() bool { return counted.Load() >= size })
	}
	send("\x81\x80" + mask)
	take(0)
	send("\x81\x81" + mask + "x")
	take(1)
	begin()
	send("\x80\x80" + mask)
	take(size)
	begin()
	conn.Close()
	<-ended
	if n := counted.Load(); n != 0 {
		t.Errorf("%d bytes are counted of a message that broke off", n)
	}
	conn, _ = raw(t, addr)
	begin()
	send("\x00" + body)
	<-ended
	if n := counted.Load(); n != 0 {
		t.Errorf("%d bytes are counted of a message that was too large", n)
	}
}

// TestBrokenMessage: a connection that ends within a message is no end of the message; one that was closed ends well.
func TestBrokenMessage(t *testing.T) {
	addr := echo(t, limits())
	for frames, want := range map[string]string{
		"\x01\x81" + mask + "x":                             io.ErrUnexpectedEOF.Error(),
		"\x01\x81" + mask + "x\x80":                         io.ErrUnexpectedEOF.Error(),
		"\x01\x81" + mask + "x\x89\x81" + mask:              io.ErrUnexpectedEOF.Error(),
		"\x81\x84" + mask:                                   io.ErrUnexpectedEOF.Error(),
		"\x81\x84" + mask + "x":                             io.ErrUnexpectedEOF.Error(),
		"\x01\x81" + mask + "x\x88\x82" + mask + "\x03\xe8": "\x88\x02\x03\xe8",
		"\x88\x82" + mask + "\x03\xe8":                      "\x88\x02\x03\xe8",
	} {
		conn, in := raw(t, addr)
		if _, err := io.WriteString(conn, frames); err != nil {
			t.Fatal(err)
		}
		_ = conn.(*net.TCPConn).CloseWrite()
		got, err := io.ReadAll(in)
		if err != nil || !strings.HasPrefix(string(got), "\x88") || !strings.HasSuffix(string(got), want) {
			t.Errorf("%q: %q, %v, want %q", frames, got, err, want)
		}
		conn.Close()
	}
}

// closing is the frame by which echo closes a connection.
func closing(err error) string {
	return "\x88" + string(rune(2+len(err.Error()))) + "\x0f\xa0" + err.Error()
}

// TestLimits: a message that is too large, one that stops, and a peer that is silent.
func TestLimits(t *testing.T) {
	cfg := limits()
	cfg.Limit, cfg.Stall = 100, 50*time.Millisecond
	addr := echo(t, cfg)
	for frames, want := range map[string]string{
		"\x81\xe4" + mask + strings.Repeat("x", 100):                                 "\x81\x64" + strings.Repeat("x", 100),
		"\x01\xe4" + mask + strings.Repeat("x", 100) + "\x80\x81" + mask + "y":       closing(ErrTooLarge),
		"\x01\x81" + mask + "x":                                                      closing(ErrStalled),
		"\x81\x84" + mask + "x":                                                      closing(ErrStalled),
		"\x01\x81" + mask + "x" + strings.Repeat("\x00\x80"+mask, 1000) + "\x00\x80": closing(ErrStalled),
	} {
		conn, in := raw(t, addr)
		if _, err := io.WriteString(conn, frames); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		if _, err := io.ReadFull(in, got); err != nil || string(got) != want {
			t.Errorf("%.20q: %q, %v, want %q", frames, got, err, want)
		}
		conn.Close()
	}

	cfg = limits()
	cfg.Idle, cfg.Silence = 20*time.Millisecond, 50*time.Millisecond
	conn, in := raw(t, echo(t, cfg))
	if b, err := io.ReadAll(in); err != nil || !strings.HasPrefix(string(b), "\x89") {
		t.Errorf("a peer that answers no ping gets %q, %v", b, err)
	}
	conn.Close()
}

// TestDialErrors: the error tells what the server is.
func TestDialErrors(t *testing.T) {
	site := httptest.NewServer(http.NotFoundHandler())
	defer site.Close()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	go func() { // it ends with other
		for {
			conn, err := other.Accept()
			if err != nil {
				return
			}
			io.WriteString(conn, "SSH-2.0-x\r\n")
			conn.Close()
		}
	}()
	for addr, want := range map[string]string{site.Listener.Addr().String(): "404 Not Found", other.Addr().String(): "does not speak WebSocket at /rpc: "} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Dial(t.Context(), conn, addr, "/rpc?key=secret", nil, nil, limits()); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v, want %s and no query", err, want)
		}
	}
}

// TestClip: a reason has room for 123 bytes.
func TestClip(t *testing.T) {
	for text, want := range map[string]string{"short": "short", strings.Repeat("x", 123): strings.Repeat("x", 123),
		strings.Repeat("x", 124): strings.Repeat("x", 120) + "…", strings.Repeat("ä", 100): strings.Repeat("ä", 60) + "…", "\xff": "?"} {
		if got := clip(text); got != want || len(got) > 123 {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
