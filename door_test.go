package weft_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

// fakeDoor is a door of which a test gives the parts.
type fakeDoor struct {
	match func([]byte) (bool, bool)
	serve func(*weft.DoorConn) error
}

func (fakeDoor) Name() string                      { return "fake" }
func (fakeDoor) Protocols() []string               { return nil }
func (d fakeDoor) Match(b []byte) (yes, more bool) { return d.match(b) }
func (d fakeDoor) Serve(c *weft.DoorConn) error    { return d.serve(c) }
func matchAll([]byte) (bool, bool)                 { return true, false }
func doors(d fakeDoor) *weft.ServerConfig {
	return &weft.ServerConfig{Doors: []weft.Door{d}, Logger: slog.New(slog.DiscardHandler)}
}

// connect makes a connection to the server and writes to it.
func (w *world) connect(first string) net.Conn {
	w.t.Helper()
	conn, err := w.net.Dial(w.t.Context(), "server")
	must(w.t, err)
	w.t.Cleanup(func() { conn.Close() })
	_, err = conn.Write([]byte(first))
	must(w.t, err)
	return conn
}

// wantClosed waits until the server has closed a connection.
func wantClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.Copy(io.Discard, conn); err != nil {
		if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
			t.Error("the server left the connection open")
		}
	}
}

func TestMatchThatPanicsEndsOnlyItsConnection(t *testing.T) {
	w := start(t, doors(fakeDoor{match: func(b []byte) (bool, bool) {
		if b[0] == 'G' {
			runtime.Goexit()
		}
		panic("on purpose")
	}}), nil)
	for _, first := range []string{"P", "G"} {
		wantClosed(t, w.connect(first))
	}
	p, err := weft.Invoke[Product](t.Context(), w.dial(nil), "Arith.Mul", &Args{6, 7})
	if err != nil || p.C != 42 {
		t.Errorf("%v, %v", p, err)
	}
}

func TestServeThatEndsBadly(t *testing.T) {
	for name, end := range map[string]func(){
		"panic":  func() { panic("on purpose") },
		"exit":   runtime.Goexit,
		"return": func() {},
	} {
		for _, admitted := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				w := start(t, doors(fakeDoor{match: matchAll, serve: func(c *weft.DoorConn) error {
					if admitted {
						if _, err := c.Admit(weft.Credential{}, nil); err != nil {
							return err
						}
						if _, err := c.Admit(weft.Credential{}, nil); err == nil {
							t.Error("Admit went well twice")
						}
					}
					end()
					return nil
				}}), nil)
				wantClosed(t, w.connect("x"))
				must(t, w.srv.Shutdown(t.Context()))
				if n := len(w.srv.Peers()); n != 0 {
					t.Errorf("%d peers are left", n)
				}
			})
		}
	}
}

func TestCloseEndsDoorThatHasNotAdmitted(t *testing.T) {
	serving := make(chan struct{})
	cfg := doors(fakeDoor{match: matchAll, serve: func(c *weft.DoorConn) error {
		close(serving)
		_, err := io.Copy(io.Discard, c.Conn()) // the rest of the first message
		return err
	}})
	cfg.Limits.HandshakeTimeout = time.Hour
	w := start(t, cfg, nil)
	w.connect("x")
	<-serving
	closed := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		w.srv.Close()
		close(closed)
	})
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		t.Fatal("Close waits for a connection that has not been admitted")
	}
	wg.Wait()
}

// nothing is an Inbound that counts its answers.
type nothing struct {
	mu      sync.Mutex
	answers int
	last    *weft.Error
}

func (n *nothing) Decode(any) error { return nil }
func (n *nothing) Reply(any, weft.Metadata) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers++
	return nil
}
func (n *nothing) Fail(e *weft.Error, _ weft.Metadata) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers++
	n.last = e
}
func (n *nothing) Stream(context.Context) weft.RawStream { return nil }

// TestDoorThatDoesNotAdmit begins a call after its connection was refused.
func TestDoorThatDoesNotAdmit(t *testing.T) {
	in := new(nothing)
	cfg := doors(fakeDoor{match: matchAll, serve: func(c *weft.DoorConn) error {
		_, err := c.Admit(weft.Credential{}, nil)
		if call := c.Begin(weft.Head{Method: "Arith.Mul", Codec: "gob"}, in); call != nil {
			call.Run()
		}
		return err
	}})
	cfg.AuthenticateConn = func(context.Context, weft.Credential, *weft.Peer) (any, error) {
		return nil, errors.New("no strangers")
	}
	w := start(t, cfg, nil)
	wantClosed(t, w.connect("x"))
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.answers != 1 || in.last == nil || in.last.Code != weft.Unauthenticated || len(w.srv.Stats().Methods) != 0 {
		t.Errorf("%d answers, %v, %+v", in.answers, in.last, w.srv.Stats())
	}
}

