package weft

import (
	"context"
	"reflect"

	"github.com/weftrpc/weft/internal/fit"
)

// offer registers a method, or tells what is wrong with it.
func offer(r Registrar, m *method, missing bool, opts []MethodOption) (err error) {
	if missing {
		return Errorf(InvalidArgument, "weft: handle %s: the function is nil", m.name)
	}
	if m.facts, err = factsOf(opts); err != nil {
		return err
	}
	if m.facts.of != nil {
		return Errorf(InvalidArgument, "weft: handle %s: For is an option of Register", m.name)
	}
	for _, t := range []reflect.Type{m.in, m.out} {
		if what := fit.Wrong(t); what != "" {
			return Errorf(InvalidArgument, "weft: handle %s: type %v cannot travel: %s", m.name, t, what)
		}
	}
	return r.registrar().add(m)
}

// Handle registers a typed function as a unary method, called name, which has the form "Service.Method". The request is the function's own;
// the reply must not be changed after it has been returned. Nothing is looked up by reflection when the method is called.
func Handle[Req, Res any](r Registrar, name string, fn func(context.Context, *Req) (*Res, error), opts ...MethodOption) error {
	return offer(r, &method{
		name: name, kind: Unary, in: reflect.TypeFor[Req](), out: reflect.TypeFor[Res](),
		newRequest: func() any { return new(Req) },
		call: func(ctx context.Context, req any) (any, error) {
			res, err := fn(ctx, req.(*Req))
			if err != nil {
				return nil, err
			}
			if res == nil {
				return nil, Errorf(Internal, "the handler returned neither a reply nor an error")
			}
			return res, nil
		},
	}, fn == nil, opts)
}

// HandleRaw registers a function that works on bytes. req is valid until the function returns. buf is empty memory that the reply may be
// appended to; what the function returns is copied before it is called again; an interceptor that keeps it has to copy it. The caller must use codec "raw".
func HandleRaw(r Registrar, name string, fn func(ctx context.Context, req, buf []byte) ([]byte, error), opts ...MethodOption) error {
	bytes := reflect.TypeFor[[]byte]()
	return offer(r, &method{
		name: name, kind: Unary, in: bytes, out: bytes, raw: fn,
		newRequest: func() any { return new([]byte) },
		call: func(ctx context.Context, req any) (any, error) {
			reply, err := fn(ctx, *req.(*[]byte), nil)
			return &reply, err
		},
	}, fn == nil, opts)
}

// HandleStream registers a method in which both sides send any number of messages.
func HandleStream[In, Out any](r Registrar, name string, fn func(context.Context, *Stream[In, Out]) error, opts ...MethodOption) error {
	return offer(r, &method{
		name: name, kind: BidiStream, in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](),
		stream: func(ctx context.Context, end RawStream) error { return fn(ctx, &Stream[In, Out]{end}) },
	}, fn == nil, opts)
}

// HandleServerStream registers a method that gets one request and sends any number of messages. fn is called when the request has come and
// the client has ended its direction; without a request, or with a second one, the call fails with Unimplemented.
func HandleServerStream[Req, Out any](r Registrar, name string, fn func(context.Context, *Req, *Sender[Out]) error, opts ...MethodOption) error {
	return offer(r, &method{
		name: name, kind: ServerStream, in: reflect.TypeFor[Req](), out: reflect.TypeFor[Out](),
		stream: func(ctx context.Context, end RawStream) error {
			req := new(Req)
			if err := recvOnly(end, req, new(Req)); err != nil {
				return err
			}
			return fn(ctx, req, &Sender[Out]{end})
		},
	}, fn == nil, opts)
}

// HandleClientStream registers a method that gets any number of messages and sends one reply.
func HandleClientStream[In, Res any](r Registrar, name string, fn func(context.Context, *Receiver[In]) (*Res, error), opts ...MethodOption) error {
	return offer(r, &method{
		name: name, kind: ClientStream, in: reflect.TypeFor[In](), out: reflect.TypeFor[Res](),
		stream: func(ctx context.Context, end RawStream) error {
			res, err := fn(ctx, &Receiver[In]{end})
			if err != nil {
				return err
			}
			if res == nil {
				return Errorf(Internal, "the handler returned neither a reply nor an error")
			}
			return end.Send(res)
		},
	}, fn == nil, opts)
}
