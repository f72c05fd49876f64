package session

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/internal/budget"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport/mem"
)

// What is too large for the peer fails where it is, with the right outcome.
func TestMessageLimits(t *testing.T) {
	const limit = 5000
	small := func(c *Config) { c.Limits.MaxMessage = limit }
	for _, tc := range []struct {
		name           string
		client, server func(*Config)
		outcome        wire.Outcome
	}{
		{"request", nil, small, wire.NotSent},
		{"reply", small, nil, wire.Executed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var ran atomic.Int32
			r := newRig(t, setup{client: tc.client, server: tc.server}, unary("Echo.Count", func(_ *Context, b []byte) ([]byte, *wire.Status) {
				ran.Add(1)
				return b, nil
			}))
			for _, n := range []int{limit - 1, limit} {
				if got, st := invoke(r.client, "Echo.Count", string(pattern(n))); st != nil || len(got) != n {
					t.Errorf("%d bytes: got %d, %+v", n, len(got), st)
				}
			}
			ran.Store(0)
			for _, n := range []int{limit + 1, wire.MaxPayload, wire.MaxPayload + 1, 100_000} {
				_, st := invoke(r.client, "Echo.Count", string(pattern(n)))
				if st == nil || st.Code != wire.ResourceExhausted || st.Outcome != tc.outcome {
					t.Errorf("%d bytes: %+v, want ResourceExhausted, outcome %d", n, st, tc.outcome)
				}
			}
			if want := 4 * int(tc.outcome/wire.Executed); int(ran.Load()) != want {
				t.Errorf("the handler ran %d times, want %d", ran.Load(), want)
			}
		})
	}
}

// As many calls as the peer allows are open at once, and not one more.
func TestSlotsExhausted(t *testing.T) {
	r := newRig(t, setup{server: func(c *Config) { c.Limits.MaxCalls = 3 }}, echo(), wait())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var calls []*Call
	for range 3 {
		c := newCall("Echo.Wait", nil, nil)
		if st := r.client.Start(ctx, c); st != nil {
			t.Fatalf("a call within the limit: %+v", st)
		}
		calls = append(calls, c)
	}
	if _, st := invoke(r.client, "Echo.Say", "x"); st == nil || st.Code != wire.ResourceExhausted || st.Outcome != wire.NotSent {
		t.Errorf("the call too many: %+v, want ResourceExhausted, NotSent", st)
	}
	cancel()
	for _, c := range calls {
		r.client.Wait(ctx, c)
	}
	atRest(t, r.client)
	mustEcho(t, r.client, "again")
}