// TestCallsOfDoorAreAnsweredOnce ends handlers in every way.
func TestCallsOfDoorAreAnsweredOnce(t *testing.T) {
	ended := make(chan error, 1)
	w := start(t, doors(fakeDoor{match: matchAll, serve: func(c *weft.DoorConn) error {
		if _, err := c.Admit(weft.Credential{}, nil); err != nil {
			return err
		}
		for _, method := range []string{"Bad.Panic", "Bad.Exit", "Bad.Good", "Bad.Missing", "Bad." + string(make([]byte, 300))} {
			in := new(nothing)
			if call := c.Begin(weft.Head{Method: method, Codec: "gob", Size: 100}, in); call != nil {
				done := make(chan struct{})
				c.Go(func() {
					defer close(done)
					call.Run()
				})
				<-done
			}
			if in.answers != 1 {
				t.Errorf("%.20q was answered %d times: %v", method, in.answers, in.last)
			}
		}
		ended <- nil
		return nil
	}}), func(s *weft.Server) error {
		return errors.Join(
			weft.Handle(s, "Bad.Panic", func(context.Context, *Args) (*Args, error) { panic("on purpose") }),
			weft.Handle(s, "Bad.Exit", func(context.Context, *Args) (*Args, error) { runtime.Goexit(); return nil, nil }),
			weft.Handle(s, "Bad.Good", func(_ context.Context, a *Args) (*Args, error) { return a, nil }))
	})
	conn := w.connect("x")
	<-ended
	wantClosed(t, conn)
	if n := w.srv.Stats().InFlight; n != 0 {
		t.Errorf("%d calls are in flight", n)
	}
}

// TestCallsOnReaderOfDoor begins calls that run on the goroutine that reads while the server has as many calls in flight as it may: they are not refused for
// overload, but for the limit of their method. One in 16 of those that go well is timed, and each that fails.
func TestCallsOnReaderOfDoor(t *testing.T) {
	const calls = 64
	ended := make(chan error, 1)
	cfg := doors(fakeDoor{match: matchAll, serve: func(c *weft.DoorConn) error {
		_, err := c.Admit(weft.Credential{}, nil)
		if err != nil {
			return err
		}
		begin := func(method string, here bool) (*weft.DoorCall, *nothing) {
			in := new(nothing)
			return c.Begin(weft.Head{Method: method, Codec: "gob", Here: here}, in), in
		}
		first, _ := begin("Limited.Call", false)
		if first == nil {
			t.Error("the first call is refused")
		}
		for _, tt := range []struct {
			method string
			here   bool
			reason string
		}{
			{"Any.Call", false, weft.ReasonOverloadWait},
			{"Limited.Call", true, weft.ReasonOverloadMethod},
			{"Any.Call", true, ""},
		} {
			switch x, in := begin(tt.method, tt.here); {
			case x != nil && tt.reason == "":
				x.Run()
			case x != nil || in.last == nil || in.last.Reason != tt.reason:
				t.Errorf("%+v: %v", tt, in.last)
			}
		}
		first.Run()
		for range calls - 1 {
			x, _ := begin("Any.Call", true)
			x.Run()
			x, _ = begin("Any.Fail", true)
			x.Run()
		}
		ended <- nil
		return nil
	}})
	cfg.Overload.MaxInFlight = 1
	w := start(t, cfg, func(s *weft.Server) error {
		echo := func(_ context.Context, a *Args) (*Args, error) { return a, nil }
		return errors.Join(weft.Handle(s, "Any.Call", echo), weft.Handle(s, "Limited.Call", echo, weft.MethodLimit(1)),
			weft.Handle(s, "Any.Fail", func(context.Context, *Args) (*Args, error) { return nil, weft.Errorf(weft.NotFound, "on purpose") }))
	})
	conn := w.connect("x")
	<-ended
	wantClosed(t, conn)
	timed := make(map[string]uint64)
	for _, m := range w.srv.Stats().Methods {
		timed[m.Method] = m.Latency.Count
	}
	// The connection makes 127 calls on the reader, every second of which fails.
	if n := timed["Any.Call"]; n == 0 || n > calls/8 || timed["Any.Fail"] != calls-1 {
		t.Errorf("%v calls are timed", timed)
	}
}
