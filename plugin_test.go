package weft_test

import (
	"context"
	"slices"
	"testing"

	"github.com/weftrpc/weft"
)

// rule is a plugin that notes what it sees.
func (d *diary) rule(name string) weft.Plugin {
	return weft.Plugin{
		Name:   name,
		Server: d.unary(name + " server"),
		ServerStream: func(ctx context.Context, info *weft.CallInfo, s weft.RawStream, next weft.StreamFunc) error {
			d.add("%s server stream %s", name, info.Method)
			return next(ctx, info, s)
		},
		Client: d.unary(name + " client"),
		ClientStream: func(ctx context.Context, info *weft.CallInfo, next weft.OpenFunc) (weft.RawStream, error) {
			d.add("%s client stream %s", name, info.Method)
			return next(ctx, info)
		},
		Hooks: []any{&opened{d, name}},
	}
}

type opened struct {
	d    *diary
	name string
}

func (o *opened) ConnOpened(*weft.Peer) { o.d.add("%s opened", o.name) }

// Plugins run before what the configuration has itself, in the order of the list, on both
// sides and in both directions.
func TestPlugins(t *testing.T) {
	var server, client diary
	w := start(t, &weft.ServerConfig{
		Plugins: []weft.Plugin{server.rule("p1"), server.rule("p2")}, Interceptors: []weft.UnaryInterceptor{server.unary("own")},
		Hooks: []any{&opened{&server, "own"}},
	}, func(s *weft.Server) error {
		if err := streams(s); err != nil {
			return err
		}
		return weft.Handle(s, "Chat.Join", func(ctx context.Context, name *string) (*string, error) {
			return weft.Invoke[string](ctx, weft.PeerFrom(ctx), "Inbox.Put", name)
		})
	})
	in := &inbox{make(chan string, 10)}
	c := w.dial(&weft.ClientConfig{Plugins: []weft.Plugin{client.rule("p")}, Services: in.services(t)})
	server.want(t, "p1 opened", "p2 opened", "own opened")
	client.want(t, "p opened")

	_, err := weft.Invoke[string](t.Context(), c, "Chat.Join", "alice")
	must(t, err)
	client.want(t, "p client in Chat.Join", "p server in Inbox.Put", "p server out OK", "p client out OK")
	server.want(t, "p1 server in Chat.Join", "p2 server in Chat.Join", "own in Chat.Join",
		"p1 client in Inbox.Put", "p2 client in Inbox.Put", "p2 client out OK", "p1 client out OK",
		"own out OK", "p2 server out OK", "p1 server out OK")

	s, err := weft.Subscribe[Product](t.Context(), c, "Stream.Mul", &Args{6, 7})
	must(t, err)
	if got := receive(t, s); !slices.Equal(got, []int{42}) {
		t.Errorf("%v", got)
	}
	client.want(t, "p client stream Stream.Mul")
	server.want(t, "p1 server stream Stream.Mul", "p2 server stream Stream.Mul")
}

// A call that is made with the peer of a client runs the client's interceptors.
func TestPeerRunsInterceptors(t *testing.T) {
	var d diary
	c := start(t, nil, nil).dial(&weft.ClientConfig{Interceptors: []weft.UnaryInterceptor{d.unary("c")}})
	multiply(t, c.Peer())
	d.want(t, "c in Arith.Mul", "c out OK")
}

func TestEmptyPlugin(t *testing.T) {
	srv := weft.NewServer(&weft.ServerConfig{Plugins: []weft.Plugin{{Name: "nothing"}}})
	wantError(t, srv.Register(Arith{}), weft.InvalidArgument, 0, `plugin 0 ("nothing") of the configuration is empty`)
	must(t, srv.Close())
}

// An interceptor may hand on a changed copy of what it was given, and nothing else.
func TestInterceptorChangesTheCall(t *testing.T) {
	w := start(t, nil, nil)
	other := w.dial(&weft.ClientConfig{Interceptors: []weft.UnaryInterceptor{
		func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			changed := *info
			changed.Method = "Arith.Mul"
			return next(ctx, &changed, req)
		}}})
	p, err := weft.Invoke[Product](t.Context(), other, "Old.Name", &Args{6, 7})
	if err != nil || p.C != 42 {
		t.Errorf("%v, %v", p, err)
	}
	for i, info := range []*weft.CallInfo{nil, {Method: "Arith.Mul"}} {
		wrong := func(ctx context.Context, _ *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
			return next(ctx, info, req)
		}
		c := w.dial(&weft.ClientConfig{Interceptors: []weft.UnaryInterceptor{wrong}})
		err := c.Call(t.Context(), "Arith.Mul", &Args{1, 1}, nil)
		if weft.CodeOf(err) != weft.Internal {
			t.Error(i, err)
		}
	}
}
