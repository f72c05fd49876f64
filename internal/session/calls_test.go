package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport/mem"
)

// sizes are the lengths where something changes: a frame is full, a buffer grows,
// a message needs another chunk.
var sizes = []int{0, 1, 581, 1 << 10, 4 << 10, wire.MaxPayload - 1, wire.MaxPayload, wire.MaxPayload + 1,
	2 * wire.MaxPayload, 100_000, 1 << 20, 4 << 20}

func TestUnary(t *testing.T) {
	for _, checksum := range []bool{false, true} {
		for _, compressed := range []bool{false, true} {
			t.Run(fmt.Sprintf("checksum=%v,gzip=%v", checksum, compressed), func(t *testing.T) {
				sum := func(c *Config) { c.Checksum = checksum }
				r := newRig(t, setup{client: sum, server: sum}, echo())
				for _, n := range sizes {
					if compressed && n > 1<<20 {
						continue // it takes long, and shows nothing more
					}
					body := pattern(n)
					reply := []byte("something from before")
					c := newCall("Echo.Say", body, &reply)
					if compressed {
						c.Compress = gzip.New()
					}
					if st := do(context.Background(), r.client, c); st != nil || !bytes.Equal(reply, body) {
						t.Errorf("%d bytes: got %d bytes, %+v", n, len(reply), st)
					}
				}
			})
		}
	}
}

func TestStatusTravels(t *testing.T) {
	want := wire.Status{Code: wire.FailedPrecondition, Outcome: wire.Executed, Message: "no, «thanks»", Reason: "NOT_NOW",
		Details: []wire.Detail{{Type: "a.B", Value: []byte{1, 2}}, {Type: "c.D"}}}
	r := newRig(t, setup{},
		unary("Fail.Plain", func(*Context, []byte) ([]byte, *wire.Status) { st := want; return nil, &st }),
		unary("Fail.Large", func(*Context, []byte) ([]byte, *wire.Status) {
			return nil, &wire.Status{Code: 2, Message: strings.Repeat("é", 4000), Details: []wire.Detail{{Type: "x", Value: pattern(50_000)}}}
		}),
		unary("Fail.Code", func(*Context, []byte) ([]byte, *wire.Status) { return nil, &wire.Status{Code: 99, Message: "odd"} }),
		unary("Fail.Refused", func(*Context, []byte) ([]byte, *wire.Status) {
			return nil, &wire.Status{Code: 7, Outcome: wire.Refused, Message: "not you"}
		}),
		&Method{Name: "Fail.Silent", Serve: func(*Request) {}},
		&Method{Name: "Fail.Twice", Serve: func(r *Request) { r.ReplyBytes([]byte("one")); r.Fail(&want); r.ReplyBytes([]byte("two")) }},
	)
	_, st := invoke(r.client, "Fail.Plain", "")
	if st == nil || fmt.Sprint(*st) != fmt.Sprint(want) {
		t.Errorf("status is %+v, want %+v", st, want)
	}
	if _, st = invoke(r.client, "Fail.Large", ""); st == nil || len(st.Message) != wire.MaxErrorMessage || len(st.Details) != 1 || len(st.Details[0].Value) != 50_000 {
		t.Errorf("a large status did not arrive: %.80v", st)
	}
	for _, tc := range []struct {
		method  string
		code    wire.Code
		outcome wire.Outcome
	}{
		{"Fail.Code", codeUnknown, wire.Executed},
		{"Fail.Refused", 7, wire.Refused},
		{"Fail.Silent", wire.Internal, wire.Executed},
		{"No.Such", wire.Unimplemented, wire.Refused},
	} {
		if _, st := invoke(r.client, tc.method, ""); st == nil || st.Code != tc.code || st.Outcome != tc.outcome || st.Message == "" {
			t.Errorf("%s: status is %+v, want code %d, outcome %d", tc.method, st, tc.code, tc.outcome)
		}
	}
	if got, st := invoke(r.client, "Fail.Twice", ""); st != nil || got != "one" {
		t.Errorf("a method that answers three times gave %q, %+v", got, st)
	}
	if _, st := invoke(r.client, "Fail.Refused", ""); st == nil || st.Code != 7 {
		t.Errorf("after a method that answers three times: %+v", st)
	}
}

