package cluster

import (
	"context"
	"log/slog"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/internal/fence"
)

// around is what runs around whole calls, all attempts of each included.
type around struct {
	unary   []weft.UnaryInterceptor
	streams []weft.ClientStreamInterceptor
	fence   *fence.Fence // of calls that Go makes: these have no goroutine of the caller's
}

// gather collects what the plugins of a configuration have for whole calls.
func gather(plugins []weft.Plugin, logger *slog.Logger) (a around, err error) {
	a.fence = &fence.Fence{Log: logger}
	for i, p := range plugins {
		if p.Client == nil && p.ClientStream == nil {
			return a, weft.Errorf(weft.InvalidArgument,
				"cluster: Plugins[%d] (%q) has neither Client nor ClientStream; what runs around attempts is for Client.Plugins", i, p.Name)
		}
		if p.Client != nil {
			a.unary = append(a.unary, p.Client)
		}
		if p.ClientStream != nil {
			a.streams = append(a.streams, p.ClientStream)
		}
	}
	return a, nil
}

// call makes a unary or a one-way call with the interceptors around it.
func (a *around) call(ctx context.Context, c *Client, k kind, name string, args, reply any, opts []weft.CallOption) error {
	next := func(ctx context.Context, info *weft.CallInfo, req any) (any, error) {
		return info.Reply, c.do(ctx, k, info.Method, req, info.Reply, opts)
	}
	for i := len(a.unary) - 1; i >= 0; i-- {
		interceptor, inner := a.unary[i], next
		next = func(ctx context.Context, info *weft.CallInfo, req any) (any, error) {
			return interceptor(ctx, info, req, inner)
		}
	}
	info := described(weft.CallInfo{Method: name, Oneway: k == oneway, Reply: reply}, c.connection.Codec, args, opts)
	_, err := next(ctx, info, args)
	return ownError(err, name)
}

// open opens a stream with the interceptors around it.
func (a *around) open(ctx context.Context, c *Client, name string, sample any, opts []weft.CallOption) (weft.RawStream, error) {
	next := func(ctx context.Context, info *weft.CallInfo) (weft.RawStream, error) {
		return c.openStream(ctx, info.Method, sample, opts)
	}
	for i := len(a.streams) - 1; i >= 0; i-- {
		interceptor, inner := a.streams[i], next
		next = func(ctx context.Context, info *weft.CallInfo) (weft.RawStream, error) {
			return interceptor(ctx, info, inner)
		}
	}
	info := described(weft.CallInfo{Method: name, Stream: true}, c.connection.Codec, sample, opts)
	stream, err := next(ctx, info)
	return stream, ownError(err, name)
}

// described adds what options, configured codec and type of the request tell interceptors of a call, as the client of one server does.
func described(info weft.CallInfo, with codec.Codec, sample any, opts []weft.CallOption) *weft.CallInfo {
	settings, _ := weft.SettingsOf(opts...) // a wrong option is the error of the attempt
	info.OwnCredential, info.Codec = settings.OwnCredential, "msgpack"
	switch {
	case settings.Codec != nil:
		info.Codec = settings.Codec.Name()
	case with != nil:
		info.Codec = with.Name()
	case protobuf.Is(sample):
		info.Codec = "protobuf"
	}
	return &info
}

// ownError makes an *Error of the error of an interceptor.
func ownError(err error, method string) error {
	if err == nil {
		return nil
	}
	if _, ok := asError(err); ok {
		return err
	}
	e := weft.Errorf(weft.CodeOf(err), "%w", err)
	e.Method = method
	return e
}
