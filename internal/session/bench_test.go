package session

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/codec/raw"
)

// bodySize is the size of the published benchmark's message.
const bodySize = 581

// tcpPair connects two sessions over loopback. The client serves nothing, as most do.
func tcpPair(t testing.TB, methods ...*Method) (client, server *Session, end func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	sc, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	ccfg, scfg := newConfig(NewExecutor(), nil), newConfig(NewExecutor(), methods)
	ccfg.Resolve = nil
	client, server, st1, st2 := connect(cc, sc, ccfg, scfg)
	if st1 != nil || st2 != nil {
		t.Fatal(st1, st2)
	}
	return client, server, func() {
		client.Close(closedHere())
		server.Close(closedHere())
		ccfg.Exec.Close()
		scfg.Exec.Close()
	}
}

// scratchEcho answers from memory that it keeps, as generated code does.
func scratchEcho() *Method {
	return fast(&Method{Name: "Echo.Say", Serve: func(r *Request) { r.ReplyBytes(r.Body) }})
}

// caller makes one call after another with the same memory.
type caller struct {
	s           *Session
	c           *Call
	args, reply []byte
}

func newCaller(s *Session) *caller {
	return &caller{s: s, c: NewCall(), args: pattern(bodySize)}
}

func (r *caller) call() error {
	r.c.Reset()
	r.c.Plain, r.c.Method, r.c.Codec, r.c.Args, r.c.Reply = true, "Echo.Say", testCodec, &r.args, &r.reply
	r.c.Timeout = int64(10 * time.Second)
	ctx := context.Background()
	if st := r.s.Start(ctx, r.c); st != nil {
		return fmt.Errorf("start: %+v", st)
	}
	r.s.Wait(ctx, r.c)
	r.s.Finish(r.c)
	if r.c.Status != nil || len(r.reply) != bodySize {
		return fmt.Errorf("%d bytes, %+v", len(r.reply), r.c.Status)
	}
	return nil
}

var testCodec = raw.New()

// BenchmarkCall measures both sides of a call together, on one connection.
func BenchmarkCall(b *testing.B) {
	for _, callers := range []int{1, 10, 100, 1000, 5000} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			client, _, end := tcpPair(b, scratchEcho())
			defer end()
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for range callers {
				wg.Go(func() {
					r := newCaller(client)
					for left.Add(-1) >= 0 {
						if err := r.call(); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// BenchmarkStream measures messages that go one way.
func BenchmarkStream(b *testing.B) {
	var count atomic.Int64
	client, _, end := tcpPair(b, sink(&count))
	defer end()
	st := openStream(b, context.Background(), client, "Sink.All")
	body := pattern(bodySize)
	b.SetBytes(bodySize)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if status := st.Send(&body); status != nil {
			b.Fatal(status)
		}
	}
	st.CloseSend()
	recv(st)
}

// A call allocates next to nothing on either side: a share of the contexts, which
// are never used twice, and no more.
func TestCallAllocatesLittle(t *testing.T) {
	client, _, end := tcpPair(t, scratchEcho())
	defer end()
	r := newCaller(client)
	const calls = 5000
	run := func() {
		for range calls {
			if err := r.call(); err != nil {
				t.Fatal(err)
			}
		}
	}
	run()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	perCall := float64(after.Mallocs-before.Mallocs) / calls
	bytes := float64(after.TotalAlloc-before.TotalAlloc) / calls
	if perCall > 0.2 || bytes > 200 {
		t.Errorf("a call costs %.2f allocations and %.0f bytes", perCall, bytes)
	}
}
