package grpc

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/raw"
)

// noting is the codec raw, which notes whether the goroutine that reads a connection decodes. A reply "panic" makes it panic.
type noting struct {
	codec.Codec
	codec.Sizer
	byReader atomic.Bool
}

func (n *noting) Decode(body []byte, v any) error {
	stack := make([]byte, 64<<10)
	n.byReader.Store(strings.Contains(string(stack[:runtime.Stack(stack, false)]), "http2.(*reader)"))
	if string(body) == "panic" {
		panic("as you wish")
	}
	return n.Codec.Decode(body, v)
}

// withOpenCall returns a client of Test.Number, and a function that begins a call and returns what ends it.
func withOpenCall(t *testing.T) (c *weft.Client, hold func() (end func())) {
	begun, let := make(chan struct{}), make(chan struct{})
	c = servedFor(t, Door(nil), &weft.ClientConfig{Timeout: -1}, func(srv *weft.Server) error {
		return numbered(srv, "Test.Number", func(ctx context.Context, number int) error {
			if number == 7 {
				close(begun)
				<-let
			}
			return nil
		})
	})
	return c, func() (end func()) {
		var held sync.WaitGroup
		held.Go(func() {
			if _, err := callNumber(context.Background(), c, "Test.Number", 7); err != nil {
				t.Errorf("the call that is open meanwhile: %v", err)
			}
		})
		<-begun
		return func() {
			close(let)
			held.Wait()
		}
	}
}

// TestDecodedByReader: the goroutine that reads decodes a reply while other calls are open, and a lone caller its own. A panic of the codec is an
// error of the call.
func TestDecodedByReader(t *testing.T) {
	c, hold := withOpenCall(t)
	n := &noting{Codec: raw.New(), Sizer: raw.New().(codec.Sizer)}
	call := func(want bool) {
		t.Helper()
		var b []byte
		err := c.Call(t.Context(), "Test.Number", []byte("1"), &b, weft.WithCodec(n))
		if err != nil || string(b) != "1" || n.byReader.Load() != want {
			t.Errorf("%q, %v, decoded by the goroutine that reads: %v, want %v", b, err, n.byReader.Load(), want)
		}
	}
	call(false)
	defer hold()()
	call(true)
}

// TestPanicInDecode: a codec that panics fails its call, whichever goroutine decodes, and the connection goes on.
func TestPanicInDecode(t *testing.T) {
	begun, let := make(chan struct{}), make(chan struct{})
	c := servedFor(t, Door(nil), &weft.ClientConfig{Timeout: -1}, func(srv *weft.Server) error {
		return weft.HandleRaw(srv, "Test.Echo", func(_ context.Context, req, buf []byte) ([]byte, error) {
			if string(req) == "hold" {
				close(begun)
				<-let
			}
			return append(buf, req...), nil
		})
	})
	n := &noting{Codec: raw.New(), Sizer: raw.New().(codec.Sizer)}
	panics := func() {
		t.Helper()
		var b []byte
		err := c.Call(t.Context(), "Test.Echo", []byte("panic"), &b, weft.WithCodec(n))
		if e, ok := err.(*weft.Error); !ok || e.Code != weft.Internal || e.Outcome != weft.Executed || e.Reason != weft.ReasonDecode {
			t.Errorf("%+v", err)
		}
	}
	panics()
	var held sync.WaitGroup
	defer held.Wait()
	defer close(let) // before
	held.Go(func() {
		var b []byte
		if err := c.Call(context.Background(), "Test.Echo", []byte("hold"), &b, weft.WithCodec(raw.New())); err != nil || string(b) != "hold" {
			t.Errorf("the call that is open meanwhile: %q, %v", b, err)
		}
	})
	<-begun
	panics()
}

// slow is the codec raw, which decodes when it is let.
type slow struct {
	codec.Codec
	codec.Sizer
	begun, let chan struct{}
	over       atomic.Bool
}

func (s *slow) Decode(body []byte, v any) error {
	close(s.begun)
	<-s.let
	defer s.over.Store(true)
	return s.Codec.Decode(body, v)
}

// TestGivenUpWhileDecoded: a caller whose time ends while its reply is decoded has its memory back when it returns.
func TestGivenUpWhileDecoded(t *testing.T) {
	c, hold := withOpenCall(t)
	defer hold()()
	s := &slow{Codec: raw.New(), Sizer: raw.New().(codec.Sizer), begun: make(chan struct{}), let: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // it ends before the call
		<-s.begun
		cancel()
		time.Sleep(50 * time.Millisecond) // a caller that does not wait returns meanwhile
		close(s.let)
	}()
	var b []byte
	err := c.Call(ctx, "Test.Number", []byte("1"), &b, weft.WithCodec(s))
	if !s.over.Load() {
		t.Errorf("the call returned %v while its reply was decoded", err)
	} else if err != nil || string(b) != "1" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestGivenUp has callers give up at the time of their replies, and use the memory of these at once: the race detector finds a
// goroutine that still decodes into it.
func TestGivenUp(t *testing.T) {
	c := servedFor(t, Door(nil), &weft.ClientConfig{Timeout: -1}, func(srv *weft.Server) error {
		return numbered(srv, "Test.Number", func(context.Context, int) error { return nil })
	})
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			var b []byte
			for range 50 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(4000))*time.Microsecond)
				err := c.Call(ctx, "Test.Number", []byte("12345"), &b, weft.WithCodec(raw.New()))
				cancel()
				if err == nil && string(b) != "12345" {
					t.Errorf("the reply is %q", b)
				}
				b = append(b[:0], "mine"...)
			}
		})
	}
	all.Wait()
}
