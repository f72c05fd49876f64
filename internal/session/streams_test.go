package session

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport/mem"
)

// sink receives everything and says at the end how many messages and bytes it were.
func sink(counts *atomic.Int64) *Method {
	return streaming("Sink.All", func(_ *Context, st *Stream) *wire.Status {
		for {
			b, status := recv(st)
			if b == nil {
				return status
			}
			counts.Add(1)
		}
	})
}

// stallOn receives nothing until its context ends, or release is closed; then everything.
func stallOn(release chan struct{}) *Method {
	return streaming("Sink.Stall", func(ctx *Context, st *Stream) *wire.Status {
		select {
		case <-ctx.Done():
			return ended(ctx)
		case <-release:
		}
		for {
			if b, status := recv(st); b == nil {
				return status
			}
		}
	})
}

// Messages of all sizes come back whole and in order, large ones, which travel in
// chunks, between small ones.
func TestStreamOrder(t *testing.T) {
	lengths := []int{0, 10, 100_000, 0, 1, wire.MaxPayload, wire.MaxPayload + 1, 3, 200_000, 150_000, 7, 0, 40_000, 1 << 20, 5}
	for _, compressed := range []bool{false, true} {
		r := newRig(t, setup{pipe: &mem.PipeConfig{Buffer: 40_000}}, chat())
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				st := openStream(t, context.Background(), r.client, "Echo.Chat")
				if compressed {
					st.SetCompress(gzip.New())
				}
				wg.Go(func() {
					for i, n := range lengths {
						b := pattern(n)
						if n > 0 {
							b[0] = byte(i)
						}
						if status := st.Send(b); status != nil {
							t.Errorf("send message %d: %+v", i, status)
							return
						}
					}
					if status := st.CloseSend(); status != nil {
						t.Errorf("close: %+v", status)
					}
				})
				for i, n := range lengths {
					want := pattern(n)
					if n > 0 {
						want[0] = byte(i)
					}
					if got, status := recv(st); got == nil || !bytes.Equal(got, want) {
						t.Errorf("message %d of %d bytes: got %d bytes, %+v", i, n, len(got), status)
						return
					}
				}
				if b, status := recv(st); b != nil || status != nil {
					t.Errorf("at the end came %d bytes, %+v", len(b), status)
				}
			})
		}
		within(t, 30*time.Second, "the streams", wg.Wait)
		r.end()
	}
}

// A sender stops when the peer's window is used up, and goes on when the
// application there has received. Empty messages use it up too.
func TestStreamCredit(t *testing.T) {
	const window = 1000
	for _, tc := range []struct{ size, fit int }{
		{0, 63},      // 63 × 16 = 1008
		{84, 10},     // 10 × 100
		{85, 10},     // the tenth may begin with a credit of 91
		{5000, 1},    // one may always begin
		{100_000, 1}, // in chunks too
		{window/2 + 1, 2},
	} {
		release := make(chan struct{})
		r := newRig(t, setup{server: func(c *Config) { c.Limits.StreamWindow = window }}, stallOn(release), echo())
		st := openStream(t, context.Background(), r.client, "Sink.Stall")
		var sent atomic.Int64
		var wg sync.WaitGroup
		wg.Go(func() {
			for range 3 * tc.fit {
				if status := st.Send(pattern(tc.size)); status != nil {
					t.Errorf("send: %+v", status)
					return
				}
				sent.Add(1)
			}
			st.CloseSend()
		})
		polltest.True(t, time.Minute, "the window is used up", func() bool { return sent.Load() >= int64(tc.fit) })
		time.Sleep(5 * time.Millisecond) // in which no more may be sent
		if n := sent.Load(); n != int64(tc.fit) {
			t.Errorf("messages of %d bytes: %d were sent into a window of %d, want %d", tc.size, n, window, tc.fit)
		}
		mustEcho(t, r.client, "others go on")
		close(release)
		within(t, 20*time.Second, "the rest of the stream", wg.Wait)
		if b, status := recv(st); b != nil || status != nil {
			t.Errorf("the stream ended with %d bytes, %+v", len(b), status)
		}
		r.end()
	}
}

