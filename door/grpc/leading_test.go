package grpc

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
)

// TestLeadingThatPanics has Config.Leading panic for one key: that pair travels in the trailers, and the connection goes on.
func TestLeadingThatPanics(t *testing.T) {
	d := Door(&Config{Leading: func(key string) bool {
		if key == "bad" {
			panic("on purpose")
		}
		return key == "first"
	}})
	c := servedBy(t, d, func(srv *weft.Server) error {
		set := func(ctx context.Context) error {
			return weft.SetReplyMetadata(ctx, "first", "1", "bad", "2", "last", "3")
		}
		err := weft.HandleServerStream(srv, "Test.Stream", func(ctx context.Context, p *Pause, out *weft.Sender[Pause]) error {
			if err := set(ctx); err != nil {
				return err
			}
			return out.Send(p)
		})
		if err != nil {
			return err
		}
		return weft.Handle(srv, "Test.Call", func(ctx context.Context, p *Pause) (*Pause, error) {
			if err := set(ctx); err != nil || p.Number == 0 {
				return p, err
			}
			return nil, weft.Errorf(weft.NotFound, "none")
		})
	})
	check := func(m weft.Metadata) {
		t.Helper()
		for key, want := range map[string]string{"first": "1", "bad": "2", "last": "3"} {
			if all := m.Values(key); len(all) != 1 || all[0] != want {
				t.Errorf("%s came back as %q", key, all)
			}
		}
	}
	for number, want := range map[int64]weft.Code{0: 0, 1: weft.NotFound} {
		var m weft.Metadata
		if err := c.Call(t.Context(), "Test.Call", &Pause{Number: number}, new(Pause), weft.WithReplyMetadata(&m)); weft.CodeOf(err) != want {
			t.Errorf("call %d ended with %v", number, err)
		}
		check(m)
	}
	var m weft.Metadata
	s, err := weft.Subscribe[Pause](t.Context(), c, "Test.Stream", &Pause{Number: 7}, weft.WithReplyMetadata(&m))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if p, err := s.Recv(); err != nil || p.Number != 7 {
		t.Errorf("%v, %v", p, err)
	}
	if _, err := s.Recv(); err == nil {
		t.Error("a second message came")
	}
	check(m)
}

// TestDetailsBehindLeading sends metadata with the header, and an error with details behind it, to a client that takes blocks of 8 KiB: each
// has room in its own block.
func TestDetailsBehindLeading(t *testing.T) {
	d := Door(&Config{Leading: func(key string) bool { return key == "first" }})
	long := strings.Repeat("x", 5<<10)
	c := servedFor(t, d, &weft.ClientConfig{Limits: weft.Limits{MaxMetadata: 8<<10 - headerSlack}}, func(srv *weft.Server) error {
		return weft.HandleServerStream(srv, "Test.Stream", func(ctx context.Context, p *Pause, out *weft.Sender[Pause]) error {
			if err := weft.SetReplyMetadata(ctx, "first", long); err != nil {
				return err
			}
			if err := out.Send(p); err != nil {
				return err
			}
			return weft.Errorf(weft.NotFound, "none").WithDetail("some.Type", make([]byte, 3<<10))
		})
	})
	var m weft.Metadata
	s, err := weft.Subscribe[Pause](t.Context(), c, "Test.Stream", &Pause{Number: 7}, weft.WithReplyMetadata(&m))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if p, err := s.Recv(); err != nil || p.Number != 7 {
		t.Errorf("%v, %v", p, err)
	}
	_, err = s.Recv()
	if e, ok := errors.AsType[*weft.Error](err); !ok || e.Code != weft.NotFound || len(e.Details) != 1 || len(e.Details[0].Value) != 3<<10 {
		t.Errorf("the stream ended with %v, want NotFound with a detail", err)
	}
	if all := m.Values("first"); len(all) != 1 || all[0] != long {
		t.Errorf("%d values came with the header", len(all))
	}
}

// TestMetadataIsNoRequest has a request with much metadata: the statistics have the bytes of its message alone.
func TestMetadataIsNoRequest(t *testing.T) {
	var srv *weft.Server
	c := served(t, func(s *weft.Server) error {
		srv = s
		return numbered(s, "Test.Large", func(context.Context, int) error { return nil })
	})
	ctx := weft.WithMetadata(t.Context(), "key", strings.Repeat("x", 4*smallMetadata))
	if _, err := callNumber(ctx, c, "Test.Large", 123); err != nil {
		t.Fatal(err)
	}
	polltest.True(t, 20*time.Second, "the statistics of the call", func() bool {
		for _, m := range srv.Stats().Methods {
			if m.Method == "Test.Large" && m.Calls == 1 {
				if m.RequestBytes != 3 || m.ReplyBytes != 3 {
					t.Errorf("%d and %d bytes, want 3 and 3", m.RequestBytes, m.ReplyBytes)
				}
				return true
			}
		}
		return false
	})
}

// TestLengths reads lengths that an int of 32 bits does not hold.
func TestLengths(t *testing.T) {
	for length, want := range map[string]int{"\x00\x00\x00\x00": 0, "\x00\x01\x02\x03": 0x010203, "\x7f\xff\xff\xff": 1<<31 - 1, "\xff\xff\xff\xff": 1<<31 - 1} {
		if n := sizeOf([]byte("\x00" + length)); n != want {
			t.Errorf("the length %x is %d", length, n)
		}
	}
}
