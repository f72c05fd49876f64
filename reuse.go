package weft

import (
	"bytes"
	"context"
	"reflect"
	"sync"

	"github.com/weftrpc/weft/internal/poison"
	"github.com/weftrpc/weft/internal/reuse"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/wire"
)

// HandleReuse registers a typed function as a unary method, as [Handle] does, whose messages
// are used again for later calls: a call then allocates nothing.
//
// The request, and all it refers to, strings and byte slices included, is valid until the function returns. What the program
// keeps longer it must copy, with strings.Clone for example; that includes what it gives to a goroutine, or to another call that
// it does not wait for. The function fills in the reply, which is zero at first, and may refer to the request in it. It must not
// keep the reply either, nor store memory of its own in the request, such as a pointer to a variable: the next request is written
// there. Nor may two pointers in the request point to one variable when the function returns, or two lists or maps share memory:
// what comes for one in the next request would show in the other. To remove an element of a list with append leaves a copy of the
// last element, with the pointers, lists and maps in it, behind the end of the list; slices.Delete clears it.
//
// On a server with Authenticate, interceptors or hooks, for a method with [MethodTimeout] or [MethodAuthenticate], for a request above 64 KiB,
// while a tap is open, by a foreign wire, by a codec that is no [codec.Reuser], and after a panic, messages are fresh. With the race detector, messages that are used again are
// overwritten when the function has returned: a test finds what is kept, and so does cmd/weft-vet, a tool of go vet, in the source.
func HandleReuse[Req, Res any](r Registrar, name string, fn func(context.Context, *Req, *Res) error, opts ...MethodOption) error {
	return offer(r, &method{
		name: name, kind: Unary, in: reflect.TypeFor[Req](), out: reflect.TypeFor[Res](),
		newRequest: func() any { return new(Req) },
		call: func(ctx context.Context, req any) (any, error) {
			res := new(Res)
			if err := fn(ctx, req.(*Req), res); err != nil {
				return nil, err
			}
			return res, nil
		},
		reuse: &recycler{
			pool: sync.Pool{New: func() any { return &exchange{req: new(Req), res: new(Res)} }},
			run:  func(ctx context.Context, x *exchange) error { return fn(ctx, x.req.(*Req), x.res.(*Res)) },
			zero: func(x *exchange) { *x.res.(*Res) = *new(Res) },
		},
	}, fn == nil, opts)
}

// recycler keeps the messages of a method for later calls.
type recycler struct {
	pool sync.Pool // of *exchange
	run  func(context.Context, *exchange) error
	zero func(*exchange) // the reply
}

// exchange is a request and the reply to it.
type exchange struct{ req, res any }

// answerReuse is answer for a method whose messages are used again, and a small request. They are not used again if the handler panics.
func (e *endpoint) answerReuse(r *session.Request) error {
	u, body := e.m.reuse, r.Body
	if poison.Enabled {
		body = bytes.Clone(body)
	}
	x := u.pool.Get().(*exchange)
	if err := reuse.Decode(r.Codec, body, x.req); err != nil {
		return e.fail(r, &wire.Status{Code: wire.InvalidArgument, Outcome: wire.Refused, Reason: wire.ReasonDecode,
			Message: "decode the request with codec " + r.Codec.Name() + ": " + err.Error()})
	}
	err := u.run(r.Ctx, x)
	if err != nil {
		err = e.fail(r, toStatus(err))
	} else {
		r.Reply(x.res) // encoded when it returns
	}
	if poison.Enabled {
		poison.Bytes(body)
		poison.Value(x.req)
		poison.Top(x.res) // what it refers to may be the program's own
	}
	u.zero(x)
	u.pool.Put(x)
	return err
}

// Reuse makes unary calls whose replies are decoded into one variable, over the last one: a call then allocates nothing, but for what package
// context needs to interrupt the only call of a client if its context can end. The zero value is ready. It is for one goroutine: two must not use it at the same time. The program may change a reply, but not store memory of its own in
// it, nor leave two pointers, lists or maps in it that share memory, as [HandleReuse] says of requests.
//
// Where the reply is decoded into a fresh variable instead, as by Invoke, nothing else changes: when the call has options, the client a
// Compressor, a Credential, interceptors or hooks, or the caller is no Client, by a foreign wire, and when it is made again on another connection.
type Reuse[Res any] struct {
	reply Res
	into  reuse.Memory
}

// Invoke makes a call. The reply, and all it refers to, is valid until the next Invoke; what the program keeps longer it must copy.
func (u *Reuse[Res]) Invoke(ctx context.Context, c Caller, method string, args any, opts ...CallOption) (*Res, error) {
	client, ok := c.(*Client)
	if !ok || len(opts) > 0 {
		return Invoke[Res](ctx, c, method, args, opts...)
	}
	u.into.Forget(&u.reply)
	made, deadline, err := client.callReuse(ctx, method, args, &u.reply, &u.into)
	switch {
	case !made:
		return Invoke[Res](ctx, c, method, args)
	case err == nil:
		return &u.reply, nil
	case !again(err):
		return nil, err
	}
	reply := new(Res)
	if err := client.makeAgain(ctx, method, args, reply, deadline); err != nil {
		return nil, err
	}
	return reply, nil
}

// callReuse makes a call without options, unless something around it may keep the reply. The deadline is that of the call.
func (c *Client) callReuse(ctx context.Context, method string, args, reply any, into *reuse.Memory) (made bool, deadline int64, err error) {
	if !c.caller.plain || method == "" || len(method) > wire.MaxMethodName {
		return false, 0, nil
	}
	p := c.ready()
	if p == nil || p.s == nil || checkMessages(args, reply) != nil || !c.caller.carries(args, reply) {
		return false, 0, nil
	}
	deadline, err = c.caller.quick(ctx, p.s, method, args, reply, into.Around(c.caller.usualCodec(args)))
	return true, deadline, err
}
