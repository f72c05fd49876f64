package weft_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
)

// inbox is a service that a client offers to its server.
type inbox struct{ got chan string }

func (in *inbox) services(t testing.TB) *weft.Services {
	t.Helper()
	s := weft.NewServices()
	must(t, errors.Join(
		weft.Handle(s, "Inbox.Put", func(_ context.Context, text *string) (*string, error) {
			in.got <- *text
			reply := "got " + *text
			return &reply, nil
		}),
		weft.Handle(s, "Inbox.Fail", func(context.Context, *string) (*string, error) {
			return nil, weft.Errorf(weft.Aborted, "the inbox is full")
		}),
		weft.HandleStream(s, "Inbox.Echo", func(_ context.Context, st *weft.Stream[string, string]) error {
			for text, err := range st.All() {
				if err != nil {
					return err
				}
				if err := st.Send(text); err != nil {
					return err
				}
			}
			return nil
		})))
	return s
}

// A server calls its client back from inside a handler, and at any time after.
func TestServerCallsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := make(chan *weft.Peer, 1)
		w := start(t, nil, func(s *weft.Server) error {
			return weft.Handle(s, "Chat.Join", func(ctx context.Context, name *string) (*string, error) {
				p := weft.PeerFrom(ctx)
				peers <- p
				return weft.Invoke[string](ctx, p, "Inbox.Put", "welcome "+*name)
			})
		})
		in := &inbox{make(chan string, 10)}
		c := w.dial(&weft.ClientConfig{Services: in.services(t)})
		ctx := t.Context()
		reply, err := weft.Invoke[string](ctx, c, "Chat.Join", "alice")
		if err != nil || *reply != "got welcome alice" || <-in.got != "welcome alice" {
			t.Fatal(reply, err)
		}

		p := <-peers // and now nothing runs
		if got := w.srv.Peers(); !slices.Equal(got, []*weft.Peer{p}) {
			t.Errorf("peers %v, want the caller's", got)
		}
		if r, err := weft.Invoke[string](ctx, p, "Inbox.Put", "push"); err != nil || *r != "got push" || <-in.got != "push" {
			t.Error(r, err)
		}
		must(t, p.Notify(ctx, "Inbox.Put", "one way"))
		if got := <-in.got; got != "one way" {
			t.Errorf("the notification was %q", got)
		}
		e := wantError(t, p.Call(ctx, "Inbox.Fail", "x", nil), weft.Aborted, weft.Executed, "the inbox is full")
		if e.Peer != p.Addr().String() || e.Method != "Inbox.Fail" {
			t.Errorf("%+v", e)
		}
		wantError(t, p.Call(ctx, "Inbox.Nope", "x", nil), weft.Unimplemented, weft.Refused, "Inbox.Echo")
		s, err := weft.OpenStream[string, string](ctx, p, "Inbox.Echo")
		must(t, err)
		for i := range 100 {
			text := fmt.Sprint("message ", i)
			must(t, s.Send(&text))
			if back, err := s.Recv(); err != nil || *back != text {
				t.Fatal(back, err)
			}
		}
		must(t, s.CloseSend())
		if _, err := s.Recv(); err != io.EOF {
			t.Error(err)
		}

		c.Close()
		<-p.Done()
		synctest.Wait()
		wantError(t, p.Call(ctx, "Inbox.Put", "late", nil), weft.Unavailable, weft.NotSent)
		wantError(t, p.Notify(ctx, "Inbox.Put", "late"), weft.Unavailable, weft.NotSent)
		wantError(t, p.Notify(ctx, "Inbox.Put", "late", weft.WithTimeout(0)), weft.InvalidArgument, weft.NotSent)
		_, err = weft.Subscribe[string](ctx, p, "Inbox.Echo", ptr("late"))
		wantError(t, err, weft.Unavailable, weft.NotSent)
		_, err = weft.Subscribe[string](ctx, p, "Inbox.Echo", ptr("late"), weft.WithTimeout(0))
		wantError(t, err, weft.InvalidArgument, weft.NotSent)
		if n := len(w.srv.Peers()); n != 0 {
			t.Errorf("%d peers are left", n)
		}
	})
}