func TestMetadata(t *testing.T) {
	r := newRig(t, setup{}, unary("Meta.Echo", func(ctx *Context, body []byte) ([]byte, *wire.Status) {
		ctx.SetReplyMeta(ctx.Meta())
		if len(body) > 0 {
			return nil, &wire.Status{Code: wire.InvalidArgument, Message: "asked for", Outcome: wire.Executed}
		}
		return body, nil
	}), unary("Meta.Large", func(ctx *Context, body []byte) ([]byte, *wire.Status) {
		ctx.SetReplyMeta(string(wire.AppendPair(nil, "k", strings.Repeat("v", 20_000))))
		if len(body) > 0 {
			return nil, &wire.Status{Code: wire.InvalidArgument, Message: "asked for", Outcome: wire.Executed}
		}
		return body, nil
	}))
	call := func(method, meta, body string) *Call {
		var reply []byte
		c := newCall(method, []byte(body), &reply)
		c.Meta, c.KeepMeta = meta, true
		c.Timeout = int64(5 * time.Second)
		c.Status = do(context.Background(), r.client, c)
		return c
	}
	full := string(wire.AppendPair(wire.AppendPair(nil, "a", "1"), "a", strings.Repeat("x", 16<<10-9)))
	for _, meta := range []string{"", string(wire.AppendPair(nil, "key", "")), full} {
		if c := call("Meta.Echo", meta, ""); c.Status != nil || c.ReplyMeta != meta {
			t.Errorf("metadata of %d bytes: got %d bytes, %+v", len(meta), len(c.ReplyMeta), c.Status)
		}
		if c := call("Meta.Echo", meta, "fail"); c.Status == nil || c.Status.Code != wire.InvalidArgument || c.ReplyMeta != meta {
			t.Errorf("metadata of an error: got %d bytes, %+v", len(c.ReplyMeta), c.Status)
		}
	}
	if c := call("Meta.Echo", full+full, ""); c.Status == nil || c.Status.Code != wire.ResourceExhausted || c.Status.Outcome != wire.NotSent {
		t.Errorf("too much metadata: %+v, want ResourceExhausted, NotSent", c.Status)
	}
	if c := call("Meta.Large", "", ""); c.Status == nil || c.Status.Code != wire.ResourceExhausted || c.Status.Outcome != wire.Executed {
		t.Errorf("too much metadata in a reply: %+v, want ResourceExhausted, Executed", c.Status)
	}
	if c := call("Meta.Large", "", "fail"); c.Status == nil || c.Status.Code != wire.InvalidArgument {
		t.Errorf("too much metadata in an error: %+v, want the error without it", c.Status)
	}
}

// What is too large for the other side fails where it is, with the right outcome.
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

// A call with Oneway holds its slot until the other side has dealt with it.
func TestOneway(t *testing.T) {
	var ran atomic.Int32
	r := newRig(t, setup{}, unary("One.Way", func(_ *Context, b []byte) ([]byte, *wire.Status) {
		ran.Add(1)
		return pattern(100), nil
	}))
	var wg sync.WaitGroup
	for range 50 {
		wg.Add(1)
		c := newCall("One.Way", []byte("x"), nil)
		c.Oneway = true
		c.Async = func(c *Call) {
			defer wg.Done()
			if c.Status != nil {
				t.Errorf("one-way call ended with %+v", c.Status)
			}
		}
		if st := r.client.Start(context.Background(), c); st != nil {
			t.Fatal(st)
		}
	}
	within(t, 5*time.Second, "the end of all one-way calls", wg.Wait)
	if ran.Load() != 50 {
		t.Errorf("%d calls ran, want 50", ran.Load())
	}
}

