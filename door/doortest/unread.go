package doortest

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
)

// Unread is the request and the reply of the calls of [UnreadReplies].
type Unread struct {
	Body []byte `weft:"1"`
}

// UnreadReplies holds a door to the bound of weft.DoorReplies, by a client of its wire: of the replies that handlers return at
// once to a client that reads nothing some wait, and the others are dropped, so that they take little memory; another connection is served
// meanwhile. When the client reads on, each of its calls is answered.
func UnreadReplies(t *testing.T, door weft.Door, wire weft.Wire) {
	const calls = 200
	before := HeapInUse()
	u := startUnread(t, door, wire, calls, 5*time.Minute)
	defer u.end()
	call := u.another(t, wire)
	u.mute(t)
	polltest.Until(t, 2*time.Minute, "little memory is held for a client that reads nothing", func() error {
		if kept := HeapInUse() - before; kept > calls*unreadSize*2/3 {
			return fmt.Errorf("%d MiB are held of %d replies of 1 MiB", kept>>20, calls)
		}
		return nil
	})
	call() // the client reads nothing until this has ended
	u.conn.unmute()
	u.waiting.Wait()
	if g, d := u.good.Load(), u.dropped.Load(); g+d != calls || g < calls/8 || d < calls/4 {
		t.Errorf("%d calls were answered, and the replies of %d dropped; %d ended otherwise", g, d, u.lost.Load())
	}
}

// NeverReads holds a door to ending the connection of a client that reads nothing more, in about Limits.WriteTimeout.
// The calls of other connections go on meanwhile, and when the replies are given up.
func NeverReads(t *testing.T, door weft.Door, wire weft.Wire) {
	const calls = 200
	u := startUnread(t, door, wire, calls, time.Second)
	defer u.end()
	call := u.another(t, wire)
	u.mute(t)
	for begun := time.Now(); len(u.srv.Peers()) > 1; {
		if time.Since(begun) > 2*time.Minute {
			t.Fatal("the connection goes on")
		}
		call()
		time.Sleep(10 * time.Millisecond)
	}
	polltest.True(t, 2*time.Minute, "no call is in flight", func() bool { return u.srv.Stats().InFlight == 0 })
}

// unreadSize is how many bytes the replies have.
const unreadSize = 1 << 20

// unread are calls of a client that can stop reading, and their server.
type unread struct {
	srv     *weft.Server
	addr    string
	calls   int
	conn    *muted
	release chan struct{} // closed when the handlers are to return
	waiting sync.WaitGroup
	end     func()

	good, dropped, lost atomic.Int32 // calls that have ended
}

// startUnread makes calls of a client, and returns when all handlers run. They return when the client is muted.
func startUnread(t *testing.T, door weft.Door, wire weft.Wire, calls int, timeout time.Duration) *unread {
	limits := weft.Limits{MaxMessage: 4 << 20, MaxMetadata: weft.DefaultMaxMetadata, StreamWindow: weft.DefaultStreamWindow, WriteBuffer: weft.DefaultWriteBuffer,
		HandshakeTimeout: time.Minute, WriteTimeout: timeout, PingInterval: time.Minute, PingIdle: time.Minute, PingTimeout: time.Minute}
	u := &unread{calls: calls, release: make(chan struct{})}
	var running atomic.Int32
	u.srv = weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{door}, Logger: slog.New(slog.DiscardHandler), Limits: limits, Timeout: -1,
		Overload: weft.Overload{Off: true}, MaxMemory: 1 << 30})
	must(t, weft.Handle(u.srv, "Unread.Get", func(context.Context, *Unread) (*Unread, error) {
		running.Add(1)
		<-u.release
		return &Unread{make([]byte, unreadSize)}, nil
	}))
	l, err := u.srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	u.addr = l.Addr().String()
	var served sync.WaitGroup
	served.Go(func() { _ = u.srv.Serve(l) })

	under, err := net.Dial("tcp", u.addr)
	must(t, err)
	u.conn = newMuted(under)
	w, err := wire.Dial(t.Context(), weft.WireConfig{Dial: func(context.Context) (net.Conn, error) { return u.conn, nil },
		Limits: limits, Logger: slog.New(slog.DiscardHandler), Address: u.addr})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	u.end = func() {
		u.conn.unmute()
		cancel()
		w.Close()
		u.srv.Close()
		served.Wait()
		u.waiting.Wait()
	}
	codec := weft.DefaultCodecs()[0]
	for range calls {
		u.waiting.Go(func() {
			var reply Unread
			err := w.Call(ctx, &weft.WireCall{Method: "Unread.Get", Codec: codec, Args: &Unread{}, Reply: &reply})
			switch {
			case err == nil && len(reply.Body) == unreadSize:
				u.good.Add(1)
			case weft.CodeOf(err) == weft.ResourceExhausted:
				u.dropped.Add(1)
			default:
				u.lost.Add(1)
			}
		})
	}
	polltest.True(t, 2*time.Minute, "all handlers run", func() bool { return int(running.Load()) == calls })
	return u
}

// mute has the client read nothing more, and the handlers return. It returns when replies were dropped.
func (u *unread) mute(t *testing.T) {
	u.conn.mute()
	close(u.release)
	polltest.Until(t, 2*time.Minute, "replies are dropped while the client reads nothing", func() error {
		if n := u.srv.Stats().InFlight; n > u.calls/2 {
			return fmt.Errorf("%d calls are in flight", n)
		}
		return nil
	})
}

// another returns a call on a connection of its own, which must be answered.
func (u *unread) another(t *testing.T, wire weft.Wire) func() {
	c, err := weft.Dial(t.Context(), wire.Scheme()+"://"+u.addr, &weft.ClientConfig{Wires: []weft.Wire{wire}, Logger: slog.New(slog.DiscardHandler),
		Timeout: 2 * time.Minute}) // far less than the client of UnreadReplies may take; the machine may be busy
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return func() {
		t.Helper()
		if reply, err := weft.Invoke[Unread](t.Context(), c, "Unread.Get", &Unread{}); err != nil || len(reply.Body) != unreadSize {
			t.Fatalf("another connection: %v", err)
		}
	}
}

// HeapInUse is how many bytes are in use, behind a collection.
func HeapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// muted is a connection that can stop reading, until it reads on or is closed.
type muted struct {
	net.Conn
	is      atomic.Bool
	once    sync.Once
	unmuted chan struct{} // closed when it reads on
}

func newMuted(conn net.Conn) *muted { return &muted{Conn: conn, unmuted: make(chan struct{})} }

func (m *muted) mute() { m.is.Store(true) }

func (m *muted) unmute() { m.once.Do(func() { close(m.unmuted) }) }

// Read implements net.Conn.
func (m *muted) Read(b []byte) (int, error) {
	if m.is.Load() {
		<-m.unmuted
	}
	return m.Conn.Read(b)
}

// Close implements net.Conn.
func (m *muted) Close() error {
	err := m.Conn.Close()
	m.unmute()
	return err
}
