package doortest

import (
	"context"
	"fmt"
	"log/slog"
	"net"
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
// once to a client that reads nothing some wait, and the others are dropped. When the client reads on, each of its calls is
// answered.
func UnreadReplies(t *testing.T, door weft.Door, wire weft.Wire) {
	const calls, size = 200, 1 << 20
	limits := weft.Limits{MaxMessage: 4 << 20, MaxMetadata: weft.DefaultMaxMetadata, StreamWindow: weft.DefaultStreamWindow, WriteBuffer: weft.DefaultWriteBuffer,
		WriteTimeout: time.Minute, PingInterval: time.Minute, PingIdle: time.Minute, PingTimeout: time.Minute}
	release := make(chan struct{})
	var running atomic.Int32
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{door}, Logger: slog.New(slog.DiscardHandler), Limits: limits, Timeout: -1,
		Overload: weft.Overload{Off: true}, MaxMemory: 1 << 30})
	must(t, weft.Handle(srv, "Unread.Get", func(context.Context, *Unread) (*Unread, error) {
		running.Add(1)
		<-release
		return &Unread{make([]byte, size)}, nil
	}))
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	must(t, err)
	var served sync.WaitGroup
	served.Go(func() { _ = srv.Serve(l) })
	defer served.Wait()
	defer srv.Close()

	under, err := net.Dial("tcp", l.Addr().String())
	must(t, err)
	conn := &muted{Conn: under, unmuted: make(chan struct{})}
	defer conn.unmute()
	var waiting sync.WaitGroup
	defer waiting.Wait()
	w, err := wire.Dial(t.Context(), weft.WireConfig{Dial: func(context.Context) (net.Conn, error) { return conn, nil },
		Limits: limits, Logger: slog.New(slog.DiscardHandler), Address: l.Addr().String()})
	must(t, err)
	defer w.Close()
	codec := weft.DefaultCodecs()[0]
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a busy machine takes a minute for the replies
	defer cancel()
	var good, dropped atomic.Int32
	for range calls {
		waiting.Go(func() {
			var reply Unread
			err := w.Call(ctx, &weft.WireCall{Method: "Unread.Get", Codec: codec, Args: &Unread{}, Reply: &reply})
			switch {
			case err == nil && len(reply.Body) == size:
				good.Add(1)
			case weft.CodeOf(err) == weft.ResourceExhausted:
				dropped.Add(1)
			default:
				t.Errorf("a call ended with %d bytes and the error %v", len(reply.Body), err)
			}
		})
	}
	polltest.True(t, 2*time.Minute, "all handlers run", func() bool { return running.Load() == calls })
	conn.mute()
	close(release)
	polltest.Until(t, 2*time.Minute, "replies are dropped while the client reads nothing", func() error {
		if n := srv.Stats().InFlight; n > calls/2 {
			return fmt.Errorf("%d calls are in flight", n)
		}
		return nil
	})
	conn.unmute()
	waiting.Wait()
	if g, d := good.Load(), dropped.Load(); g+d != calls || g < calls/8 || d < calls/4 {
		t.Errorf("%d calls were answered, and the replies of %d dropped", g, d)
	}
}

// muted is a connection that can stop reading.
type muted struct {
	net.Conn
	is      atomic.Bool
	once    sync.Once
	unmuted chan struct{} // closed when it reads on
}

func (m *muted) mute() { m.is.Store(true) }

func (m *muted) unmute() { m.once.Do(func() { close(m.unmuted) }) }

// Read implements net.Conn.
func (m *muted) Read(b []byte) (int, error) {
	if m.is.Load() {
		<-m.unmuted
	}
	return m.Conn.Read(b)
}
