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

// A call with Oneway holds its slot until the peer has dealt with it.
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
	within(t, 20*time.Second, "the end of all one-way calls", wg.Wait)
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

// A call that the peer runs never ends as not sent, whatever its length relative to
// a frame.
func TestLostWhileItRuns(t *testing.T) {
	for n := wire.MaxPayload - 3; n <= wire.MaxPayload+2; n++ {
		for _, meta := range []string{"", "\x01a\x01\x00b"} {
			began := make(chan struct{})
			r := newRig(t, setup{}, unary("Echo.Wait", func(ctx *Context, _ []byte) ([]byte, *wire.Status) {
				close(began)
				<-ctx.Done()
				return nil, ended(ctx)
			}))
			r.broken = true
			c := newCall("Echo.Wait", pattern(n), nil)
			c.Meta = meta
			if st := r.client.Start(t.Context(), c); st != nil {
				t.Fatalf("start with %d bytes: %+v", n, st)
			}
			<-began
			r.serverConn.Close()
			r.client.Wait(t.Context(), c)
			if c.Status == nil || c.Status.Outcome != wire.OutcomeUnknown {
				t.Errorf("a call of %d bytes that runs ended with %+v", n, c.Status)
			}
		}
	}
}
