package grpc

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/door/internal/http2"
)

// reusing is a door that notes which memory its calls have. It is used again of those that run on the goroutine that reads, which all do here:
// with the race detector no method is fast on a slow machine.
type reusing struct {
	*door
	mu    sync.Mutex
	calls int
	own   map[*call]bool
}

func newReusing() *reusing {
	r := &reusing{door: Door(nil).(*door), own: make(map[*call]bool)}
	r.here = true
	return r
}

func (r *reusing) Serve(c *weft.DoorConn) error {
	s := newServerConn(r.door, c)
	return r.serve(s, opening{s, r})
}

// wantReuse fails the test if no call had the memory of an earlier one.
func (r *reusing) wantReuse(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.own) == r.calls {
		t.Errorf("%d calls have memory of their own each", r.calls)
	}
}

// opening is a connection of a reusing door.
type opening struct {
	*serverConn
	r *reusing
}

func (o opening) Open() *http2.Stream {
	st := o.serverConn.Open()
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	o.r.calls++
	o.r.own[st.Owner.(*call)] = true
	return st
}

// numbered is a method of which each call has a number, and answers with it.
func numbered(srv *weft.Server, name string, f func(ctx context.Context, number int) error) error {
	return weft.HandleRaw(srv, name, func(ctx context.Context, req, buf []byte) ([]byte, error) {
		number, err := strconv.Atoi(string(req))
		if err == nil {
			err = f(ctx, number)
		}
		return append(buf, req...), err
	})
}

// callNumber calls such a method.
func callNumber(ctx context.Context, c *weft.Client, name string, number int, opts ...weft.CallOption) (out string, err error) {
	var b []byte
	err = c.Call(ctx, name, []byte(strconv.Itoa(number)), &b, append(opts, weft.WithCodec(raw.New()))...)
	return string(b), err
}

// TestContextsAreKept has handlers keep the contexts of their calls: none becomes that of a later call, though the memory of
// calls is used again.
func TestContextsAreKept(t *testing.T) {
	type kept struct {
		ctx    context.Context
		number int
	}
	var mu sync.Mutex
	var all []kept
	d := newReusing()
	c := servedBy(t, d, func(srv *weft.Server) error {
		return numbered(srv, "Test.Keep", func(ctx context.Context, number int) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if got := weft.MetadataFrom(ctx).Get("number"); got != fmt.Sprint(number) {
				return weft.Errorf(weft.Internal, "the metadata of call %d says %q", number, got)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, kept{ctx, number})
			return nil
		})
	})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 200 {
				number := i*1000 + n
				ctx := weft.WithMetadata(t.Context(), "number", fmt.Sprint(number))
				if out, err := callNumber(ctx, c, "Test.Keep", number); err != nil || out != fmt.Sprint(number) {
					t.Errorf("call %d came back as %q, %v", number, out, err)
					return
				}
			}
		})
	}
	wg.Wait()
	d.wantReuse(t)
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
	end := func(ctx context.Context, number int) error {
		switch number % 5 {
		case 1:
			return weft.Errorf(weft.NotFound, "number %d", number)
		case 2:
			panic(number)
		case 3:
			return weft.SetReplyMetadata(ctx, "number", fmt.Sprint(number))
		case 4:
			if cancel, ok := leave.Load(number); ok {
				cancel.(context.CancelFunc)()
				<-ctx.Done()
				return ctx.Err()
			}
		}
		return nil
	}
	d := newReusing()
	c := servedBy(t, d, func(srv *weft.Server) error {
		return numbered(srv, "Test.End", end)
	})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 250 {
				number := i*1000 + n
				ctx, cancel := context.WithCancel(t.Context())
				leaves := number%50 == 4
				if leaves {
					leave.Store(number, cancel)
				}
				var m weft.Metadata
				out, err := callNumber(ctx, c, "Test.End", number, weft.WithReplyMetadata(&m))
				cancel()
				want := map[int]weft.Code{1: weft.NotFound, 2: weft.Internal}[number%5]
				if leaves {
					want = weft.Canceled
				}
				if weft.CodeOf(err) != want || err == nil && out != fmt.Sprint(number) {
					t.Errorf("call %d came back as %q, %v", number, out, err)
				}
				if said := m.Get("number"); (said != "") != (number%5 == 3) || said != "" && said != fmt.Sprint(number) {
					t.Errorf("the reply to call %d has the metadata %v", number, m)
				}
			}
		})
	}
	wg.Wait()
	d.wantReuse(t)
}
