package weft_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/transport/mem"
)

// diary notes what happened, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// take returns the lines and forgets them.
func (d *diary) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

func (d *diary) want(t *testing.T, lines ...string) {
	t.Helper()
	if got := d.take(); !slices.Equal(got, lines) {
		t.Errorf("got  %q\nwant %q", got, lines)
	}
}

// unary is an interceptor that notes its way in and out.
func (d *diary) unary(name string) weft.UnaryInterceptor {
	return func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		d.add("%s in %s", name, info.Method)
		reply, err := next(ctx, info, req)
		d.add("%s out %v", name, weft.CodeOf(err))
		return reply, err
	}
}

func TestInterceptorOrder(t *testing.T) {
	var d diary
	w := start(t, &weft.ServerConfig{Interceptors: []weft.UnaryInterceptor{d.unary("s1"), d.unary("s2")}}, nil)
	c := w.dial(&weft.ClientConfig{Interceptors: []weft.UnaryInterceptor{d.unary("c1"), d.unary("c2")}})
	multiply(t, c)
	d.want(t, "c1 in Arith.Mul", "c2 in Arith.Mul", "s1 in Arith.Mul", "s2 in Arith.Mul", "s2 out OK", "s1 out OK", "c2 out OK", "c1 out OK")
	err := c.Call(t.Context(), "Arith.Div", &Args{}, nil)
	wantError(t, err, weft.InvalidArgument, weft.Executed)
	d.want(t, "c1 in Arith.Div", "c2 in Arith.Div", "s1 in Arith.Div", "s2 in Arith.Div",
		"s2 out InvalidArgument", "s1 out InvalidArgument", "c2 out InvalidArgument", "c1 out InvalidArgument")
}

// What an interceptor makes of a call is what becomes of it.
func TestServerInterceptor(t *testing.T) {
	var handled atomic.Int32
	var intercept weft.UnaryInterceptor
	w := start(t, &weft.ServerConfig{Interceptors: []weft.UnaryInterceptor{
		func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			return intercept(ctx, info, req, next)
		},
	}}, func(s *weft.Server) error {
		return weft.Handle(s, "Arith.Mul", func(ctx context.Context, a *Args) (*Product, error) {
			handled.Add(1)
			if extra, ok := ctx.Value(diaryKey{}).(int); ok {
				return &Product{a.A*a.B + extra}, nil
			}
			return Arith{}.Mul(ctx, a)
		})
	})
	c := w.dial(nil)
	for _, tt := range []struct {
		name    string
		f       weft.UnaryInterceptor
		want    int
		code    weft.Code
		text    string
		handled int32
	}{
		{"short-circuit with a reply", func(context.Context, *weft.CallInfo, any, weft.UnaryFunc) (any, error) { return &Product{1}, nil }, 1, 0, "", 0},
		{"short-circuit with an error", func(context.Context, *weft.CallInfo, any, weft.UnaryFunc) (any, error) {
			return nil, weft.Errorf(weft.PermissionDenied, "not you")
		}, 0, weft.PermissionDenied, "not you", 0},
		{"another request", func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			return next(ctx, info, &Args{req.(*Args).A, 3})
		}, 21, 0, "", 1},
		{"another reply", func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			reply, err := next(ctx, info, req)
			return &Product{reply.(*Product).C + 1}, err
		}, 57, 0, "", 1},
		{"another error", func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			_, err := next(ctx, info, req)
			return nil, errors.Join(err, weft.Aborted)
		}, 0, weft.Aborted, "", 1},
		{"a context with a value", func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			return next(context.WithValue(ctx, diaryKey{}, 100), info, req)
		}, 156, 0, "", 1},
		{"twice", func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			next(ctx, info, req)
			return next(ctx, info, req)
		}, 56, 0, "", 2},
		{"neither", func(context.Context, *weft.CallInfo, any, weft.UnaryFunc) (any, error) { return nil, nil }, 0, weft.Internal, "neither a reply nor an error", 0},
		{"a panic", func(context.Context, *weft.CallInfo, any, weft.UnaryFunc) (any, error) { panic("x") }, 0, weft.Internal, "panicked", 0},
		{"info", func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			if info.Method != "Arith.Mul" || info.Codec != "msgpack" || info.Stream || info.Peer != weft.PeerFrom(ctx) || info.Reply != nil {
				return nil, weft.Errorf(weft.Internal, "%+v", info)
			}
			return next(ctx, info, req)
		}, 56, 0, "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			intercept = tt.f
			handled.Store(0)
			p, err := weft.Invoke[Product](t.Context(), c, "Arith.Mul", &Args{7, 8})
			if tt.code != 0 {
				wantError(t, err, tt.code, weft.Executed, tt.text)
			} else if err != nil || p.C != tt.want {
				t.Errorf("%v, %v, want %d", p, err, tt.want)
			}
			if n := handled.Load(); n != tt.handled {
				t.Errorf("the handler ran %d times, want %d", n, tt.handled)
			}
		})
	}
}

