package session

import (
	"context"
	"encoding/binary"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport/mem"
)

// countedConn counts writes, and holds them up while it is told to.
type countedConn struct {
	net.Conn
	writes  atomic.Int64
	gate    sync.RWMutex // locked: writes wait
	written chan struct{}
}

func (c *countedConn) Write(b []byte) (int, error) {
	c.writes.Add(1)
	select {
	case c.written <- struct{}{}:
	default:
	}
	c.gate.RLock()
	defer c.gate.RUnlock()
	return c.Conn.Write(b)
}

// countedPair connects two sessions that count their writes, without pings between them.
func countedPair(t *testing.T, methods ...*Method) (client *Session, cc, sc *countedConn) {
	t.Helper()
	leak.Check(t)
	a, b := mem.Pipe(nil)
	cc, sc = &countedConn{Conn: a, written: make(chan struct{}, 1)}, &countedConn{Conn: b, written: make(chan struct{}, 1)}
	ccfg, scfg := newConfig(NewExecutor(), nil), newConfig(NewExecutor(), methods)
	for _, cfg := range []*Config{ccfg, scfg} {
		cfg.Limits.PingInterval, cfg.Limits.WriteTimeout = 0, 0
	}
	client, server, st1, st2 := connect(cc, sc, ccfg, scfg)
	if st1 != nil || st2 != nil {
		t.Fatal(st1, st2)
	}
	t.Cleanup(func() {
		client.Close(closedHere())
		server.Close(closedHere())
		ccfg.Exec.Close()
		scfg.Exec.Close()
	})
	return client, cc, sc
}

// follow has the next message of a stream follow another one closely, however slow the machine is. No message was received since.
func follow(st *Stream) {
	st.state.Wrote(math.MaxInt64)
}

// number is a message with a number.
func number(i int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(i)) }

// numbers sends so many messages that follow each other closely.
func numbers(st *Stream, from, to int) *wire.Status {
	for i := from; i < to; i++ {
		follow(st)
		if status := st.Send(number(i)); status != nil {
			return status
		}
	}
	return nil
}

// receiveNumbers receives the messages of numbers, and fails the test unless they are all and in order.
func receiveNumbers(t *testing.T, st *Stream, n int) {
	t.Helper()
	for i := range n {
		if b, status := recv(st); len(b) != 4 || binary.LittleEndian.Uint32(b) != uint32(i) {
			t.Fatalf("message %d of %d is %v, %+v", i, n, b, status)
		}
	}
}

// A run of messages leaves in fewer writes than messages, on either side, in order.
func TestRunLeavesTogether(t *testing.T) {
	const count = 20_000
	down := streaming("Down.Count", func(_ *Context, st *Stream) *wire.Status {
		for i := range count {
			if status := st.Send(number(i)); status != nil {
				return status
			}
		}
		return nil
	})
	up := streaming("Up.Count", func(_ *Context, st *Stream) *wire.Status {
		for i := range count {
			if b, _ := recv(st); len(b) != 4 || binary.LittleEndian.Uint32(b) != uint32(i) {
				return &wire.Status{Code: wire.Internal, Outcome: wire.Executed, Message: "not in order"}
			}
		}
		return nil
	})
	client, cc, sc := countedPair(t, down, up)
	st := openStream(t, context.Background(), client, "Down.Count")
	receiveNumbers(t, st, count)
	if b, status := recv(st); b != nil || status != nil {
		t.Errorf("the stream ended with %v, %+v", b, status)
	}
	if n := sc.writes.Load(); n >= count {
		t.Errorf("a server wrote %d times for %d messages", n, count)
	}
	st = openStream(t, context.Background(), client, "Up.Count")
	before := cc.writes.Load()
	for i := range count {
		if status := st.Send(number(i)); status != nil {
			t.Fatalf("send message %d: %+v", i, status)
		}
	}
	if b, status := recv(st); b != nil || status != nil {
		t.Errorf("the stream ended with %v, %+v", b, status)
	}
	if n := cc.writes.Load() - before; n >= count {
		t.Errorf("a client wrote %d times for %d messages", n, count)
	}
}

