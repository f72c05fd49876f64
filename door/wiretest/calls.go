package wiretest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry/static"
)

func testCalls(t *testing.T, k Kit) {
	c := start(t, k).dial(nil)
	for i := range 20 {
		echo(t, c, Message{"hello", i})
	}
	echo(t, c, Message{})
	must(t, c.Call(t.Context(), "Test.Echo", &Message{"thrown away", 1}, nil))
	if got := c.Peer().Wire(); got != k.Wire().Scheme() {
		t.Errorf("Peer.Wire is %q", got)
	}
	if s := c.Stats(); s.Connections != 1 || s.Connects != 1 || len(s.Methods) != 1 || s.Methods[0].Calls != 22 {
		t.Errorf("statistics: %+v", s)
	}
}

func testManyCallers(t *testing.T, k Kit) {
	c := start(t, k).dial(nil)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for n := range 50 {
				m := Message{fmt.Sprint("caller ", i), n}
				back, err := weft.Invoke[Message](t.Context(), c, "Test.Echo", &m)
				if err != nil || *back != m {
					t.Errorf("%+v: %v", m, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func testSizes(t *testing.T, k Kit) {
	c := start(t, k).dial(nil)
	for _, n := range []int{0, 1, 127, 128, 4096, 16384, 65536, 1 << 20, 3 << 20} {
		echo(t, c, Message{strings.Repeat("x", n), n})
	}
}

func testErrors(t *testing.T, k Kit) {
	c := start(t, k).dial(nil)
	code := weft.Unknown
	if k.Codes {
		code = weft.NotFound
	}
	wantError(t, c.Call(t.Context(), "Test.Fail", &Message{Text: "order"}, new(Message)), code, weft.Executed, "no order here")
	for _, name := range []string{"Test.Missing", "Nothing.Here"} {
		err := c.Call(t.Context(), name, &Message{}, new(Message))
		wantError(t, err, weft.Unimplemented, weft.Refused, "")
	}
	wantError(t, c.Call(t.Context(), "nodot", &Message{}, nil), weft.InvalidArgument, weft.NotSent, "Service.Method")
	wantError(t, c.Call(t.Context(), "Test.Echo", &Message{}, Message{}), weft.InvalidArgument, weft.NotSent, "want a pointer")
	echo(t, c, Message{"after errors", 1})
}

func testDeadline(t *testing.T, k Kit) {
	w := start(t, k)
	c := w.dial(nil)
	var err error
	for timeout := 30 * time.Millisecond; ; timeout *= 4 {
		err = c.Call(t.Context(), "Test.Wait", &Message{}, new(Message), weft.WithTimeout(timeout))
		// On a busy machine a call may not be sent in its time: the next one has more.
		if e, ok := errors.AsType[*weft.Error](err); !ok || e.Outcome != weft.NotSent || timeout > patience {
			break
		}
	}
	wantError(t, err, weft.DeadlineExceeded, weft.OutcomeUnknown, "")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v is no context.DeadlineExceeded", err)
	}
	w.letGo() // the late reply is dropped
	echo(t, c, Message{"after", 1})
}

func testCancel(t *testing.T, k Kit) {
	w := start(t, k)
	c := w.dial(nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	done := w.async(ctx, &wg, c)
	cancel()
	wantError(t, within(t, done, "the call ends"), weft.Canceled, weft.OutcomeUnknown, "")
	wg.Wait()
	wantError(t, c.Call(ctx, "Test.Echo", &Message{}, nil), weft.Canceled, weft.NotSent, "")
	w.letGo()
	echo(t, c, Message{"after", 1})
}

func testOther(t *testing.T, k Kit) {
	w := start(t, k)
	c := w.dial(nil)
	var back Message
	call := <-c.Go(t.Context(), "Test.Echo", &Message{"go", 1}, &back, nil).Done
	if call.Error != nil || back.Text != "go" {
		t.Errorf("%v, %+v", call.Error, back)
	}
	must(t, c.Notify(t.Context(), "Test.Wait", &Message{"one-way", 1}))
	within(t, w.h.entered, "the one-way call runs")
	w.letGo()
	echo(t, c, Message{"after", 1})
}

// testAround makes calls with everything around them that a client may have.
func testAround(t *testing.T, k Kit) {
	w := start(t, k)
	var steps []string
	hook := &hook{add: func(s string) { steps = append(steps, s) }}
	c := w.dial(func(cfg *weft.ClientConfig) {
		cfg.Plugins = []weft.Plugin{{Name: "p", Client: func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			steps = append(steps, "interceptor "+info.Method)
			return next(ctx, info, req)
		}, Hooks: []any{hook}}}
		cfg.Credential = weft.StaticCredential("Bearer", "token")
	})
	var md weft.Metadata
	ctx := weft.WithMetadata(t.Context(), "trace", "4711")
	back := new(Message)
	must(t, c.Call(ctx, "Test.Echo", &Message{"x", 1}, back, weft.WithReplyMetadata(&md), weft.WithAttempt(1)))
	if got, want := strings.Join(steps, ", "), "interceptor Test.Echo, before Test.Echo, after Test.Echo"; got != want || back.N != 1 {
		t.Errorf("%s, want %s", got, want)
	}
}

type hook struct{ add func(string) }

func (h *hook) BeforeWriteRequest(_ context.Context, info *weft.CallInfo, _ any) error {
	h.add("before " + info.Method)
	return nil
}

func (h *hook) AfterReadReplyBody(_ context.Context, info *weft.CallInfo, _ error) {
	h.add("after " + info.Method)
}

func testStreams(t *testing.T, k Kit) {
	c := start(t, k).dial(nil)
	s, err := weft.Subscribe[Message](t.Context(), c, "Test.Count", &Message{N: 3})
	if !k.Streams {
		wantError(t, err, weft.Unimplemented, weft.NotSent, "no streams")
		return
	}
	must(t, err)
	n := 0
	for m, err := range s.All() {
		must(t, err)
		if n++; m.N != n {
			t.Errorf("message %d has %d", n, m.N)
		}
	}
	if n != 3 {
		t.Errorf("%d messages", n)
	}
}

// testBytes looks at what the client counts of the bodies of calls and the messages of streams.
func testBytes(t *testing.T, k Kit) {
	if k.NoBytes {
		return
	}
	c := start(t, k).dial(nil)
	of := func(method string) (m weft.MethodStats) {
		for _, m = range c.Stats().Methods {
			if m.Method == method {
				return m
			}
		}
		t.Fatalf("%s is not counted", method)
		return m
	}
	const calls, size = 5, 1000
	for n := range calls {
		echo(t, c, Message{strings.Repeat("x", size), n})
	}
	must(t, c.Call(t.Context(), "Test.Echo", &Message{strings.Repeat("x", size), 0}, nil)) // the reply came all the same
	m := of("Test.Echo")
	for what, n := range map[string]uint64{"requests": m.RequestBytes, "replies": m.ReplyBytes} {
		if n < (calls+1)*size || n > (calls+1)*(size+200) {
			t.Errorf("the bodies of %d %s with %d bytes of text are counted as %d bytes", calls+1, what, size, n)
		}
	}
	if requests, replies := c.MethodBytes("Test.Echo"); requests != m.RequestBytes || replies != m.ReplyBytes {
		t.Errorf("MethodBytes has %d and %d, Stats %d and %d", requests, replies, m.RequestBytes, m.ReplyBytes)
	}
	if !k.Streams {
		return
	}
	const messages = 30
	s, err := weft.Subscribe[Message](t.Context(), c, "Test.Count", &Message{Text: strings.Repeat("x", size), N: messages})
	must(t, err)
	for _, err := range s.All() {
		must(t, err)
	}
	if m = of("Test.Count"); m.RequestBytes < size || m.RequestBytes > size+200 || m.ReplyBytes < messages || m.ReplyBytes > messages*200 {
		t.Errorf("a message with %d bytes of text is counted as %d bytes, and %d short ones that came as %d", size, m.RequestBytes, messages, m.ReplyBytes)
	}
}

// testCluster calls servers of two wires through one client.
func testCluster(t *testing.T, k Kit) {
	w := start(t, k)
	srv := weft.NewServer(&weft.ServerConfig{Logger: k.config().Logger})
	must(t, weft.Handle(srv, "Test.Echo", func(_ context.Context, m *Message) (*Message, error) { return m, nil }))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	// It ends when the server does.
	go func() { served <- srv.Serve(l) }()
	defer func() {
		srv.Close()
		<-served
	}()
	reg, err := static.New(w.address(), "tcp://"+l.Addr().String())
	must(t, err)
	defer reg.Close()
	c, err := cluster.New(&cluster.Config{Registry: reg, Client: k.config(), Logger: k.config().Logger})
	must(t, err)
	defer c.Close()
	made := uint64(0)
	polltest.Until(t, patience, "both servers get calls", func() error {
		for range 200 {
			echo(t, c, Message{"cluster", int(made)})
			made++
		}
		if got := srv.Stats().Methods; len(got) != 1 || got[0].Calls == 0 || got[0].Calls == made {
			return fmt.Errorf("weft's own server got %+v of %d calls", got, made)
		}
		return nil
	})
	if why := c.Explain(t.Context(), "Test.Echo", nil).String(); !strings.Contains(why, w.address()) {
		t.Errorf("Explain does not name %s:\n%s", w.address(), why)
	}
}