type diaryKey struct{}

func TestClientInterceptor(t *testing.T) {
	var intercept weft.UnaryInterceptor
	w := start(t, nil, func(s *weft.Server) error { return errors.Join(s.Register(Arith{}), echoMeta(s)) })
	c := w.dial(&weft.ClientConfig{Interceptors: []weft.UnaryInterceptor{
		func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			return intercept(ctx, info, req, next)
		},
	}})
	ctx := t.Context()

	intercept = func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		reply, err := next(weft.WithMetadata(ctx, "added", "1"), info, req)
		if reply != info.Reply || info.Peer != nil {
			t.Errorf("reply %v, info %+v", reply, info)
		}
		return reply, err
	}
	var got weft.Metadata
	must(t, c.Call(ctx, "Meta.Reply", &Args{}, new(Product), weft.WithReplyMetadata(&got)))
	if got.Get("added") != "1" {
		t.Errorf("metadata %v", got)
	}

	intercept = func(_ context.Context, info *weft.CallInfo, _ any, _ weft.UnaryFunc) (any, error) { // a cache
		info.Reply.(*Product).C = 99
		return info.Reply, nil
	}
	if p, err := weft.Invoke[Product](ctx, c, "Arith.Mul", &Args{7, 8}); err != nil || p.C != 99 {
		t.Errorf("%v, %v", p, err)
	}

	calls := 0
	intercept = func(ctx context.Context, info *weft.CallInfo, _ any, next weft.UnaryFunc) (any, error) { // tries again
		if reply, err := next(ctx, info, &Args{1, 0}); err == nil {
			return reply, nil
		}
		calls++
		return next(ctx, info, &Args{6, 3})
	}
	if p, err := weft.Invoke[Product](ctx, c, "Arith.Div", &Args{}); err != nil || p.C != 2 || calls != 1 {
		t.Errorf("%v, %v", p, err)
	}

	reason := errors.New("no more today")
	intercept = func(context.Context, *weft.CallInfo, any, weft.UnaryFunc) (any, error) { return nil, reason }
	err := c.Call(ctx, "Arith.Mul", &Args{}, nil)
	if e := wantError(t, err, weft.Unknown, weft.OutcomeUnknown, "no more today"); e.Method != "Arith.Mul" || !errors.Is(err, reason) {
		t.Errorf("method %q: %v", e.Method, err)
	}
	intercept = func(context.Context, *weft.CallInfo, any, weft.UnaryFunc) (any, error) { return nil, context.Canceled }
	wantError(t, c.Call(ctx, "Arith.Mul", &Args{}, nil), weft.Canceled, weft.OutcomeUnknown)

	intercept = func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		if !info.Oneway {
			t.Errorf("info %+v of a notification", info)
		}
		return next(ctx, info, req)
	}
	must(t, c.Notify(ctx, "Arith.Mul", &Args{}))
}

// watched is a RawStream that sees every message.
type watched struct {
	weft.RawStream
	d    *diary
	name string
}

func (w watched) Send(msg any) error {
	err := w.RawStream.Send(msg)
	w.d.add("%s sent %v", w.name, msg)
	return err
}

func (w watched) Recv(msg any) error {
	err := w.RawStream.Recv(msg)
	if err != nil {
		w.d.add("%s end %v", w.name, err)
	} else {
		w.d.add("%s received %v", w.name, msg)
	}
	return err
}

// An interceptor may keep what it was told of a call: it stays as it is, whatever calls come later, and a call of next that comes too late
// reaches the handler with what it is given.
func TestKeptCallInfo(t *testing.T) {
	type kept struct {
		info *weft.CallInfo
		next weft.UnaryFunc
	}
	var mu sync.Mutex
	var all []kept
	keep := func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		mu.Lock()
		all = append(all, kept{info, next})
		mu.Unlock()
		return next(ctx, info, req)
	}
	w := start(t, &weft.ServerConfig{Interceptors: []weft.UnaryInterceptor{keep}}, func(s *weft.Server) error {
		return errors.Join(s.Register(Arith{}), weft.Handle(s, "Other.Neg", func(_ context.Context, a *Args) (*Args, error) { return &Args{-a.A, -a.B}, nil }))
	})
	c := w.dial(nil)
	methods := []string{"Arith.Mul", "Other.Neg"}
	for n := range 100 {
		must(t, c.Call(t.Context(), methods[n%2], &Args{n, 2}, nil))
	}
	mu.Lock()
	defer mu.Unlock()
	if len(all) != 100 {
		t.Fatal(len(all))
	}
	for n, one := range all {
		if one.info.Method != methods[n%2] || one.info.Peer != all[0].info.Peer || one.info.Codec != "msgpack" {
			t.Errorf("call %d: %+v", n, one.info)
		}
		reply, err := one.next(t.Context(), one.info, &Args{n, 2})
		if p, ok := reply.(*Product); err != nil || n%2 == 0 && (!ok || p.C != 2*n) {
			t.Errorf("call %d, later: %v, %v", n, reply, err)
		}
	}
}

