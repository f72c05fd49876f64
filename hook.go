package weft

import (
	"context"
	"net"
)

// The hooks are interfaces of one method each. A value in a configuration's Hooks is called for each of them that it implements, in the
// order of the list, and may be called concurrently. A hook whose name begins with Before can return an error: the call then ends with it.
// From BeforeReadRequestBody the error has the outcome Refused, from BeforeWriteRequest NotSent, and otherwise the call may have run. No
// further hooks run for the call, except AfterWriteReplyHook when a reply was held back. Hooks that no value implements cost nothing.
//
// Of a streaming call a server's hooks see the beginning and the end, without AfterReadRequestBodyHook; a client's are not called for it:
// use ClientStreamInterceptor. Of a one-way call a client's hooks see what is sent. On a foreign wire BeforeReadReplyHeaderHook and
// BeforeReadReplyBodyHook are not called.

// ServiceRegisteredHook is called for every service that gets its first method or alias.
type ServiceRegisteredHook interface{ ServiceRegistered(service string) }

// ListeningHook is called for every address that ListenAndServe listens on, with the port that the system chose, before connections are
// accepted.
type ListeningHook interface{ Listening(addr net.Addr) }

// ConnAcceptedHook is called with a server's new connection before anything is read from it. An error closes it.
type ConnAcceptedHook interface{ ConnAccepted(conn net.Conn) error }

// ConnOpenedHook is called, on a server and on a client, when the hellos have been exchanged and before anything else is read. It may keep
// the peer; it must not make a call and wait for the reply.
type ConnOpenedHook interface{ ConnOpened(peer *Peer) }

// ConnClosedHook is called when an opened connection has ended; err says why.
type ConnClosedHook interface{ ConnClosed(peer *Peer, err error) }

// AfterReadRequestHeaderHook runs on a server when a call has come in: its method and metadata are known, and the caller is not
// authenticated yet.
type AfterReadRequestHeaderHook interface {
	AfterReadRequestHeader(ctx context.Context, info *CallInfo)
}

// BeforeReadRequestBodyHook runs before the request is decoded.
type BeforeReadRequestBodyHook interface {
	BeforeReadRequestBody(ctx context.Context, info *CallInfo) error
}

// AfterReadRequestBodyHook runs when the request has been decoded, or has not: then err says why and req is nil.
type AfterReadRequestBodyHook interface {
	AfterReadRequestBody(ctx context.Context, info *CallInfo, req any, err error)
}

// BeforeWriteReplyHook runs when the handler has returned.
type BeforeWriteReplyHook interface {
	BeforeWriteReply(ctx context.Context, info *CallInfo, reply any, err error) error
}

// AfterWriteReplyHook runs when the reply, or the error, has been handed to the connection.
type AfterWriteReplyHook interface {
	AfterWriteReply(ctx context.Context, info *CallInfo, reply any, err error)
}

// BeforeWriteRequestHook runs on a client before a request is encoded.
type BeforeWriteRequestHook interface {
	BeforeWriteRequest(ctx context.Context, info *CallInfo, req any) error
}

// AfterWriteRequestHook runs when the request has been handed to the connection, or has not: then err says why.
type AfterWriteRequestHook interface {
	AfterWriteRequest(ctx context.Context, info *CallInfo, req any, err error)
}

// BeforeReadReplyHeaderHook runs on a client before it waits for the reply.
type BeforeReadReplyHeaderHook interface {
	BeforeReadReplyHeader(ctx context.Context, info *CallInfo) error
}

// AfterReadReplyHeaderHook runs when the reply has come; err is the error that came in its place.
type AfterReadReplyHeaderHook interface {
	AfterReadReplyHeader(ctx context.Context, info *CallInfo, err error)
}

// BeforeReadReplyBodyHook runs before a reply is decoded.
type BeforeReadReplyBodyHook interface {
	BeforeReadReplyBody(ctx context.Context, info *CallInfo) error
}

// AfterReadReplyBodyHook runs when a reply has been decoded into info.Reply, or has not: then err says why.
type AfterReadReplyBodyHook interface {
	AfterReadReplyBody(ctx context.Context, info *CallInfo, err error)
}

// hooks are the values of a configuration, sorted by what they implement.
type hooks struct {
	registered []ServiceRegisteredHook
	listening  []ListeningHook
	accepted   []ConnAcceptedHook
	opened     []ConnOpenedHook
	closed     []ConnClosedHook
	request    requestHooks
	reply      replyHooks
}

// requestHooks are those of a server's calls.
type requestHooks struct {
	any         bool
	afterHeader []AfterReadRequestHeaderHook
	beforeBody  []BeforeReadRequestBodyHook
	afterBody   []AfterReadRequestBodyHook
	beforeReply []BeforeWriteReplyHook
	afterReply  []AfterWriteReplyHook
}

// replyHooks are those of a client's calls.
type replyHooks struct {
	any           bool
	beforeRequest []BeforeWriteRequestHook
	afterRequest  []AfterWriteRequestHook
	beforeHeader  []BeforeReadReplyHeaderHook
	afterHeader   []AfterReadReplyHeaderHook
	beforeBody    []BeforeReadReplyBodyHook
	afterBody     []AfterReadReplyBodyHook
}

// collect appends v to list if it is of the list's type.
func collect[T any](list *[]T, v any) bool {
	h, ok := v.(T)
	if ok {
		*list = append(*list, h)
	}
	return ok
}

// newHooks sorts the values of a configuration.
func newHooks(values []any) (*hooks, error) {
	h := &hooks{}
	for i, v := range values {
		if v == nil {
			return nil, Errorf(InvalidArgument, "weft: hook %d of the configuration is nil", i)
		}
		if near := nearHook(v); near != "" {
			return nil, Errorf(InvalidArgument, "weft: hook of type %T: %s", v, near)
		}
		conn := collect(&h.registered, v)
		conn = collect(&h.listening, v) || conn
		conn = collect(&h.accepted, v) || conn
		conn = collect(&h.opened, v) || conn
		conn = collect(&h.closed, v) || conn

		q := &h.request
		request := collect(&q.afterHeader, v)
		request = collect(&q.beforeBody, v) || request
		request = collect(&q.afterBody, v) || request
		request = collect(&q.beforeReply, v) || request
		request = collect(&q.afterReply, v) || request
		q.any = q.any || request

		p := &h.reply
		reply := collect(&p.beforeRequest, v)
		reply = collect(&p.afterRequest, v) || reply
		reply = collect(&p.beforeHeader, v) || reply
		reply = collect(&p.afterHeader, v) || reply
		reply = collect(&p.beforeBody, v) || reply
		reply = collect(&p.afterBody, v) || reply
		p.any = p.any || reply

		if !conn && !request && !reply {
			return nil, Errorf(InvalidArgument, "weft: hook of type %T implements none of the hook interfaces", v)
		}
	}
	return h, nil
}