// A slot is free for the caller that has just got its reply, whatever else came
// with it.
func TestOneSlot(t *testing.T) {
	hello := strangerHello()
	hello.MaxCalls, hello.MaxBindings = 1, 1
	p := strangeServer(t, hello)
	const calls = 50
	result := make(chan error)
	go func() {
		for i := range calls {
			if _, st := invoke(p.s, "Echo.Say", "x"); st != nil {
				result <- fmt.Errorf("call %d: %+v", i, st)
				return
			}
		}
		result <- nil
	}()
	behind := bytes.Repeat(p.bytes(wire.Header{Type: wire.TypePing, Flags: wire.FlagAck}, []byte("12345678")), budget.ControlPerSecond/calls-1)
	for range calls {
		if len(result) > 0 {
			break
		}
		h, _, err := p.read()
		for err == nil && h.Type != wire.TypeRequest {
			h, _, err = p.read()
		}
		h = wire.Header{Type: wire.TypeReply, Flags: wire.FlagAnswer, ID: h.ID}
		p.write(append(p.bytes(h, []byte("x")), behind...))
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// When a connection is lost, the calls whose bytes were handed to it are Unknown,
// and those whose bytes were not are NotSent.
func TestLostBeforeSent(t *testing.T) {
	r := newRig(t, setup{pipe: &mem.PipeConfig{Buffer: 1 << 10}}, echo())
	r.broken = true
	r.serverConn.In().Stall()
	var ends sync.WaitGroup
	prepare := func(n int) *Call {
		c := newCall("Echo.Say", pattern(n), nil)
		c.Async = func(*Call) { ends.Done() }
		ends.Add(1)
		return c
	}
	handed := prepare(5000)
	go r.client.Start(context.Background(), handed) // it is held up in its write
	polltest.True(t, time.Minute, "the first call is being written", func() bool {
		w := &r.client.w
		w.Lock()
		defer w.Unlock()
		return r.client.out.Open() == 1 && w.WritingLocked() && w.PendingLocked() == 0
	})
	var waiting []*Call
	for _, n := range []int{100, 100_000, 16_000, 100_000} {
		c := prepare(n)
		if st := r.client.Start(context.Background(), c); st != nil {
			t.Fatal(st)
		}
		waiting = append(waiting, c)
	}
	r.clientConn.Out().CutAfter(0)
	within(t, 20*time.Second, "the end of all calls", ends.Wait)
	if st := handed.Status; st == nil || st.Code != wire.Unavailable || st.Outcome != wire.OutcomeUnknown {
		t.Errorf("the call that was being written ended with %+v, want Unavailable, Unknown", st)
	}
	for i, c := range waiting {
		if st := c.Status; st == nil || st.Code != wire.Unavailable || st.Outcome != wire.NotSent {
			t.Errorf("waiting call %d ended with %+v, want Unavailable, NotSent", i, st)
		}
	}
	if _, st := invoke(r.client, "Echo.Say", ""); st == nil || st.Code != wire.Unavailable || st.Outcome != wire.NotSent {
		t.Errorf("a call on a lost connection ended with %+v", st)
	}
}

// Many calls at once that are answered at length all get their answers, from a peer
// that reads as fast as it can.
func TestLargeAnswersToMany(t *testing.T) {
	large := pattern(8000)
	for _, m := range []*Method{
		fast(unary("Get.Large", func(*Context, []byte) ([]byte, *wire.Status) { return large, nil })),
		unary("Get.Large", func(*Context, []byte) ([]byte, *wire.Status) { return large, nil }),
	} {
		cc := &countedConn{written: make(chan struct{}, 1)}
		r := newRig(t, setup{wrap: func(c net.Conn) net.Conn { cc.Conn = c; return cc }}, m)
		p := r.client
		var wg sync.WaitGroup
		for len(cc.written) > 0 {
			<-cc.written
		}
		cc.gate.Lock() // the first goes out alone, the others together
		start := func() {
			c := newCall("Get.Large", nil, new([]byte))
			wg.Add(1)
			c.Async = func(c *Call) {
				defer wg.Done()
				if c.Status != nil || len(*c.Reply.(*[]byte)) != 8000 {
					t.Errorf("%d bytes, %+v", len(*c.Reply.(*[]byte)), c.Status)
				}
			}
			if st := p.Start(context.Background(), c); st != nil {
				t.Error(st)
				wg.Done()
			}
		}
		first := make(chan struct{})
		go func() {
			defer close(first)
			start()
		}()
		<-cc.written
		for range 2000 {
			start()
		}
		cc.gate.Unlock()
		<-first
		within(t, 10*time.Second, "all answers", wg.Wait)
		r.end()
		if t.Failed() {
			return
		}
	}
}

// A goroutine that waits for room in the write buffer gets it, and wakes the next.
func TestRoomIsPassedOn(t *testing.T) {
	tiny := func(c *Config) { c.Limits.WriteBuffer = 3000 }
	r := newRig(t, setup{client: tiny, server: tiny, pipe: &mem.PipeConfig{Buffer: 4 << 10}}, echo())
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			for range 10 {
				var reply []byte
				c := newCall("Echo.Say", pattern(2000), &reply)
				if st := do(context.Background(), r.client, c); st != nil || len(reply) != 2000 {
					t.Errorf("%d bytes, %+v", len(reply), st)
				}
			}
		})
	}
	within(t, 20*time.Second, "the calls", wg.Wait)
}

// The generation of a slot goes round.
func TestGenerations(t *testing.T) {
	r := newRig(t, setup{}, echo())
	mustEcho(t, r.client, "first")
	// next is the generation that the next call is going to have.
	next := func() uint16 {
		r.client.w.Lock()
		defer r.client.w.Unlock()
		id, _ := r.client.out.Take(0, 1)
		r.client.out.Release(id)
		return uint16(id>>16) + 1
	}
	for next() != 1<<16-5 {
	}
	for range 10 {
		mustEcho(t, r.client, "round")
	}
	if gen := next(); gen != 6 {
		t.Errorf("the next generation is %d, want 6", gen)
	}
}