// A lone message has been written when Send returns: the first of a stream, and the answer to the last message
// that has come.
func TestLoneMessageIsWrittenAtOnce(t *testing.T) {
	client, cc, _ := countedPair(t, chat())
	st := openStream(t, context.Background(), client, "Echo.Chat")
	for i := range 100 {
		before := cc.writes.Load()
		if status := st.Send(number(i)); status != nil {
			t.Fatal(status)
		}
		if n := cc.writes.Load() - before; n != 1 {
			t.Fatalf("message %d: %d writes when Send returned, want 1", i, n)
		}
		if b, status := recv(st); len(b) != 4 {
			t.Fatalf("the answer to message %d is %v, %+v", i, b, status)
		}
	}
	st.CloseSend()
	recv(st)
}

// The sender of a run is not held up in a write. What it sends while a write is under way leaves with the next one,
// also the last message, behind which nothing is sent.
func TestRunIsNotHeldUp(t *testing.T) {
	client, cc, _ := countedPair(t, chat())
	st := openStream(t, context.Background(), client, "Echo.Chat")
	before := cc.writes.Load()
	for len(cc.written) > 0 {
		<-cc.written
	}
	cc.gate.Lock()
	sent := make(chan *wire.Status, 1)
	go func() {
		if status := numbers(st, 0, 1); status != nil {
			sent <- status
			return
		}
		<-cc.written // by the worker, which waits
		sent <- numbers(st, 1, 100)
	}()
	select {
	case status := <-sent:
		if status != nil {
			t.Errorf("send: %+v", status)
		}
	case <-time.After(30 * time.Second):
		t.Error("the sender is held up in a write")
	}
	cc.gate.Unlock()
	receiveNumbers(t, st, 100)
	if n := cc.writes.Load() - before; n != 2 {
		t.Errorf("%d writes, want one and one for what was sent meanwhile", n)
	}
	st.CloseSend()
	recv(st)
}

// Streams that are canceled, and sessions that end, in the middle of runs leave nothing behind.
func TestRunsThatAreCutShort(t *testing.T) {
	small := func(c *Config) { c.Limits.StreamWindow = 16 << 10 }
	for i := range 20 {
		r := newRig(t, setup{client: small, server: small}, chat(), streaming("Down.On", func(_ *Context, st *Stream) *wire.Status {
			for i := 0; ; i++ {
				if status := st.Send(number(i)); status != nil {
					return status
				}
			}
		}))
		var wg sync.WaitGroup
		for range 4 {
			for _, method := range []string{"Echo.Chat", "Down.On"} {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				st := openStream(t, ctx, r.client, method)
				wg.Go(func() {
					for i := 0; method == "Echo.Chat" && st.Send(number(i)) == nil; i++ {
					}
				})
				wg.Go(func() {
					for range 200 {
						recv(st)
					}
					if i%2 == 0 {
						cancel()
						st.ContextEnded()
					}
					for b, _ := recv(st); b != nil; b, _ = recv(st) {
					}
				})
			}
		}
		if i%2 == 1 {
			r.broken = true
			time.AfterFunc(time.Duration(i)*100*time.Microsecond, func() { r.client.Close(closedHere()) })
		}
		within(t, time.Minute, "the streams", wg.Wait)
		r.end()
	}
}

// A call that is made while a stream's message waits for its writer does not take the time of the last call for its own.
func TestCallBesideStreamReadsTheClock(t *testing.T) {
	r := newRig(t, setup{}, chat(), echo())
	st := openStream(t, context.Background(), r.client, "Echo.Chat")
	mustEcho(t, r.client, "the last call")
	time.Sleep(50 * time.Millisecond)
	follow(st)
	if status := st.Send(number(0)); status != nil {
		t.Fatal(status)
	}
	from := now()
	c := newCall("Echo.Say", []byte("in time"), nil)
	if st := do(context.Background(), r.client, c); st != nil || c.Sent < from {
		t.Errorf("the call ended with %+v; it was sent %v before it began", st, time.Duration(from-c.Sent))
	}
	recv(st)
	st.CloseSend()
	recv(st)
}