func TestStreamInterceptors(t *testing.T) {
	var client, server diary
	w := start(t, &weft.ServerConfig{StreamInterceptors: []weft.StreamInterceptor{
		func(ctx context.Context, info *weft.CallInfo, end weft.RawStream, next weft.StreamFunc) error {
			server.add("outer %s %v", info.Method, info.Stream)
			return next(ctx, info, end)
		},
		func(ctx context.Context, info *weft.CallInfo, end weft.RawStream, next weft.StreamFunc) error {
			err := next(ctx, info, watched{end, &server, "server"})
			server.add("returned %v", err)
			return err
		},
	}}, streams)
	c := w.dial(&weft.ClientConfig{StreamInterceptors: []weft.ClientStreamInterceptor{
		func(ctx context.Context, info *weft.CallInfo, next weft.OpenFunc) (weft.RawStream, error) {
			client.add("outer %s %v", info.Method, info.Stream)
			return next(ctx, info)
		},
		func(ctx context.Context, info *weft.CallInfo, next weft.OpenFunc) (weft.RawStream, error) {
			end, err := next(ctx, info)
			return watched{end, &client, "client"}, err
		},
	}})
	s, err := weft.Subscribe[Product](t.Context(), c, "Stream.Mul", &Args{6, 7})
	must(t, err)
	if got := receive(t, s); !slices.Equal(got, []int{42}) {
		t.Errorf("%v", got)
	}
	client.want(t, "outer Stream.Mul true", "client sent &{6 7}", "client received &{42}", "client end EOF")
	server.want(t, "outer Stream.Mul true", "server received &{6 7}", "server sent &{42}", "server end EOF", "returned <nil>")
}

func TestStreamInterceptorsRefuse(t *testing.T) {
	refuse := false
	w := start(t, &weft.ServerConfig{StreamInterceptors: []weft.StreamInterceptor{
		func(context.Context, *weft.CallInfo, weft.RawStream, weft.StreamFunc) error {
			return weft.Errorf(weft.PermissionDenied, "not at the server")
		},
	}}, streams)
	c := w.dial(&weft.ClientConfig{StreamInterceptors: []weft.ClientStreamInterceptor{
		func(ctx context.Context, info *weft.CallInfo, next weft.OpenFunc) (weft.RawStream, error) {
			if refuse {
				return nil, io.ErrClosedPipe
			}
			return next(ctx, info)
		},
	}})
	wantError(t, drainStream(t.Context(), c, "Stream.Mul"), weft.PermissionDenied, weft.Executed, "not at the server")
	refuse = true
	_, err := weft.OpenStream[Args, Product](t.Context(), c, "Stream.Mul")
	if wantError(t, err, weft.Unknown, weft.OutcomeUnknown, "closed pipe"); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

func TestNilInterceptorsAreConfigErrors(t *testing.T) {
	for _, cfg := range []*weft.ServerConfig{
		{Interceptors: []weft.UnaryInterceptor{nil}},
		{StreamInterceptors: []weft.StreamInterceptor{nil}},
	} {
		srv := weft.NewServer(cfg)
		for _, err := range []error{srv.Register(Arith{}), srv.ListenAndServe(t.Context(), "tcp://127.0.0.1:0")} {
			wantError(t, err, weft.InvalidArgument, 0, "interceptor 0 of the configuration is nil")
		}
		l, err := mem.New().Listen(t.Context(), "x")
		must(t, err)
		wantError(t, srv.Serve(l), weft.InvalidArgument, 0, "interceptor 0")
		must(t, srv.Close())
	}
	for _, cfg := range []*weft.ClientConfig{
		{Lazy: true, Interceptors: []weft.UnaryInterceptor{nil}},
		{Lazy: true, StreamInterceptors: []weft.ClientStreamInterceptor{nil}},
	} {
		_, err := weft.Dial(t.Context(), "tcp://127.0.0.1:1", cfg)
		wantError(t, err, weft.InvalidArgument, 0, "interceptor 0 of the configuration is nil")
	}
}