// A consumer that is slow holds up its own stream alone.
func TestSlowConsumer(t *testing.T) {
	release := make(chan struct{})
	var count atomic.Int64
	r := newRig(t, setup{server: func(c *Config) { c.Limits.StreamWindow = 10_000 }}, stallOn(release), sink(&count), echo())
	slow := openStream(t, context.Background(), r.client, "Sink.Stall")
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 100 {
			if status := slow.Send(pattern(1000)); status != nil {
				t.Errorf("send: %+v", status)
			}
		}
		slow.CloseSend()
	})
	quick := openStream(t, context.Background(), r.client, "Sink.All")
	within(t, 20*time.Second, "the quick stream", func() {
		for range 1000 {
			if status := quick.Send(pattern(1000)); status != nil {
				t.Errorf("send: %+v", status)
				return
			}
		}
		quick.CloseSend()
		if b, status := recv(quick); b != nil || status != nil {
			t.Errorf("the quick stream ended with %d bytes, %+v", len(b), status)
		}
	})
	if count.Load() != 1000 {
		t.Errorf("%d messages arrived, want 1000", count.Load())
	}
	mustEcho(t, r.client, "a call")
	close(release)
	within(t, 20*time.Second, "the slow stream", wg.Wait)
	if b, status := recv(slow); b != nil || status != nil {
		t.Errorf("the slow stream ended with %d bytes, %+v", len(b), status)
	}
}

// The answerer sends many, ends with metadata, or with an error in the middle.
func TestStreamDown(t *testing.T) {
	meta := string(wire.AppendPair(nil, "trailer", "yes"))
	r := newRig(t, setup{client: func(c *Config) { c.Limits.StreamWindow = 4000 }},
		streaming("Down.Some", func(ctx *Context, st *Stream) *wire.Status {
			for i := range 100 {
				if status := st.Send(pattern(i * 10)); status != nil {
					return status
				}
			}
			ctx.SetReplyMeta(meta)
			return nil
		}),
		streaming("Down.Fail", func(_ *Context, st *Stream) *wire.Status {
			for range 5 {
				if status := st.Send(pattern(50_000)); status != nil {
					return status
				}
			}
			return &wire.Status{Code: wire.FailedPrecondition, Outcome: wire.Executed, Message: "that is all"}
		}))
	c := newCall("Down.Some", nil, nil)
	c.KeepMeta = true
	st, status := r.client.OpenStream(context.Background(), c)
	if status != nil {
		t.Fatal(status)
	}
	for i := range 100 {
		if b, status := recv(st); len(b) != i*10 {
			t.Fatalf("message %d has %d bytes, %+v", i, len(b), status)
		}
	}
	if b, status := recv(st); b != nil || status != nil || st.Meta() != meta {
		t.Errorf("at the end came %d bytes, %+v, metadata %q", len(b), status, st.Meta())
	}
	if status := st.Send([]byte("late")); status == nil || status.Code != wire.OK {
		t.Errorf("send on a stream that has ended well: %+v, want a status with code OK", status)
	}
	if status := st.CloseSend(); status != nil {
		t.Errorf("close of a stream that has ended: %+v", status)
	}

	st = openStream(t, context.Background(), r.client, "Down.Fail")
	for i := range 5 {
		if b, status := recv(st); len(b) != 50_000 {
			t.Fatalf("message %d before the error has %d bytes, %+v", i, len(b), status)
		}
	}
	for range 2 {
		if _, status := recv(st); status == nil || status.Code != wire.FailedPrecondition || status.Outcome != wire.Executed {
			t.Errorf("the stream ended with %+v", status)
		}
	}
	if status := st.Send([]byte("late")); status == nil || status.Code != wire.FailedPrecondition {
		t.Errorf("send on a stream that has failed: %+v, want its error", status)
	}
}

// An opener that cancels in the middle of large messages keeps its slot until the
// peer has ended the call, and nothing on the connection is disturbed.
func TestStreamCancelMidMessage(t *testing.T) {
	release := make(chan struct{})
	close(release)
	var count atomic.Int64
	r := newRig(t, setup{
		pipe:   &mem.PipeConfig{Buffer: 8 << 10},
		server: func(c *Config) { c.Limits.MaxCalls = 4 },
	}, sink(&count), chat(), echo())
	for i := range 60 {
		ctx, cancel := context.WithCancel(context.Background())
		st, status := r.client.OpenStream(ctx, newCall([]string{"Sink.All", "Echo.Chat"}[i%2], nil, nil))
		if status != nil {
			t.Fatalf("stream %d: %+v", i, status)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			for st.Send(pattern(150_000)) == nil {
			}
		})
		time.Sleep(time.Duration(i%7) * 300 * time.Microsecond)
		cancel()
		st.ContextEnded()
		wg.Wait()
		for {
			if b, status := recv(st); b == nil {
				if status == nil || status.Code != wire.Canceled {
					t.Errorf("a stream that was canceled ended with %+v", status)
				}
				break
			}
		}
		mustEcho(t, r.client, "between")
	}
}

