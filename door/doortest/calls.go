package doortest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
)

func testCalls(t *testing.T, k Kit) {
	c := start(t, k, nil).dial()
	for i := range 20 {
		echo(t, c, Message{"hello", i})
	}
	echo(t, c, Message{}) // no field is set
}

// testBytes looks at what the server counts of the bodies of calls.
func testBytes(t *testing.T, k Kit) {
	w := start(t, k, nil)
	c := w.dial()
	const calls, size = 5, 1000
	for n := range calls {
		echo(t, c, Message{strings.Repeat("x", size), n})
	}
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(time.Millisecond) {
		for _, m := range w.srv.Stats().Methods {
			if m.Method != "Test.Echo" || m.Calls < calls {
				continue
			}
			for what, n := range map[string]uint64{"requests": m.RequestBytes, "replies": m.ReplyBytes} {
				if n < calls*size || n > calls*(size+200) {
					t.Errorf("the bodies of %d %s with %d bytes of text are counted as %d bytes", calls, what, size, n)
				}
			}
			return
		}
	}
	t.Fatal("the calls are not counted")
}

func testManyCallers(t *testing.T, k Kit) {
	w := start(t, k, nil)
	var wg sync.WaitGroup
	for range 4 {
		c := w.dial()
		for i := range 16 {
			wg.Go(func() {
				for n := range 50 {
					m, back := Message{fmt.Sprint("caller ", i), n}, Message{}
					if err := c.Call("Test.Echo", &m, &back); err != nil || back != m {
						t.Errorf("%+v came back as %+v: %v", m, back, err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
}

func testSizes(t *testing.T, k Kit) {
	c := start(t, k, nil).dial()
	for _, n := range []int{0, 1, 63, 64, 127, 128, 255, 256, 4095, 4096, 16383, 16384, 65535, 65536, 1 << 20, 3 << 20} {
		echo(t, c, Message{strings.Repeat("x", n), n})
	}
}

func testErrors(t *testing.T, k Kit) {
	c := start(t, k, nil).dial()
	err := c.Call("Test.Fail", &Message{Text: "order"}, new(Message))
	wantError(t, err, "no order here")
	if code := weft.CodeOf(err); k.Codes && code != weft.NotFound {
		t.Errorf("code %v, want NotFound", code)
	}
	wantError(t, c.Call("Test.Plain", &Message{Text: "out of paper"}, new(Message)), "out of paper")
	echo(t, c, Message{"after an error", 1})
}

func testUnknownMethod(t *testing.T, k Kit) {
	w := start(t, k, nil)
	c := w.dial()
	for _, name := range []string{"Test.Missing", "Nothing.Here"} {
		if err := c.Call(name, &Message{Text: "x"}, new(Message)); err == nil {
			t.Errorf("a call of %s went well", name)
		}
		echo(t, c, Message{"after", 1}) // the body of the refused call was skipped
	}
	if n := w.srv.Stats().Refused[weft.ReasonNoMethod]; n != 2 {
		t.Errorf("%d refusals were counted, want 2", n)
	}
}

// testPipeline looks at everything that runs around a call.
func testPipeline(t *testing.T, k Kit) {
	var diary diary
	w := start(t, k, &weft.ServerConfig{
		Hooks: []any{&diary},
		Plugins: []weft.Plugin{{Name: "outer", Server: func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			diary.add("interceptor " + info.Method)
			return next(ctx, info, req)
		}}},
	})
	c := w.dial()
	var seen Message
	must(t, c.Call("Test.Peer", &Message{}, &seen))
	if want := k.Door().Name() + " tcp <nil>"; seen.Text != want || seen.N != 1 {
		t.Errorf("the handler saw peer %q among %d, want %q and 1", seen.Text, seen.N, want)
	}
	want := []string{"opened", "header Test.Peer", "body Test.Peer", "decoded Test.Peer", "interceptor Test.Peer", "reply Test.Peer"}
	if got := diary.all(); !slices.Equal(got, want) {
		t.Errorf("seen\n%q, want\n%q", got, want)
	}
	wantError(t, c.Call("Test.Fail", &Message{}, new(Message)), "no  here")
	polltest.True(t, patience, "the calls are counted", func() bool {
		var peer, fail weft.MethodStats
		for _, m := range w.srv.Stats().Methods {
			switch m.Method {
			case "Test.Peer":
				peer = m
			case "Test.Fail":
				fail = m
			}
		}
		return peer.Calls == 1 && peer.Latency.Count == 1 && fail.Codes[weft.NotFound] == 1
	})
	must(t, c.Close())
	polltest.True(t, patience, "the hook is told of the end", func() bool { return slices.Contains(diary.all(), "closed") })
	polltest.True(t, patience, "the peer is gone", func() bool { return len(w.srv.Peers()) == 0 })
}

// diary notes what hooks are told.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

func (d *diary) ConnOpened(*weft.Peer)        { d.add("opened") }
func (d *diary) ConnClosed(*weft.Peer, error) { d.add("closed") }
func (d *diary) AfterReadRequestHeader(_ context.Context, i *weft.CallInfo) {
	d.add("header " + i.Method)
}
func (d *diary) BeforeReadRequestBody(_ context.Context, i *weft.CallInfo) error {
	d.add("body " + i.Method)
	return nil
}
func (d *diary) AfterReadRequestBody(_ context.Context, i *weft.CallInfo, _ any, _ error) {
	d.add("decoded " + i.Method)
}
func (d *diary) BeforeWriteReply(_ context.Context, i *weft.CallInfo, _ any, _ error) error {
	d.add("reply " + i.Method)
	return nil
}

// testAuthentication refuses some calls before their bodies are decoded, between others
// that are let in.
func testAuthentication(t *testing.T, k Kit) {
	var diary diary
	w := start(t, k, &weft.ServerConfig{Hooks: []any{&diary},
		Authenticate: func(_ context.Context, _ weft.Credential, info *weft.CallInfo) (any, error) {
			if info.Method != "Test.Echo" {
				return nil, weft.Errorf(weft.PermissionDenied, "not for you")
			}
			return "guest", nil
		},
	})
	c := w.dial()
	for range 3 {
		echo(t, c, Message{"let in", 1})
		err := c.Call("Test.Fail", &Message{Text: "x"}, new(Message))
		wantError(t, err, "not for you")
		if code := weft.CodeOf(err); k.Codes && code != weft.PermissionDenied {
			t.Errorf("code %v, want PermissionDenied", code)
		}
		wantError(t, c.Call("Test.Missing", &Message{Text: "x"}, new(Message)), "not for you")
	}
	if got := diary.all(); slices.Contains(got, "body Test.Fail") || slices.Contains(got, "decoded Test.Fail") {
		t.Errorf("the body of a refused call was looked at: %q", got)
	}
}

func testConnRefused(t *testing.T, k Kit) {
	w := start(t, k, &weft.ServerConfig{AuthenticateConn: func(context.Context, weft.Credential, *weft.Peer) (any, error) {
		return nil, weft.Errorf(weft.Unauthenticated, "no strangers")
	}})
	c := w.dial()
	if err := c.Call("Test.Echo", &Message{}, new(Message)); err == nil {
		t.Error("a call on a refused connection went well")
	}
	polltest.True(t, patience, "the refusal is counted", func() bool { return w.srv.Stats().Rejected == 1 })
	if n := len(w.srv.Peers()); n != 0 {
		t.Errorf("%d peers", n)
	}
}

func testPanics(t *testing.T, k Kit) {
	c := start(t, k, nil).dial()
	for range 3 {
		err := c.Call("Test.Panic", &Message{}, new(Message))
		wantError(t, err, "panicked")
		if strings.Contains(err.Error(), "on purpose") {
			t.Errorf("the caller is told what the panic said: %v", err)
		}
		echo(t, c, Message{"after a panic", 1})
	}
}

// testCallback calls the client from a handler, which a wire may not have.
func testCallback(t *testing.T, k Kit) {
	c := start(t, k, nil).dial()
	if err := c.Call("Test.CallBack", &Message{"there and back", 1}, new(Message)); err != nil {
		wantError(t, err, "cannot call its client")
	}
}
