package weft_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/internal/session"
)

// admitted serves the connection of a fake door with serve, when it was admitted, and returns when serve has.
func admitted(t *testing.T, change func(*weft.ServerConfig), serve func(c *weft.DoorConn)) {
	t.Helper()
	ended := make(chan struct{})
	cfg := doors(fakeDoor{match: matchAll, serve: func(c *weft.DoorConn) error {
		defer close(ended)
		if _, err := c.Admit(weft.Credential{}, nil); err != nil {
			return err
		}
		serve(c)
		return nil
	}})
	if change != nil {
		change(cfg)
	}
	w := start(t, cfg, func(s *weft.Server) error {
		return weft.Handle(s, "Test.Same", func(_ context.Context, a *Args) (*Args, error) { return a, nil })
	})
	wantClosed(t, w.connect("x"))
	<-ended
}

// TestForeignContextsAreNotKept keeps the context of a call of a door: that of a call that holds much goes with its call.
func TestForeignContextsAreNotKept(t *testing.T) {
	metadata := weft.NewMetadata("key", strings.Repeat("x", 300))
	for name, tt := range map[string]struct {
		head   weft.Head
		change func(*weft.ServerConfig)
	}{
		"metadata": {head: weft.Head{Metadata: metadata}},
		"stream":   {head: weft.Head{Stream: true}},
		"principal": {change: func(c *weft.ServerConfig) {
			c.Authenticate = func(context.Context, weft.Credential, *weft.CallInfo) (any, error) { return "someone", nil }
		}},
	} {
		admitted(t, tt.change, func(c *weft.DoorConn) {
			begin := func(head weft.Head) *weft.DoorCall {
				head.Method, head.Codec = "Test.Same", "gob"
				return c.Begin(head, new(nothing))
			}
			begin(weft.Head{}).Run() // the slabs grow
			kept := begin(weft.Head{})
			gone := func() weak.Pointer[session.Context] {
				x := begin(tt.head)
				x.Run()
				return weak.Make(x.Context().(*session.Context))
			}()
			polltest.True(t, 20*time.Second, "the context of a call with "+name+" is collected", func() bool {
				runtime.GC()
				return gone.Value() == nil
			})
			kept.Run()
		})
	}
}

// TestCallBehindEndOfDoor begins a call when the connection has ended: its context has, too.
func TestCallBehindEndOfDoor(t *testing.T) {
	var conn *weft.DoorConn
	admitted(t, nil, func(c *weft.DoorConn) { conn = c })
	in := new(nothing)
	x := conn.Begin(weft.Head{Method: "Test.Same", Codec: "gob"}, in)
	if x == nil {
		t.Fatal(in.last)
	}
	if err := x.Context().Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("the context ends with %v", err)
	}
	x.Run()
	if in.last == nil || in.last.Code != weft.Canceled || in.last.Outcome != weft.Refused {
		t.Errorf("the call was answered with %v", in.last)
	}
}

// panicking is a compressor that panics.
type panicking struct{ compress.Compressor }

func (panicking) Decompress([]byte, []byte, int) ([]byte, error) { panic("on purpose") }

// compressed is an Inbound whose request has to be restored.
type compressed struct {
	nothing
	x *weft.DoorCall
}

func (in *compressed) Decode(any) error {
	_, err := in.x.Restoring(panicking{}).Decompress(nil, []byte("x"), 1<<20)
	return err
}

// TestCompressorThatPanics gives the bytes back that it had for what it restores.
func TestCompressorThatPanics(t *testing.T) {
	const room = 64 << 10
	admitted(t, func(c *weft.ServerConfig) { c.Limits.MaxMessage, c.Limits.MaxCallBytes = room, room }, func(c *weft.DoorConn) {
		head := weft.Head{Method: "Test.Same", Codec: "gob"}
		for range 2 * room / (4 << 10) {
			in := new(compressed)
			if in.x = c.Begin(head, in); in.x == nil {
				t.Fatal(in.last)
			}
			if in.x.Run(); in.last == nil || in.last.Code != weft.Internal {
				t.Fatalf("the call was answered with %v", in.last)
			}
		}
		in := new(nothing)
		head.Size = room
		x := c.Begin(head, in)
		if x == nil {
			t.Error(in.last)
			return
		}
		x.Run()
	})
}

// TestRefusedCallsOfDoorSayNothingOfTheMethod refuses calls of a slow method, whose deadlines have passed: it does not become fast.
func TestRefusedCallsOfDoorSayNothingOfTheMethod(t *testing.T) {
	admitted(t, nil, func(c *weft.DoorConn) {
		m := c.Method("Test.Same")
		for range 8 {
			m.Stalled()
		}
		for range 2000 {
			in := new(nothing)
			x := c.Begin(weft.Head{Codec: "gob", Found: m, Received: session.Nanos() - 2, Timeout: 1}, in)
			if x == nil {
				t.Error(in.last)
				return
			}
			if x.Run(); in.last == nil || in.last.Code != weft.DeadlineExceeded || in.last.Outcome != weft.Refused {
				t.Errorf("the call was answered with %v", in.last)
				return
			}
		}
		if m.Fast() || m.Short() {
			t.Errorf("the method counts as fast: %v, as short: %v", m.Fast(), m.Short())
		}
	})
}