// A server that calls a client without services is told.
func TestServerCallsClientWithoutServices(t *testing.T) {
	w := start(t, nil, func(s *weft.Server) error {
		return weft.Handle(s, "Chat.Join", func(ctx context.Context, name *string) (*string, error) {
			return weft.Invoke[string](ctx, weft.PeerFrom(ctx), "Inbox.Put", name)
		})
	})
	for name, cfg := range map[string]*weft.ClientConfig{"none": nil, "an empty set": {Services: weft.NewServices()}} {
		t.Run(name, func(t *testing.T) {
			c := w.dial(cfg)
			_, err := weft.Invoke[string](t.Context(), c, "Chat.Join", "alice")
			wantError(t, err, weft.Unimplemented, weft.Executed)
		})
	}
}

// Calls that nest on one connection, back and forth, never deadlock: not ten levels
// deep, not from many callers at once, not when every one runs on the reader.
func TestNestedCalls(t *testing.T) {
	const depth = 10
	deeper := func(ctx context.Context, level *int) (*int, error) {
		if *level == 0 {
			zero := 0
			return &zero, nil
		}
		below, err := weft.Invoke[int](ctx, weft.PeerFrom(ctx), "Nest.Down", *level-1)
		if err != nil {
			return nil, err
		}
		*below++
		return below, nil
	}
	register := func(r weft.Registrar) error { return weft.Handle(r, "Nest.Down", deeper) }
	services := weft.NewServices()
	must(t, register(services))
	c := start(t, nil, func(s *weft.Server) error { return register(s) }).dial(&weft.ClientConfig{Services: services, MaxConns: 1})
	down := func(level int) {
		n, err := weft.Invoke[int](t.Context(), c, "Nest.Down", level)
		if err != nil || *n != level {
			t.Errorf("level %d: %v, %v", level, n, err)
		}
	}
	for range 100 { // the method becomes known as fast, and runs on the reader
		down(0)
	}
	for range 5 {
		down(depth)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for range 5 {
				down(depth)
			}
		})
	}
	wg.Wait()
}

// A push to every peer reaches each, and one that is gone delays no other.
func TestPushToAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil, nil)
		var boxes []*inbox
		for range 5 {
			in := &inbox{make(chan string, 10)}
			boxes = append(boxes, in)
			w.dial(&weft.ClientConfig{Services: in.services(t)})
		}
		synctest.Wait()
		w.last.Load().Out().Stall() // the last client has vanished without a word
		w.last.Load().In().Stall()
		peers := w.srv.Peers()
		for _, p := range peers {
			must(t, p.Notify(t.Context(), "Inbox.Put", "news"))
		}
		time.Sleep(time.Minute)
		for i, in := range boxes {
			if want := min(1, 4-i); len(in.got) != want {
				t.Errorf("client %d got %d notifications, want %d", i, len(in.got), want)
			}
		}
		gone := slices.DeleteFunc(peers, func(p *weft.Peer) bool { return slices.Contains(w.srv.Peers(), p) })
		if len(gone) != 1 {
			t.Errorf("the pings found %d peers gone, want 1", len(gone))
		}
	})
}

