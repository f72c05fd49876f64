package weft

import "context"

// CallInfo tells about a call to what runs around it. It must not be changed.
type CallInfo struct {
	Method string // "Service.Method"
	Codec  string // the name of the codec
	Stream bool
	Oneway bool
	Peer   *Peer // the other side; nil on a client before there is a connection
	Reply  any   // on a client: where the reply will be decoded to; nil on a server
}

// UnaryFunc is a unary call, or what is left of it, as an interceptor sees it.
// On a server it takes the decoded request and returns the reply; on a client it
// returns CallInfo.Reply, filled in.
type UnaryFunc func(ctx context.Context, req any) (reply any, err error)

// UnaryInterceptor runs around a unary call. It calls next at most as often as
// the call may be made, or not at all, and returns what becomes of the call. On a
// client the reply must be CallInfo.Reply; another one is not looked at. It is
// called concurrently.
type UnaryInterceptor func(ctx context.Context, info *CallInfo, req any, next UnaryFunc) (reply any, err error)

// RawStream is one end of a streaming call without its types.
type RawStream interface {
	// Send sends a message, a pointer. One goroutine may send while another receives.
	Send(msg any) error
	// Recv receives a message into msg, a pointer. It returns io.EOF at the end.
	Recv(msg any) error
	// CloseSend says that no more will be sent. On a server it does nothing.
	CloseSend() error
	// Close gives the call up. On a server it does nothing.
	Close() error
	// Context is the context of the call.
	Context() context.Context
}

// StreamInterceptor runs around a streaming call on a server. It is called
// concurrently. It may hand next another RawStream that sees every message.
type StreamInterceptor func(ctx context.Context, info *CallInfo, stream RawStream, next func(context.Context, RawStream) error) error

// ClientStreamInterceptor runs around the opening of a streaming call on a client.
// It is called concurrently. It may return another RawStream that sees every message.
type ClientStreamInterceptor func(ctx context.Context, info *CallInfo, next func(context.Context) (RawStream, error)) (RawStream, error)

// chainUnary puts the interceptors around a call, the first outermost.
func chainUnary(all []UnaryInterceptor, info *CallInfo, last UnaryFunc) UnaryFunc {
	for i := len(all) - 1; i >= 0; i-- {
		interceptor, next := all[i], last
		last = func(ctx context.Context, req any) (any, error) { return interceptor(ctx, info, req, next) }
	}
	return last
}

func chainStream(all []StreamInterceptor, info *CallInfo, last func(context.Context, RawStream) error) func(context.Context, RawStream) error {
	for i := len(all) - 1; i >= 0; i-- {
		interceptor, next := all[i], last
		last = func(ctx context.Context, s RawStream) error { return interceptor(ctx, info, s, next) }
	}
	return last
}

func chainOpen(all []ClientStreamInterceptor, info *CallInfo, last func(context.Context) (RawStream, error)) func(context.Context) (RawStream, error) {
	for i := len(all) - 1; i >= 0; i-- {
		interceptor, next := all[i], last
		last = func(ctx context.Context) (RawStream, error) { return interceptor(ctx, info, next) }
	}
	return last
}