// Async gets every call exactly once, small replies and large ones.
func TestAsync(t *testing.T) {
	r := newRig(t, setup{}, echo(), wait())
	var wg sync.WaitGroup
	var ends [200]atomic.Int32
	for i := range ends {
		wg.Add(1)
		reply := new([]byte)
		body := pattern(i * 300)
		c := newCall("Echo.Say", body, reply)
		c.Late = i%3 == 0
		if i%10 == 0 {
			c.Method, c.Timeout = "Echo.Wait", int64(20*time.Millisecond)
		}
		c.Async = func(c *Call) {
			defer wg.Done()
			ends[i].Add(1)
			if c.Method == "Echo.Wait" {
				if c.Status == nil || c.Status.Code != wire.DeadlineExceeded {
					t.Errorf("call %d ended with %+v, want a deadline", i, c.Status)
				}
			} else if c.Status != nil || !bytes.Equal(*reply, body) {
				t.Errorf("call %d gave %d bytes of %d, %+v", i, len(*reply), len(body), c.Status)
			}
		}
		if st := r.client.Start(context.Background(), c); st != nil {
			t.Fatal(st)
		}
	}
	within(t, 10*time.Second, "the end of all calls", wg.Wait)
	for i := range ends {
		if n := ends[i].Load(); n != 1 {
			t.Errorf("call %d ended %d times", i, n)
		}
	}
}

// As many calls as the other side allows are open at once, and not one more.
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
	behind := bytes.Repeat(p.bytes(wire.Header{Type: wire.TypePing, Flags: wire.FlagAck}, []byte("12345678")), 2000)
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
	start := func(n int) *Call {
		c := newCall("Echo.Say", pattern(n), nil)
		c.Async = func(*Call) {}
		done := make(chan struct{})
		go func() { // who writes is held up
			defer close(done)
			r.client.Start(context.Background(), c)
		}()
		select {
		case <-done:
		case <-time.After(20 * time.Millisecond):
		}
		return c
	}
	var ends sync.WaitGroup
	handed := start(5000)
	waiting := []*Call{start(100), start(100_000), start(16_000), start(100_000)}
	for _, c := range append(waiting, handed) {
		ends.Add(1)
		c.Async = func(*Call) { ends.Done() }
	}
	r.clientConn.Out().CutAfter(0)
	within(t, 5*time.Second, "the end of all calls", ends.Wait)
	if st := handed.Status; st == nil || st.Code != wire.Unavailable || st.Outcome != wire.Unknown {
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
		r := newRig(t, setup{}, m)
		p := r.client
		var wg sync.WaitGroup
		p.w.mu.Lock()
		p.w.mode = yielding // all of them go out together
		p.w.mu.Unlock()
		for range 2000 {
			c := newCall("Get.Large", nil, new([]byte))
			wg.Add(1)
			c.Async = func(c *Call) {
				defer wg.Done()
				if c.Status != nil || len(*c.Reply.(*[]byte)) != 8000 {
					t.Errorf("%d bytes, %+v", len(*c.Reply.(*[]byte)), c.Status)
				}
			}
			if st := p.Start(context.Background(), c); st != nil {
				t.Fatal(st)
			}
		}
		p.w.mu.Lock()
		p.w.mode = idle
		p.flush(false)
		within(t, 10*time.Second, "all answers", wg.Wait)
		r.end()
		if t.Failed() {
			return
		}
	}
}

// Who waits for room in the write buffer gets it, and passes it on.
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
	r.client.w.mu.Lock()
	r.client.out.slot(0).gen = 1<<16 - 5
	r.client.w.mu.Unlock()
	for range 10 {
		mustEcho(t, r.client, "round")
	}
	if gen := r.client.out.slot(0).gen; gen != 5 {
		t.Errorf("generation is %d, want 5", gen)
	}
}

// Bindings beyond what the other side allows replace others, and no call lands at
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

