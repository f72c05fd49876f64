package weft_test

import (
	"context"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/door/jsonrpc"
)

// uncarriable is a message that no codec carries.
type uncarriable struct {
	Name string
	Part struct{ Notify chan int }
}

// counting is a service that counts the calls that reach it.
type counting struct{ calls atomic.Int64 }

func (c *counting) Mul(_ context.Context, a *Args) (*Product, error) {
	c.calls.Add(1)
	return &Product{a.A * a.B}, nil
}

func (c *counting) Each(_ context.Context, s *weft.Stream[Args, Product]) error {
	for range s.All() {
	}
	return nil
}

// wantUncarried checks that a call was not sent for a type that cannot be carried.
func wantUncarried(t *testing.T, err error, what string) {
	t.Helper()
	wantError(t, err, weft.InvalidArgument, weft.NotSent, "cannot carry a "+what+" of type *weft_test.uncarriable", "Notify")
}

// What a codec can never carry is found before the call is sent, also when it is the reply.
func TestTypesAreFoundBeforeSending(t *testing.T) {
	for name, dialIt := range map[string]func(*testing.T, *counting) *weft.Client{
		"weft": func(t *testing.T, s *counting) *weft.Client {
			w := start(t, nil, func(srv *weft.Server) error { return srv.RegisterName("Count", s) })
			return w.dial(nil)
		},
		"weft, configured codec": func(t *testing.T, s *counting) *weft.Client {
			w := start(t, nil, func(srv *weft.Server) error { return srv.RegisterName("Count", s) })
			return w.dial(&weft.ClientConfig{Codec: json.New()})
		},
		"weft, with an interceptor": func(t *testing.T, s *counting) *weft.Client {
			w := start(t, nil, func(srv *weft.Server) error { return srv.RegisterName("Count", s) })
			return w.dial(&weft.ClientConfig{Interceptors: []weft.UnaryInterceptor{
				func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
					return next(ctx, info, req)
				},
			}})
		},
		"JSON-RPC": func(t *testing.T, s *counting) *weft.Client {
			srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{jsonrpc.Door(nil)}})
			must(t, srv.RegisterName("Count", s))
			addr := serve(t, srv, "tcp://127.0.0.1:0")
			c, err := weft.Dial(t.Context(), "jsonrpc"+addr[len("tcp"):], &weft.ClientConfig{Wires: []weft.Wire{jsonrpc.Wire()}})
			must(t, err)
			t.Cleanup(func() { c.Close() })
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &counting{}
			c := dialIt(t, s)
			ctx := t.Context()
			bad := &uncarriable{}
			for range 3 { // also when the types are known
				wantUncarried(t, c.Call(ctx, "Count.Mul", bad, &Product{}), "request")
				wantUncarried(t, c.Call(ctx, "Count.Mul", &Args{7, 8}, bad), "reply")
				_, err := weft.Invoke[uncarriable](ctx, c, "Count.Mul", &Args{7, 8})
				wantUncarried(t, err, "reply")
				var again weft.Reuse[uncarriable]
				_, err = again.Invoke(ctx, c, "Count.Mul", &Args{7, 8})
				wantUncarried(t, err, "reply")
				wantUncarried(t, (<-c.Go(ctx, "Count.Mul", &Args{7, 8}, bad, nil).Done).Error, "reply")
				wantUncarried(t, (<-c.Go(ctx, "Count.Mul", bad, nil, nil).Done).Error, "request")
				wantUncarried(t, c.Notify(ctx, "Count.Mul", bad), "request")
			}
			wantUncarried(t, c.Call(ctx, "Count.Mul", &Args{7, 8}, bad, weft.WithCodec(json.New())), "reply")
			if name != "JSON-RPC" { // which has no streams
				_, err := weft.OpenStream[uncarriable, Product](ctx, c, "Count.Each")
				wantUncarried(t, err, "request")
				_, err = weft.OpenStream[Args, uncarriable](ctx, c, "Count.Each")
				wantUncarried(t, err, "reply")
				_, err = weft.Subscribe[uncarriable](ctx, c, "Count.Each", &Args{})
				wantUncarried(t, err, "reply")
				end, err := weft.OpenStream[Args, Product](ctx, c, "Count.Each")
				must(t, err)
				must(t, end.Close())
			}
			p, err := weft.Invoke[Product](ctx, c, "Count.Mul", &Args{7, 8})
			if err != nil || p.C != 56 || s.calls.Load() != 1 {
				t.Errorf("a call after those: %v, %v, %d calls have reached the server", p, err, s.calls.Load())
			}
		})
	}
}

// A server that calls its client finds such types too.
func TestCallbackTypesAreFoundBeforeSending(t *testing.T) {
	back := make(chan error, 2)
	w := start(t, nil, func(s *weft.Server) error {
		return weft.Handle(s, "Call.Back", func(ctx context.Context, _ *Args) (*Product, error) {
			p := weft.PeerFrom(ctx)
			back <- p.Call(ctx, "Arith.Mul", &Args{}, &uncarriable{})
			back <- p.Notify(ctx, "Arith.Mul", &uncarriable{})
			return &Product{}, nil
		})
	})
	services := weft.NewServices()
	must(t, services.Register(Arith{}))
	c := w.dial(&weft.ClientConfig{Services: services})
	must(t, c.Call(t.Context(), "Call.Back", &Args{}, nil))
	wantUncarried(t, <-back, "reply")
	wantUncarried(t, <-back, "request")
}

// asking is a codec that counts how often it is asked about types, and whose values cannot be compared.
type asking struct {
	codec.Codec
	asked *atomic.Int64
	_     []int
}

func (a asking) CheckType(t reflect.Type) error {
	a.asked.Add(1)
	return a.Codec.(codec.TypeChecker).CheckType(t)
}

// A codec is asked once about the types of usual calls; calls of more types than are remembered go well.
func TestTypesAreRemembered(t *testing.T) {
	w := start(t, nil, func(s *weft.Server) error {
		return weft.Handle(s, "Any.Echo", func(_ context.Context, m *map[string]int) (*map[string]int, error) { return m, nil })
	})
	asked := new(atomic.Int64)
	c := w.dial(&weft.ClientConfig{Codec: asking{Codec: msgpack.New(), asked: asked}})
	call := func(reply any) {
		t.Helper()
		if err := c.Call(t.Context(), "Any.Echo", map[string]int{"N": 7}, reply); err != nil {
			t.Errorf("a reply of type %T: %v", reply, err)
		}
	}
	for range 100 {
		call(new(struct{ N int }))
		call(new(map[string]int))
	}
	if n := asked.Load(); n != 4 {
		t.Errorf("the codec was asked %d times about four types", n)
	}
	for range 3 {
		for _, reply := range []any{
			new(struct{ N int8 }), new(struct{ N int16 }), new(struct{ N int32 }), new(struct{ N int64 }), new(struct{ N any }),
			new(struct{ N uint8 }), new(struct{ N uint16 }), new(struct{ N uint32 }), new(struct{ N uint64 }), new(struct{ N float64 }),
		} {
			call(reply)
		}
	}
}
