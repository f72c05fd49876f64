package weft

import "context"

// CallInfo describes a call to interceptors and hooks. To change the method that the rest of
// the chain sees, an interceptor passes a changed copy to next.
type CallInfo struct {
	Method string // "Service.Method"
	Codec  string // the name of the codec
	Stream bool
	Oneway bool
	// OwnCredential says, on a client, that WithCredential gives the call a credential of its own.
	OwnCredential bool
	// Attempt is how many times the call was tried before, on a client that makes it for
	// package cluster; see WithAttempt. On a server AttemptFrom has it.
	Attempt int
	Peer    *Peer // the peer; nil to interceptors of a Client's calls, which chooses the connection later
	Reply   any   // on a client: where the reply will be decoded to; nil on a server

	// What the innermost function of a chain needs. A copy of a CallInfo has it too.
	out *outgoing
	in  *endpoint
}

// UnaryFunc is a unary call with the interceptors that are further inside. On a server it takes the decoded request and returns the reply;
// on a client it returns CallInfo.Reply, filled in. info must be the one that the interceptor got, or a copy of it.
type UnaryFunc func(ctx context.Context, info *CallInfo, req any) (reply any, err error)

// UnaryInterceptor runs around a unary call. It calls next once, or not at all, and returns the reply or the error of the call. One on a
// client may call next again for a call that may be made twice. On a client the reply must be CallInfo.Reply; another one is ignored. It is
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
	// Close cancels the call. On a server it does nothing.
	Close() error
	// Context is the context of the call.
	Context() context.Context
}

// StreamFunc is a streaming call on a server with the interceptors that are further inside.
type StreamFunc func(ctx context.Context, info *CallInfo, stream RawStream) error

// StreamInterceptor runs around a streaming call on a server, concurrently. It may hand next another RawStream that sees every message.
type StreamInterceptor func(ctx context.Context, info *CallInfo, stream RawStream, next StreamFunc) error

// OpenFunc opens a streaming call on a client, with the interceptors that are further inside.
type OpenFunc func(ctx context.Context, info *CallInfo) (RawStream, error)

// ClientStreamInterceptor runs around the opening of a streaming call on a client.
// It is called concurrently. It may return another RawStream that sees every message.
type ClientStreamInterceptor func(ctx context.Context, info *CallInfo, next OpenFunc) (RawStream, error)

// chainUnary puts the interceptors around last, the first outermost. It is called once for a configuration, not for each call.
func chainUnary(all []UnaryInterceptor, last UnaryFunc) UnaryFunc {
	for i := len(all) - 1; i >= 0; i-- {
		interceptor, next := all[i], last
		last = func(ctx context.Context, info *CallInfo, req any) (any, error) {
			return interceptor(ctx, info, req, next)
		}
	}
	return last
}

func chainStream(all []StreamInterceptor, last StreamFunc) StreamFunc {
	for i := len(all) - 1; i >= 0; i-- {
		interceptor, next := all[i], last
		last = func(ctx context.Context, info *CallInfo, s RawStream) error { return interceptor(ctx, info, s, next) }
	}
	return last
}

func chainOpen(all []ClientStreamInterceptor, last OpenFunc) OpenFunc {
	for i := len(all) - 1; i >= 0; i-- {
		interceptor, next := all[i], last
		last = func(ctx context.Context, info *CallInfo) (RawStream, error) { return interceptor(ctx, info, next) }
	}
	return last
}