// Calls in both directions at once, nested in each other deeper than any pool.
func TestNested(t *testing.T) {
	const depth = 300
	var nest *Method
	nest = unary("Nest.Down", func(ctx *Context, body []byte) ([]byte, *wire.Status) {
		if len(body) == 0 {
			return []byte("!"), nil
		}
		got, st := invoke(ctx.Session, "Nest.Down", string(body[1:]))
		return []byte(got + "."), st
	})
	for _, inlined := range []bool{false, true} {
		t.Run(fmt.Sprintf("inline=%v", inlined), func(t *testing.T) {
			if inlined {
				nest = fast(nest)
			}
			r := newRig(t, setup{}, nest)
			var wg sync.WaitGroup
			for _, s := range []*Session{r.client, r.server} {
				wg.Go(func() {
					got, st := invoke(s, "Nest.Down", strings.Repeat("x", depth))
					if st != nil || len(got) != depth+1 {
						t.Errorf("nested calls gave %d levels, %+v", len(got)-1, st)
					}
				})
			}
			within(t, 15*time.Second, "the nested calls", wg.Wait)
		})
	}
}

// Small calls pass between the chunks of large ones.
func TestChunksInterleave(t *testing.T) {
	r := newRig(t, setup{pipe: &mem.PipeConfig{Buffer: 32 << 10}}, echo())
	var large, small atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			body := pattern(4 << 20)
			var reply []byte
			c := newCall("Echo.Say", body, &reply)
			if st := do(context.Background(), r.client, c); st != nil || !bytes.Equal(reply, body) {
				t.Errorf("large call: %d bytes, %+v", len(reply), st)
			}
			large.Add(1)
		})
	}
	for range 4 {
		wg.Go(func() {
			for large.Load() == 0 {
				mustEcho(t, r.client, "small")
				small.Add(1)
			}
		})
	}
	within(t, 20*time.Second, "all calls", wg.Wait)
	if small.Load() < 4 {
		t.Errorf("only %d small calls passed by four large ones", small.Load())
	}
}

// badCodec fails in every way a codec can.
type badCodec struct {
	codec.Codec
	encode, decode func() error
}

func (c badCodec) Append(dst []byte, v any) ([]byte, error) {
	if c.encode != nil {
		return append(dst, "rubbish"...), c.encode()
	}
	return c.Codec.Append(dst, v)
}

func (c badCodec) Decode(b []byte, v any) error {
	if c.decode != nil {
		return c.decode()
	}
	return c.Codec.Decode(b, v)
}

// sizedCodec is a badCodec that encodes in place.
type sizedCodec struct{ badCodec }

func (c sizedCodec) Size(v any) (int, bool) { return len(v.([]byte)), true }

func (c sizedCodec) AppendSized(dst []byte, v any, _ int) ([]byte, error) {
	return c.Append(dst, v)
}

func TestBadCodec(t *testing.T) {
	r := newRig(t, setup{}, echo())
	failing := func() error { return errors.New("boom") }
	panicking := func() error { panic("boom") }
	for _, tc := range []struct {
		name    string
		bad     badCodec
		outcome wire.Outcome
	}{
		{"encode error", badCodec{encode: failing}, wire.NotSent},
		{"encode panic", badCodec{encode: panicking}, wire.NotSent},
		{"wrong size", badCodec{encode: func() error { return nil }}, wire.NotSent},
		{"decode error", badCodec{decode: failing}, wire.Executed},
		{"decode panic", badCodec{decode: panicking}, wire.Executed},
	} {
		for _, sized := range []bool{false, true} {
			if tc.name == "wrong size" && !sized {
				continue
			}
			for _, n := range []int{10, 100_000} {
				if sized && n > wire.MaxPayload && tc.name == "wrong size" {
					continue // it is encoded with Append, which promises no size
				}
				tc.bad.Codec = raw.New()
				var reply []byte
				c := newCall("Echo.Say", pattern(n), &reply)
				c.Codec = tc.bad
				if sized {
					z := sizedCodec{tc.bad}
					c.Codec = z
				}
				if st := do(context.Background(), r.client, c); st == nil || st.Code != wire.Internal || st.Outcome != tc.outcome {
					t.Errorf("%s, sized %v, %d bytes: %+v, want Internal, outcome %d", tc.name, sized, n, st, tc.outcome)
				}
			}
		}
	}
	mustEcho(t, r.client, "still here")
}
