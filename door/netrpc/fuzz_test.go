package netrpc_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/rpc"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/netrpc"
)

// Fuzzed is the request and the reply of the fuzzed calls.
type Fuzzed struct {
	Text  string
	N     int
	Bytes []byte
	Map   map[string]int
}

// bounds are small, so that short inputs reach them.
var bounds = weft.Limits{MaxMessage: 4 << 10, MaxCalls: 4, MaxCallBytes: 8 << 10, WriteTimeout: time.Second, HandshakeTimeout: 50 * time.Millisecond}

// tape is a connection that notes what is written to it.
type tape struct {
	net.Conn
	mu    sync.Mutex
	bytes bytes.Buffer
}

func (r *tape) Write(p []byte) (int, error) {
	r.mu.Lock()
	r.bytes.Write(p)
	r.mu.Unlock()
	return r.Conn.Write(p)
}

func (r *tape) all() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.bytes.Bytes())
}

// conversation makes some calls by the standard library and returns what both ends wrote.
func conversation(f *testing.F) (client, server []byte) {
	f.Helper()
	a, b := net.Pipe()
	there, here := &tape{Conn: a}, &tape{Conn: b}
	srv := rpc.NewServer()
	if err := srv.RegisterName("Test", new(fuzzedService)); err != nil {
		f.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { srv.ServeConn(there) })
	c := rpc.NewClient(here)
	for _, m := range []string{"Test.Echo", "Test.Fail", "Test.Missing", "Test.Echo"} {
		_ = c.Call(m, &Fuzzed{Text: "text", N: 300, Bytes: []byte{1, 2}, Map: map[string]int{"a": 1}}, new(Fuzzed))
	}
	c.Close()
	wg.Wait()
	return here.all(), there.all()
}

type fuzzedService struct{}

func (fuzzedService) Echo(in, out *Fuzzed) error { *out = *in; return nil }
func (fuzzedService) Fail(*Fuzzed, *Fuzzed) error {
	return weft.Errorf(weft.NotFound, "nothing")
}

// FuzzDoor gives the bytes of a client to a server: whatever they are, the connection ends
// when the client does, and nothing is left of it.
func FuzzDoor(f *testing.F) {
	good, _ := conversation(f)
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte("\x2e\x7f\x03\x01\x01\x07Request"))
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{netrpc.Door()}, Limits: bounds, Logger: slog.New(slog.DiscardHandler)})
	if err := srv.RegisterName("Test", fuzzedService{}); err != nil {
		f.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) })
	f.Cleanup(func() {
		srv.Close()
		wg.Wait()
	})
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > 64<<10 {
			return
		}
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = conn.Write(input) // the server may have closed it
		_ = conn.(*net.TCPConn).CloseWrite()
		back, err := io.ReadAll(conn)
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			t.Fatal("the server left the connection open")
		}
		if len(back) > 16*len(input)+(64<<10) {
			t.Errorf("%d bytes were answered with %d", len(input), len(back))
		}
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			if s := srv.Stats(); s.Connections == 0 && s.InFlight == 0 {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("the connection has ended, and left %+v", srv.Stats())
			}
		}
	})
}

// answering makes connections that are answered with the same bytes.
func answering(answer []byte) func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		client, server := net.Pipe()
		go func() { // it ends with the connection
			defer server.Close()
			server.SetDeadline(time.Now().Add(20 * time.Second))
			if _, err := server.Read(make([]byte, 4<<10)); err == nil {
				_, _ = server.Write(answer)
			}
		}()
		return client, nil
	}
}

// FuzzWire answers a call of a client with bytes: it ends, with a reply or an *Error.
func FuzzWire(f *testing.F) {
	_, good := conversation(f)
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Fuzz(func(t *testing.T, answer []byte) {
		if len(answer) > 64<<10 {
			return
		}
		c, err := netrpc.Wire().Dial(t.Context(), weft.WireConfig{Dial: answering(answer), Limits: bounds, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		err = c.Call(ctx, &weft.WireCall{Method: "Test.Echo", Args: &Fuzzed{Text: "x"}, Reply: new(Fuzzed)})
		if _, ok := err.(*weft.Error); err != nil && !ok || ctx.Err() != nil {
			t.Errorf("%v is a %T", err, err)
		}
	})
}
