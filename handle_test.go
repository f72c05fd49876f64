package weft_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/raw"
)

// echo registers a method that returns its bytes.
func echo(s *weft.Server) error {
	return weft.HandleRaw(s, "Raw.Echo", func(_ context.Context, req, buf []byte) ([]byte, error) {
		return append(buf, req...), nil
	})
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
	var reply []byte
	err := w.dial(nil).Call(ctx, "Raw.Echo", "text", &reply)
	wantError(t, err, weft.InvalidArgument, weft.Refused, "Raw.Echo takes raw bytes", "not msgpack")
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
