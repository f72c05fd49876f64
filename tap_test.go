package weft_test

import (
	"context"
	"errors"
	"net/rpc"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/door/netrpc"
	"github.com/weftrpc/weft/internal/polltest"
)

// catch collects copies of what a tap sees.
type catch struct {
	mu  sync.Mutex
	all []weft.TappedCall
}

func (c *catch) see(t *weft.TappedCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info := *t.Info
	c.all = append(c.all, weft.TappedCall{Info: &info, Request: t.Request, Reply: t.Reply, Err: t.Err, Began: t.Began, Duration: t.Duration,
		RequestSize: t.RequestSize, ReplySize: t.ReplySize, Received: t.Received, Sent: t.Sent})
	if (t.ReplySize > 0) != (t.Reply != nil || t.Info.Stream && t.Sent > 0) {
		c.all = nil
		panic("the size of the reply does not fit")
	}
}

// of waits for the calls of a method.
func (c *catch) of(t *testing.T, method string, n int) (found []weft.TappedCall) {
	t.Helper()
	polltest.True(t, 30*time.Second, "the tap has seen "+method, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		found = slices.Clone(c.all)
		found = slices.DeleteFunc(found, func(x weft.TappedCall) bool { return x.Info.Method != method })
		return len(found) >= n
	})
	return found
}

func TestTap(t *testing.T) {
	deny := weft.Plugin{Name: "deny", Hooks: []any{denied{}}}
	for name, cfg := range map[string]*weft.ServerConfig{"the short way": nil, "with a hook": {Plugins: []weft.Plugin{deny}}} {
		t.Run(name, func(t *testing.T) {
			w := start(t, cfg, func(s *weft.Server) error {
				return errors.Join(s.Register(Arith{}),
					weft.Handle(s, "Odd.Fail", func(context.Context, *Args) (*Product, error) {
						return nil, weft.Errorf(weft.NotFound, "no such thing")
					}),
					weft.Handle(s, "Odd.Panic", func(context.Context, *Args) (*Product, error) { panic("as asked") }),
					echo(s),
					weft.HandleReuse(s, "Odd.Reuse", func(_ context.Context, req, res *Args) error { *res = *req; return nil }),
					weft.HandleStream(s, "Odd.Echo", func(_ context.Context, st *weft.Stream[Args, Args]) error {
						for m, err := range st.All() {
							if err != nil {
								return err
							}
							if err := st.Send(m); err != nil {
								return err
							}
						}
						return nil
					}))
			})
			c := w.dial(nil)
			ctx := t.Context()
			multiply(t, c)
			var got, second catch
			stop, stop2 := w.srv.Tap(got.see), w.srv.Tap(second.see)
			multiply(t, c)
			stop2()
			stop2()
			if err := c.Call(ctx, "Odd.Fail", &Args{}, nil); !errors.Is(err, weft.NotFound) {
				t.Error(err)
			}
			if err := c.Call(ctx, "Odd.Panic", &Args{}, nil); !errors.Is(err, weft.Internal) {
				t.Error(err)
			}
			st, err := weft.OpenStream[Args, Args](ctx, c, "Odd.Echo")
			must(t, err)
			for range 3 {
				must(t, st.Send(&Args{}))
			}
			must(t, st.CloseSend())
			for _, err := range st.All() {
				must(t, err)
			}
			mul := got.of(t, "Arith.Mul", 1)
			if len(mul) != 1 || mul[0].Err != nil || mul[0].Request.(*Args).A != 7 || mul[0].Reply.(*Product).C != 56 || mul[0].RequestSize == 0 ||
				mul[0].Info.Peer == nil || mul[0].Info.Codec == "" || mul[0].Duration < 0 || mul[0].Began.IsZero() {
				t.Errorf("%+v", mul)
			}
			if failed := got.of(t, "Odd.Fail", 1)[0]; !errors.Is(failed.Err, weft.NotFound) || failed.Reply != nil || !strings.Contains(failed.Err.Error(), "no such thing") {
				t.Errorf("%+v", failed)
			}
			body, back := []byte("some bytes"), []byte(nil)
			must(t, c.Call(ctx, "Raw.Echo", &body, &back, weft.WithCodec(raw.New())))
			if bytes := got.of(t, "Raw.Echo", 1)[0]; string(back) != "some bytes" || bytes.RequestSize != len(body) || bytes.ReplySize != len(body) || bytes.Reply == nil {
				t.Errorf("%q, %+v", back, bytes)
			}
			must(t, c.Call(ctx, "Odd.Reuse", &Args{1, 2}, &Args{}))
			if reuse := got.of(t, "Odd.Reuse", 1)[0]; *reuse.Request.(*Args) != (Args{1, 2}) || *reuse.Reply.(*Args) != (Args{1, 2}) {
				t.Errorf("%+v", reuse)
			}
			if panicked := got.of(t, "Odd.Panic", 1)[0]; !errors.Is(panicked.Err, weft.Internal) {
				t.Errorf("%+v", panicked)
			}
			if echo := got.of(t, "Odd.Echo", 1)[0]; !echo.Info.Stream || echo.Received != 3 || echo.Sent != 3 || echo.RequestSize == 0 || echo.RequestSize != echo.ReplySize || echo.Err != nil {
				t.Errorf("%+v", echo)
			}
			if len(second.of(t, "Arith.Mul", 1)) != 1 || len(second.of(t, "Odd.Fail", 0)) != 0 {
				t.Error("the second tap")
			}
			if cfg != nil {
				if err := c.Call(weft.WithMetadata(ctx, "deny", "yes"), "Arith.Mul", &Args{}, nil); !errors.Is(err, weft.PermissionDenied) {
					t.Error(err)
				}
				if denied := got.of(t, "Arith.Mul", 2)[1]; !errors.Is(denied.Err, weft.PermissionDenied) || denied.Request != nil {
					t.Errorf("%+v", denied)
				}
			}
			stop()
			before := len(got.of(t, "Arith.Mul", 1))
			multiply(t, c)
			if len(got.of(t, "Arith.Mul", 1)) != before {
				t.Error("a tap that was stopped has seen a call")
			}
		})
	}
}

// denied refuses calls that ask for it.
type denied struct{}

func (denied) BeforeReadRequestBody(ctx context.Context, _ *weft.CallInfo) error {
	if weft.MetadataFrom(ctx).Get("deny") != "" {
		return weft.Errorf(weft.PermissionDenied, "as asked")
	}
	return nil
}

// Calls that come through a door are tapped too, and a tap that panics harms none.
func TestTapOfDoor(t *testing.T) {
	w := start(t, &weft.ServerConfig{Doors: []weft.Door{netrpc.Door()}}, nil)
	var got catch
	defer w.srv.Tap(func(*weft.TappedCall) { panic("as asked") })()
	defer w.srv.Tap(got.see)()
	conn, err := w.net.Dial(t.Context(), "server")
	must(t, err)
	c := rpc.NewClient(conn)
	defer c.Close()
	var p Product
	must(t, c.Call("Arith.Mul", &Args{7, 8}, &p))
	if mul := got.of(t, "Arith.Mul", 1); p.C != 56 || mul[0].Reply.(*Product).C != 56 || mul[0].Info.Peer.Wire() != weft.WireNetRPC || mul[0].RequestSize == 0 || mul[0].ReplySize == 0 {
		t.Errorf("%+v", mul)
	}
}

func TestTapOfNil(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Tap took no function")
		}
	}()
	weft.NewServer(nil).Tap(nil)
}
