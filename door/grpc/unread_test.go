package grpc

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/door/doortest"
	"github.com/weftrpc/weft/door/internal/holding"
	"github.com/weftrpc/weft/internal/polltest"
)

// TestUnreadReplies: what handlers return to a client that does not read is bounded.
func TestUnreadReplies(t *testing.T) { doortest.UnreadReplies(t, Door(nil), Wire(nil)) }

// TestStalledStreams: of the messages that handlers send on many streams few are encoded while the client opens no windows; when
// it receives, all come. A client of weft opens them for the rest of a message that it has begun to read, so that the first one of a stream
// comes whole, and not for the one behind it.
func TestStalledStreams(t *testing.T) {
	const streams, size = 120, 1 << 20
	var began atomic.Int32
	counted := holding.NewCounting(weft.DefaultCodecs()[0])
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{Door(nil)}, Logger: slog.New(slog.DiscardHandler), Overload: weft.Overload{Off: true},
		Codecs: []codec.Codec{counted}})
	err := weft.HandleServerStream(srv, "Test.Long", func(_ context.Context, _ *doortest.Unread, out *weft.Sender[doortest.Unread]) error {
		began.Add(1)
		for range 2 {
			if err := out.Send(&doortest.Unread{Body: make([]byte, size)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() { _ = srv.Serve(l) })
	defer served.Wait()
	defer srv.Close()
	c, err := weft.Dial(t.Context(), "grpc://"+l.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{Wire(nil)}, MaxConns: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all []*weft.Stream[doortest.Unread, doortest.Unread]
	for range streams {
		s, err := weft.Subscribe[doortest.Unread](ctx, c, "Test.Long", &doortest.Unread{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		all = append(all, s)
	}
	polltest.True(t, time.Minute, "all handlers send", func() bool { return began.Load() == streams })
	last, row := int64(0), 0
	polltest.True(t, time.Minute, "messages were encoded, and no more for a second", func() bool {
		now := counted.Encoded()
		if row++; now != last || now == 0 {
			last, row = now, 0
		}
		return row >= int(time.Second/polltest.Pause)
	})
	if last > streams*3/2 {
		t.Errorf("%d of %d messages are encoded, though the client receives none", last, 2*streams)
	}
	// All at once: what waits for the windows of some streams holds up the others of the connection.
	var received sync.WaitGroup
	defer received.Wait()
	for _, s := range all {
		received.Go(func() {
			for range 2 {
				if m, err := s.Recv(); err != nil || len(m.Body) != size {
					t.Errorf("%v", err)
					return
				}
			}
		})
	}
}
