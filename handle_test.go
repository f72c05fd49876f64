package weft_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/raw"
)

// echo registers a method that returns its bytes, and one that does not.
func echo(s *weft.Server) error {
	return errors.Join(
		weft.HandleRaw(s, "Raw.Echo", func(_ context.Context, req, buf []byte) ([]byte, error) {
			return append(buf, req...), nil
		}),
		weft.HandleRaw(s, "Raw.Fail", func(context.Context, []byte, []byte) ([]byte, error) {
			return nil, weft.Errorf(weft.Aborted, "no raw bytes")
		}))
}

func TestHandleRaw(t *testing.T) {
	ctx := t.Context()
	w := start(t, nil, echo)
	c := w.dial(&weft.ClientConfig{Codec: raw.New()})
	for _, n := range []int{0, 1, 100, 16 << 10, 16<<10 + 1, 1 << 20} {
		body := bytes.Repeat([]byte{byte(n)}, n)
		var reply []byte
		must(t, c.Call(ctx, "Raw.Echo", body, &reply))
		if !bytes.Equal(reply, body) {
			t.Errorf("%d bytes came back as %d", n, len(reply))
		}
	}
	wantError(t, w.dial(nil).Call(ctx, "Raw.Echo", "text", nil), weft.InvalidArgument, weft.Refused, "Raw.Echo takes raw bytes", "not msgpack")
	wantError(t, c.Call(ctx, "Raw.Fail", []byte(nil), nil), weft.Aborted, weft.Executed, "no raw bytes")
	wantError(t, c.Call(ctx, "Raw.Echo", Args{}, nil), weft.InvalidArgument, weft.NotSent, "encode weft_test.Args")
}

// A request is the handler's own: what it keeps never becomes another call's.
func TestRequestIsTheHandlersOwn(t *testing.T) {
	const calls = 500
	var kept [calls]*Args
	var lists [calls][]string
	w := start(t, nil, func(s *weft.Server) error {
		return errors.Join(
			weft.Handle(s, "Keep.Args", func(_ context.Context, a *Args) (*Args, error) { kept[a.A] = a; return a, nil }),
			weft.Handle(s, "Keep.List", func(_ context.Context, p *Page[string]) (*int, error) {
				n := len(p.Items)
				lists[n] = p.Items
				return &n, nil
			}))
	})
	c := w.dial(nil)
	var items []string
	for i := range calls {
		must(t, c.Call(t.Context(), "Keep.Args", &Args{i, -i}, nil))
		must(t, c.Call(t.Context(), "Keep.List", &Page[string]{items}, nil))
		items = append(items, fmt.Sprint("item ", i))
	}
	for i := range calls {
		if *kept[i] != (Args{i, -i}) || !slices.Equal(lists[i], items[:i]) {
			t.Fatalf("call %d left %v and %q", i, kept[i], lists[i])
		}
	}
}

// With interceptors around it, a raw method is as any other.
func TestHandleRawIntercepted(t *testing.T) {
	ctx := t.Context()
	var d diary
	w := start(t, &weft.ServerConfig{Interceptors: []weft.UnaryInterceptor{d.unary("i")}}, echo)
	c := w.dial(&weft.ClientConfig{Codec: raw.New()})
	var reply []byte
	if err := c.Call(ctx, "Raw.Echo", []byte("weft"), &reply); err != nil || string(reply) != "weft" {
		t.Errorf("%q, %v", reply, err)
	}
	wantError(t, c.Call(ctx, "Raw.Fail", []byte(nil), nil), weft.Aborted, weft.Executed, "no raw bytes")
	d.want(t, "i in Raw.Echo", "i out OK", "i in Raw.Fail", "i out Aborted")
	wantError(t, w.dial(nil).Call(ctx, "Raw.Echo", "text", nil), weft.InvalidArgument, weft.Refused, "Raw.Echo takes raw bytes", "not msgpack")
	d.want(t)
}

// A raw method's request is its own until it returns, and its reply is copied
// before the memory is used again.
func TestHandleRawOwnership(t *testing.T) {
	ctx := t.Context()
	w := start(t, nil, func(s *weft.Server) error {
		return weft.HandleRaw(s, "Raw.Reverse", func(_ context.Context, req, buf []byte) ([]byte, error) {
			for i := range req {
				buf = append(buf, req[len(req)-1-i])
			}
			clear(req)
			return buf, nil
		})
	})
	c := w.dial(&weft.ClientConfig{Codec: raw.New()})
	var calls []*weft.Call
	for i := range 100 {
		calls = append(calls, c.Go(ctx, "Raw.Reverse", []byte{byte(i), 1, 2}, new([]byte), nil))
	}
	for i, call := range calls {
		<-call.Done
		must(t, call.Error)
		if got := *call.Reply.(*[]byte); !bytes.Equal(got, []byte{2, 1, byte(i)}) {
			t.Errorf("call %d: %v", i, got)
		}
	}
}

// What a handler returns stays its own, and what it was given stays what it was.
func TestHandleRawKeepsNothing(t *testing.T) {
	ctx := t.Context()
	pong := append(make([]byte, 0, 100), "pong"...)
	w := start(t, nil, func(s *weft.Server) error {
		return errors.Join(
			weft.HandleRaw(s, "Raw.Cached", func(context.Context, []byte, []byte) ([]byte, error) { return pong, nil }),
			weft.HandleRaw(s, "Raw.Echo", func(_ context.Context, req, _ []byte) ([]byte, error) { return req, nil }),
			weft.HandleRaw(s, "Raw.Fill", func(_ context.Context, req, buf []byte) ([]byte, error) {
				return append(buf, bytes.Repeat([]byte{0xff}, len(req))...), nil
			}))
	})
	c := w.dial(&weft.ClientConfig{Codec: raw.New(), MaxConns: 1})
	body := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 40) }
	want := map[string]func(i int) []byte{
		"Raw.Cached": func(int) []byte { return []byte("pong") }, "Raw.Echo": body,
		"Raw.Fill": func(int) []byte { return bytes.Repeat([]byte{0xff}, 40) },
	}
	for range 50 { // at first they run on workers
		var calls []*weft.Call
		for i := range 20 {
			for method := range want {
				calls = append(calls, c.Go(ctx, method, body(i), new([]byte), nil))
			}
		}
		for i, call := range calls {
			<-call.Done
			must(t, call.Error)
			if got := *call.Reply.(*[]byte); !bytes.Equal(got, want[call.Method](i/len(want))) {
				t.Fatalf("%s of %d: %x", call.Method, i/len(want), got)
			}
		}
	}
	if string(pong[:cap(pong)]) != "pong"+string(make([]byte, 96)) {
		t.Errorf("the handler's own memory became %x", pong[:cap(pong)])
	}
}