// Bindings beyond what the peer allows replace others, and no call lands at
// the wrong method: not the large ones either, which wait while others are bound.
func TestBindings(t *testing.T) {
	name := func(ctx *Context, body []byte) ([]byte, *wire.Status) { return []byte(ctx.Method.Name), nil }
	methods := make([]*Method, 20)
	for i := range methods {
		methods[i] = unary(fmt.Sprintf("Many.M%d", i), name)
	}
	for _, most := range []int{1, 3, 20} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			r := newRig(t, setup{server: func(c *Config) { c.Limits.MaxBindings = most }}, methods...)
			var wg sync.WaitGroup
			for w := range 8 {
				wg.Go(func() {
					for i := range 30 {
						want := methods[(i*7+w*3)%len(methods)].Name
						body := pattern(i % 4 * 30_000)
						if got, st := invoke(r.client, want, string(body)); st != nil || got != want {
							t.Errorf("call of %s with %d bytes gave %q, %+v", want, len(body), got, st)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// Names that cannot travel fail their call, not the connection.
func TestBadNames(t *testing.T) {
	r := newRig(t, setup{}, echo())
	for _, name := range []string{"", "a b", "a\x00", strings.Repeat("x", 256), "\xff"} {
		if _, st := invoke(r.client, name, ""); st == nil || st.Outcome != wire.NotSent || st.Code != wire.InvalidArgument {
			t.Errorf("method %q: %+v, want InvalidArgument, NotSent", name, st)
		}
	}
	for _, name := range []string{"", "Upper", "a,b", strings.Repeat("x", 33), strings.Repeat("x", 300)} {
		c := newCall("Echo.Say", nil, nil)
		c.Codec = namedCodec{raw.New(), name}
		if st := do(context.Background(), r.client, c); st == nil || st.Outcome != wire.NotSent || st.Code != wire.InvalidArgument {
			t.Errorf("codec %q: %+v, want InvalidArgument, NotSent", name, st)
		}
	}
	mustEcho(t, r.client, "still here")
}

type namedCodec struct {
	codec.Codec
	name string
}

func (c namedCodec) Name() string { return c.name }

// A side that serves nothing says so, whatever its limits are.
func TestServesNothing(t *testing.T) {
	for _, change := range []func(*Config){
		func(c *Config) { c.Resolve = nil },
		func(c *Config) { c.Limits.MaxCalls = 0 },
		func(c *Config) { c.Limits.MaxBindings = 0 },
	} {
		r := newRig(t, setup{server: change}, echo())
		if _, st := invoke(r.client, "Echo.Say", "x"); st == nil || st.Outcome != wire.NotSent {
			t.Errorf("call of a side without methods: %+v, want NotSent", st)
		}
		r.end()
	}
}

// What compressed bodies become counts among the bytes in flight: few bytes cannot make a
// connection hold many.
func TestRestoredBytesAreCounted(t *testing.T) {
	release := make(chan struct{})
	var running, most atomic.Int32
	hold := unary("Hold.All", func(_ *Context, body []byte) ([]byte, *wire.Status) {
		most.Store(max(most.Load(), running.Add(1)))
		<-release
		running.Add(-1)
		return nil, nil
	})
	r := newRig(t, setup{server: func(c *Config) { c.Limits.MaxCallBytes = 3 << 20 }}, hold, echo())
	done := make(chan *wire.Status)
	for range 10 {
		c := newCall("Hold.All", make([]byte, 1<<20), nil)
		c.Compress = r.client.cfg.Compressors[0]
		go func() { done <- do(context.Background(), r.client, c) }()
	}
	for range 8 {
		if st := <-done; st == nil || st.Reason != wire.ReasonTooManyBytes || st.Outcome != wire.Refused {
			t.Errorf("a call beyond the bytes in flight ended with %+v", st)
		}
	}
	close(release)
	for range 2 {
		if st := <-done; st != nil {
			t.Errorf("a call within the bytes in flight ended with %+v", st)
		}
	}
	if n := most.Load(); n > 3 {
		t.Errorf("%d bodies of 1 MiB were held, want at most 3", n)
	}
	mustEcho(t, r.client, "on")
}
