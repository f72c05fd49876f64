package grpc

import (
	"context"
	"errors"
	"log/slog"
	"slices"
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

// stalling is a server of gRPC with a method that sends two messages of a size, one that receives nothing before it is let go, and
// one that answers with as many bytes as its request says; and a client of it with one connection.
type stalling struct {
	c       *weft.Client
	counted *holding.Counting
	began   atomic.Int32
	let     chan struct{} // lets the receivers go
}

func newStalling(t *testing.T, size int, limits weft.Limits) *stalling {
	s := &stalling{counted: holding.NewCounting(weft.DefaultCodecs()[0]), let: make(chan struct{})}
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{Door(nil)}, Logger: slog.New(slog.DiscardHandler), Overload: weft.Overload{Off: true},
		Codecs: []codec.Codec{s.counted}, Limits: limits})
	err := errors.Join(
		weft.HandleServerStream(srv, "Test.Long", func(_ context.Context, _ *doortest.Unread, out *weft.Sender[doortest.Unread]) error {
			s.began.Add(1)
			for range 2 {
				if err := out.Send(&doortest.Unread{Body: make([]byte, size)}); err != nil {
					return err
				}
			}
			return nil
		}),
		weft.HandleClientStream(srv, "Test.Late", func(_ context.Context, in *weft.Receiver[doortest.Unread]) (*doortest.Unread, error) {
			s.began.Add(1)
			<-s.let
			n := 0
			for m, err := range in.All() {
				if err != nil {
					return nil, err
				}
				n += len(m.Body)
			}
			return &doortest.Unread{Body: make([]byte, n)}, nil
		}),
		weft.Handle(srv, "Test.Double", func(_ context.Context, in *doortest.Unread) (*doortest.Unread, error) {
			return &doortest.Unread{Body: make([]byte, 2*len(in.Body))}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() { _ = srv.Serve(l) })
	t.Cleanup(func() {
		srv.Close()
		served.Wait()
	})
	s.c, err = weft.Dial(t.Context(), "grpc://"+l.Addr().String(), &weft.ClientConfig{Wires: []weft.Wire{Wire(nil)}, MaxConns: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.c.Close() })
	return s
}

// subscribe opens streams of Test.Long, and waits until no more of their messages are encoded. It returns how many were.
func (s *stalling) subscribe(t *testing.T, ctx context.Context, streams int32) (all []*weft.Stream[doortest.Unread, doortest.Unread], encoded int64) {
	for range streams {
		in, err := weft.Subscribe[doortest.Unread](ctx, s.c, "Test.Long", &doortest.Unread{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close() })
		all = append(all, in)
	}
	polltest.True(t, time.Minute, "all handlers send", func() bool { return s.began.Load() == streams })
	row := 0
	polltest.True(t, time.Minute, "messages were encoded, and no more for a second", func() bool {
		now := s.counted.Encoded()
		if row++; now != encoded || now == 0 {
			encoded, row = now, 0
		}
		return row >= int(time.Second/polltest.Pause)
	})
	return all, encoded
}

// answers makes calls with small and large replies, beside streams that stall.
func (s *stalling) answers(t *testing.T, ctx context.Context) {
	for _, n := range []int{10, 100 << 10, 1 << 20} {
		if out, err := weft.Invoke[doortest.Unread](ctx, s.c, "Test.Double", &doortest.Unread{Body: make([]byte, n)}); err != nil || len(out.Body) != 2*n {
			t.Errorf("a call with %d bytes, beside streams that are not read: %v", n, err)
		}
	}
}

// TestStalledStreams: of the messages that handlers send on many streams few are encoded while the client receives none; calls are answered
// meanwhile, and when the client receives, all come. A client of weft opens windows for the rest of a message that it has begun to read, so that
// the first one of a stream comes whole, and not for the one behind it.
func TestStalledStreams(t *testing.T) {
	const streams, size = 120, 1 << 20
	s := newStalling(t, size, weft.Limits{MaxStreamBytes: 16 << 20})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	all, encoded := s.subscribe(t, ctx, streams)
	if encoded > streams*3/2 {
		t.Errorf("%d of %d messages are encoded, though the client receives none", encoded, 2*streams)
	}
	s.answers(t, ctx)
	// All at once: more waits for the windows of some streams than may, which holds up the other streams.
	var received sync.WaitGroup
	defer received.Wait()
	for _, in := range all {
		received.Go(func() { receiveTwo(t, in, size) })
	}
}

func receiveTwo(t *testing.T, in *weft.Stream[doortest.Unread, doortest.Unread], size int) {
	for range 2 {
		if m, err := in.Recv(); err != nil || len(m.Body) != size {
			t.Errorf("%v", err)
			return
		}
	}
}

// TestStreamsInTurn: a client reads many streams one after the other, of which each has more to send than its window allows.
func TestStreamsInTurn(t *testing.T) {
	const streams, size = 100, 512 << 10
	s := newStalling(t, size, weft.Limits{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	all, _ := s.subscribe(t, ctx, streams)
	s.answers(t, ctx)
	for _, in := range slices.Backward(all) { // the last one to begin has the least chance
		if receiveTwo(t, in, size); t.Failed() {
			return
		}
	}
}

// TestStalledUploads: what a client sends on streams that handlers do not read holds up neither its calls nor its other streams.
func TestStalledUploads(t *testing.T) {
	const streams, size = 20, 512 << 10
	s := newStalling(t, 0, weft.Limits{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var sent sync.WaitGroup
	defer sent.Wait()
	for range streams {
		out, err := weft.OpenStream[doortest.Unread, doortest.Unread](ctx, s.c, "Test.Late")
		if err != nil {
			t.Fatal(err)
		}
		sent.Go(func() {
			for range 3 {
				if err := out.Send(&doortest.Unread{Body: make([]byte, size)}); err != nil {
					t.Errorf("send: %v", err)
					return
				}
			}
			if err := out.CloseSend(); err != nil {
				t.Errorf("end: %v", err)
			}
			if got, err := out.Recv(); err != nil || len(got.Body) != 3*size {
				t.Errorf("receive: %v", err)
			}
		})
	}
	polltest.True(t, time.Minute, "all handlers wait", func() bool { return s.began.Load() == streams })
	s.answers(t, ctx)
	close(s.let)
}