// What both sides may and may not do at the ends of a stream.
func TestStreamEnds(t *testing.T) {
	after := make(chan *wire.Status, 1)
	r := newRig(t, setup{},
		streaming("End.Now", func(*Context, *Stream) *wire.Status { return nil }),
		&Method{Name: "End.Late", Streaming: true, Serve: func(r *Request) {
			r.ReplyBytes(nil)
			after <- r.Ctx.Stream().Send([]byte("too late"))
		}}, chat())
	st := openStream(t, context.Background(), r.client, "Echo.Chat")
	st.CloseSend()
	if status := st.Send([]byte("x")); status == nil || status.Outcome != wire.NotSent && status.Code != wire.OK {
		t.Errorf("send after close: %+v, want an error", status)
	}
	if b, status := recv(st); b != nil || status != nil {
		t.Errorf("empty chat ended with %d bytes, %+v", len(b), status)
	}
	st = openStream(t, context.Background(), r.client, "End.Now")
	if b, status := recv(st); b != nil || status != nil {
		t.Errorf("the stream ended with %d bytes, %+v", len(b), status)
	}
	st = openStream(t, context.Background(), r.client, "End.Late")
	if b, status := recv(st); b != nil || status != nil {
		t.Errorf("the stream ended with %d bytes, %+v", len(b), status)
	}
	if status := <-after; status == nil {
		t.Error("the handler could send after it had answered")
	}
	// A unary method cannot be opened, a streaming one not be called.
	if _, st := invoke(r.client, "Echo.Chat", ""); st == nil || st.Code != wire.Unimplemented || st.Outcome != wire.Refused {
		t.Errorf("call of a streaming method: %+v", st)
	}
}

// A message that cannot be encoded or decoded ends the stream, with the right code.
func TestStreamBadCodec(t *testing.T) {
	boom := func() error { return errors.New("boom") }
	r := newRig(t, setup{}, chat())
	open := func(bad badCodec) *Stream {
		bad.Codec = raw.New()
		c := newCall("Echo.Chat", nil, nil)
		c.Codec = bad
		st, status := r.client.OpenStream(context.Background(), c)
		if status != nil {
			t.Fatal(status)
		}
		return st
	}
	st := open(badCodec{decode: boom})
	st.Send([]byte("x"))
	if _, status := recv(st); status == nil || status.Code != wire.Internal || status.Outcome != wire.Executed {
		t.Errorf("a message that cannot be decoded: %+v, want Internal, Executed", status)
	}
	st = open(badCodec{encode: boom})
	if status := st.Send([]byte("x")); status == nil || status.Code != wire.Internal {
		t.Errorf("a message that cannot be encoded: %+v, want Internal", status)
	}
}

// The first message of a stream comes at once, and the reply of an asynchronous call, also when calls were made one at a
// time before, whose callers read for themselves.
func TestReaderComesBackForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, setup{bubble: true, client: func(c *Config) { c.Resolve = nil }}, echo(), chat())
		alone := func() {
			t.Helper()
			for range 60 {
				mustEcho(t, r.client, "alone")
				time.Sleep(gateTime - time.Millisecond)
			}
			synctest.Wait()
			if g := r.client.direct.gate.Load(); g == nil || g.state.Load() != gateFree {
				t.Fatal("the reader has not stepped aside")
			}
		}
		for range 3 {
			alone()
			from := time.Now()
			st := openStream(t, context.Background(), r.client, "Echo.Chat")
			st.Send([]byte("x"))
			if b, status := recv(st); string(b) != "x" {
				t.Fatalf("got %q, %+v", b, status)
			}
			near(t, "the first message of a stream came", time.Since(from), 0, 0)
			st.CloseSend()
			recv(st)
			alone()
			from = time.Now()
			done := make(chan struct{})
			async := newCall("Echo.Say", []byte("x"), nil)
			async.Async = func(*Call) { close(done) }
			if st := r.client.Start(context.Background(), async); st != nil {
				t.Fatal(st)
			}
			<-done
			near(t, "an asynchronous call ended", time.Since(from), 0, 0)
		}
	})
}
