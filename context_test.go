package weft_test

import (
	"context"
	"testing"
	"time"

	"github.com/weftrpc/weft"
)

// silent is a context that has a deadline and does not end by itself.
type silent struct {
	context.Context
	at time.Time
}

func (s silent) Deadline() (time.Time, bool) { return s.at, true }
func (s silent) Done() <-chan struct{}       { return nil }

// TestDeadlineWithoutDone makes calls by a foreign wire with a context that has a deadline alone: they end at it.
func TestDeadlineWithoutDone(t *testing.T) {
	c := dialFake(t, fakeWire{
		call: func(ctx context.Context, _ *weft.WireCall) error {
			<-ctx.Done()
			return weft.Errorf(weft.CodeOf(ctx.Err()), "%w", ctx.Err())
		},
		stream: func(ctx context.Context) weft.RawStream { return &fakeStream{ctx, 1} },
	})
	ctx := silent{t.Context(), time.Now().Add(50 * time.Millisecond)}
	ends(t, "the call", func() {
		if err := c.Call(ctx, "Test.Wait", &Args{}, nil); weft.CodeOf(err) != weft.DeadlineExceeded {
			t.Errorf("the call ended with %v", err)
		}
	})
	ctx.at = time.Now().Add(time.Second)
	stream, err := c.OpenStream(ctx, "Test.Wait", &Args{})
	must(t, err)
	ends(t, "the stream's context", func() { <-stream.Context().Done() })
}

// values is a context that cannot be compared.
type values struct {
	context.Context
	all []string
}

// TestContextThatCannotBeCompared makes calls of all kinds with such a context.
func TestContextThatCannotBeCompared(t *testing.T) {
	ctx := values{Context: t.Context(), all: []string{"x"}}
	wrapped := struct{ context.Context }{ctx} // it can be by its type alone
	c := start(t, nil, nil).dial(nil)
	fake := dialFake(t, fakeWire{call: func(context.Context, *weft.WireCall) error { return nil }})
	for _, ctx := range []context.Context{ctx, wrapped} {
		must(t, c.Call(ctx, "Arith.Mul", &Args{7, 8}, new(Product)))
		must(t, c.Call(ctx, "Arith.Mul", &Args{7, 8}, new(Product), weft.WithTimeout(time.Minute)))
		must(t, fake.Call(ctx, "Arith.Mul", &Args{7, 8}, new(Product)))
		bounded, cancel := context.WithTimeout(ctx, time.Minute)
		must(t, c.Call(bounded, "Arith.Mul", &Args{7, 8}, new(Product), weft.WithAttempt(1)))
		cancel()
	}
}

// TestOwnCredential tells hooks and interceptors of calls with a credential of their own.
func TestOwnCredential(t *testing.T) {
	seen := make(chan *weft.CallInfo, 10)
	c := start(t, nil, streams).dial(&weft.ClientConfig{Hooks: []any{requests(seen)},
		StreamInterceptors: []weft.ClientStreamInterceptor{func(ctx context.Context, info *weft.CallInfo, next weft.OpenFunc) (weft.RawStream, error) {
			seen <- info
			return next(ctx, info)
		}}})
	own := weft.WithCredential(weft.Credential{Scheme: "Bearer", Token: "x"})
	_ = c.Call(t.Context(), "Any.Call", &Args{}, nil, own) // there is no such method
	must(t, c.Notify(t.Context(), "Any.Notify", &Args{}, own))
	stream, err := c.OpenStream(t.Context(), "Any.Stream", &Args{}, own)
	must(t, err)
	must(t, stream.Close())
	for range 3 {
		if info := <-seen; !info.OwnCredential {
			t.Errorf("%s has no credential of its own", info.Method)
		}
	}
}

// requests is a hook that passes on what it is told.
type requests chan *weft.CallInfo

func (r requests) BeforeWriteRequest(_ context.Context, info *weft.CallInfo, _ any) error {
	r <- info
	return nil
}
