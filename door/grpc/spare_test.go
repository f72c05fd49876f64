package grpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/raw"
)

// TestContextsAreKept has handlers keep the contexts of their calls: none becomes that of a later call, though the memory of
// calls is used again.
func TestContextsAreKept(t *testing.T) {
	type kept struct {
		ctx    context.Context
		number int64
	}
	var mu sync.Mutex
	var all []kept
	c := served(t, func(srv *weft.Server) error {
		return weft.Handle(srv, "Test.Keep", func(ctx context.Context, p *Pause) (*Pause, error) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if got := weft.MetadataFrom(ctx).Get("number"); got != fmt.Sprint(p.Number) {
				return nil, weft.Errorf(weft.Internal, "the metadata of call %d says %q", p.Number, got)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, kept{ctx, p.Number})
			return p, nil
		})
	})
	var wg sync.WaitGroup
	for i := range int64(8) {
		wg.Go(func() {
			for n := range int64(200) {
				number := i*1000 + n
				ctx := weft.WithMetadata(t.Context(), "number", fmt.Sprint(number))
				out, err := weft.Invoke[Pause](ctx, c, "Test.Keep", &Pause{Number: number})
				if err != nil || out.Number != number {
					t.Errorf("call %d came back as %v, %v", number, out, err)
					return
				}
			}
		})
	}
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	if len(all) != 8*200 {
		t.Errorf("%d calls have run", len(all))
	}
	seen := make(map[context.Context]bool)
	for _, k := range all {
		if seen[k.ctx] {
			t.Fatal("two calls have the same context")
		}
		seen[k.ctx] = true
		if !errors.Is(k.ctx.Err(), context.Canceled) {
			t.Errorf("the context of call %d, which was answered, ends with %v", k.number, k.ctx.Err())
		}
		if got := weft.MetadataFrom(k.ctx).Get("number"); got != fmt.Sprint(k.number) {
			t.Errorf("the metadata of call %d has become %q", k.number, got)
		}
	}
}

// TestInfosAreKept has an interceptor keep what it was told of calls: none of that becomes what a later call is told.
func TestInfosAreKept(t *testing.T) {
	var mu sync.Mutex
	var all []*weft.CallInfo
	keep := func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		mu.Lock()
		all = append(all, info)
		mu.Unlock()
		return next(ctx, info, req)
	}
	c := served(t, func(srv *weft.Server) error {
		// Its codec tells sizes, so replies are encoded where they are sent from.
		return weft.HandleRaw(srv, "Test.Keep", func(_ context.Context, req, buf []byte) ([]byte, error) { return append(buf, req...), nil })
	}, keep)
	const callers, each = 8, 250
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range each {
				var out []byte
				if err := c.Call(t.Context(), "Test.Keep", []byte("x"), &out, weft.WithCodec(raw.New())); err != nil || string(out) != "x" {
					t.Errorf("%q, %v", out, err)
				}
			}
		})
	}
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	seen := make(map[*weft.CallInfo]bool)
	for _, info := range all {
		seen[info] = true
		if info.Method != "Test.Keep" || info.Peer == nil {
			t.Fatalf("what an interceptor was told of a call has become %+v", info)
		}
	}
	if len(seen) != callers*each {
		t.Errorf("interceptors were told of %d calls by %d values", callers*each, len(seen))
	}
}

// TestMixedEnds makes calls that go well, fail, panic and are left, in turn: what one leaves in memory that is used again does not
// show in another.
func TestMixedEnds(t *testing.T) {
	var leave sync.Map // by number: the callers that leave while their calls run
	c := served(t, func(srv *weft.Server) error {
		return weft.Handle(srv, "Test.End", func(ctx context.Context, p *Pause) (*Pause, error) {
			switch p.Number % 5 {
			case 1:
				return nil, weft.Errorf(weft.NotFound, "number %d", p.Number)
			case 2:
				panic(p.Number)
			case 3:
				return p, weft.SetReplyMetadata(ctx, "number", fmt.Sprint(p.Number))
			case 4:
				if cancel, ok := leave.Load(p.Number); ok {
					cancel.(context.CancelFunc)()
					<-ctx.Done()
					return nil, ctx.Err()
				}
			}
			return p, nil
		})
	})
	var wg sync.WaitGroup
	for i := range int64(8) {
		wg.Go(func() {
			for n := range int64(250) {
				in := &Pause{Number: i*1000 + n}
				ctx, cancel := context.WithCancel(t.Context())
				leaves := in.Number%50 == 4
				if leaves {
					leave.Store(in.Number, cancel)
				}
				var m weft.Metadata
				out := new(Pause)
				err := c.Call(ctx, "Test.End", in, out, weft.WithReplyMetadata(&m))
				cancel()
				want := map[int64]weft.Code{1: weft.NotFound, 2: weft.Internal}[in.Number%5]
				if leaves {
					want = weft.Canceled
				}
				if weft.CodeOf(err) != want || err == nil && out.Number != in.Number {
					t.Errorf("call %d came back as %v, %v", in.Number, out, err)
				}
				if said := m.Get("number"); (said != "") != (in.Number%5 == 3) || said != "" && said != fmt.Sprint(in.Number) {
					t.Errorf("the reply to call %d has the metadata %v", in.Number, m)
				}
			}
		})
	}
	wg.Wait()
}