func TestPeerAttributes(t *testing.T) {
	peers := make(chan *weft.Peer, 1)
	w := start(t, nil, func(s *weft.Server) error {
		return errors.Join(s.Register(Arith{}), weft.Handle(s, "Peer.Me", func(ctx context.Context, _ *Args) (*Product, error) {
			peers <- weft.PeerFrom(ctx)
			return &Product{}, nil
		}))
	})
	c := w.dial(&weft.ClientConfig{Name: "billing/1.4 (test)"})
	must(t, c.Call(t.Context(), "Peer.Me", &Args{}, nil))
	p := <-peers
	if server := c.Peer(); p.Name() != "billing/1.4 (test)" || server.Name() != "" || time.Since(p.Opened()) < 0 || time.Since(p.Opened()) > time.Hour {
		t.Errorf("%q, %q, %v", p.Name(), server.Name(), p.Opened())
	}
	for _, name := range []string{strings.Repeat("n", 201), "two\nlines", " billing", "\xff"} {
		if _, err := weft.Dial(t.Context(), address, &weft.ClientConfig{Name: name, Transports: transports(w.net)}); !errors.Is(err, weft.InvalidArgument) {
			t.Errorf("the name %q: %v", name, err)
		}
	}
	if p.LocalAddr().String() != "server" || !strings.HasPrefix(p.Addr().String(), "client-") || p.TLS() != nil || p.Principal() != nil ||
		!strings.HasPrefix(p.Software(), "weft-go/") {
		t.Errorf("%v, %v, %v, %v, %q", p.LocalAddr(), p.Addr(), p.TLS(), p.Principal(), p.Software())
	}
	if mine := c.Peer(); mine.Addr().String() != "server" || mine.LocalAddr().String() != p.Addr().String() {
		t.Errorf("the client's view: %v, %v", mine.Addr(), mine.LocalAddr())
	}
	if weft.PeerFrom(t.Context()) != nil {
		t.Error("there is a peer outside of a handler")
	}
	seen := c.Peer()
	p.Close() // the server hangs up; the client connects anew
	<-seen.Done()
	multiply(t, c)
}

// What a client serves goes through its hooks, codecs and limits, as at a server.
func TestClientServes(t *testing.T) {
	var d diary
	var handled atomic.Int32
	services := weft.NewServices()
	must(t, weft.Handle(services, "Small.Box", func(_ context.Context, s *string) (*string, error) {
		handled.Add(1)
		return s, nil
	}))
	w := start(t, nil, nil)
	w.dial(&weft.ClientConfig{
		Services: services, Codecs: nil, Limits: weft.Limits{MaxMessage: 100},
		Hooks: []any{&named{&d, "before body", nil}},
	})
	p := onlyPeer(t, w)
	if s, err := weft.Invoke[string](t.Context(), p, "Small.Box", "x"); err != nil || *s != "x" {
		t.Error(s, err)
	}
	d.want(t, "before body")
	err := p.Call(t.Context(), "Small.Box", strings.Repeat("x", 200), nil)
	wantError(t, err, weft.ResourceExhausted, weft.NotSent, "larger than the 100")
	wantError(t, p.Call(t.Context(), "Small.Box", "x", nil, weft.WithCodec(textCodec{"text"})), weft.InvalidArgument, weft.NotSent, "no text for a string")
	if n := handled.Load(); n != 1 {
		t.Errorf("handled %d calls", n)
	}
}

// onlyPeer waits for the server's one peer.
func onlyPeer(t testing.TB, w *world) *weft.Peer {
	t.Helper()
	polltest.True(t, time.Minute, "the server has one peer", func() bool { return len(w.srv.Peers()) == 1 })
	return w.srv.Peers()[0]
}

// A client's handler that hangs, even where the client reads, keeps it neither from
// connecting again nor from being closed.
func TestHangingHandlerOfClient(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	began := make(chan struct{}, 1)
	services := weft.NewServices()
	must(t, weft.Handle(services, "Inbox.Put", func(_ context.Context, text *string) (*string, error) {
		if *text == "hang" {
			began <- struct{}{}
			<-release
		}
		return text, nil
	}))
	w := start(t, nil, nil)
	c := w.dial(&weft.ClientConfig{Services: services})
	multiply(t, c)
	others := func(p *weft.Peer) []*weft.Peer {
		return slices.DeleteFunc(w.srv.Peers(), func(other *weft.Peer) bool { return other == p })
	}
	p := w.srv.Peers()[0]
	for range 2 {
		for range 50 { // it becomes known as fast
			must(t, p.Call(t.Context(), "Inbox.Put", "x", nil))
		}
		go p.Notify(context.Background(), "Inbox.Put", "hang") // it ends with the connection
		<-began
		p.Close()
		<-p.Done()
		polltest.True(t, time.Minute, "the client connects again", func() bool { return len(others(p)) > 0 })
		multiply(t, c)
		p = others(p)[0]
	}
	closed := make(chan struct{})
	go func() { c.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(5 * time.Second):
		t.Error("Close waits for a handler")
	}
}
