// Package checked is what the plugins that check messages have in common: where the messages of a call
// are looked at, on both sides.
package checked

import (
	"context"

	"github.com/weftrpc/weft"
)

// Check returns what is wrong with a message of a method; nil: nothing.
type Check func(ctx context.Context, method string, msg any) *weft.Error

// Plugin is a plugin that checks requests. On a server it runs before the handler, for unary requests
// and for every message of a stream that comes in; on a client before anything is sent, with the
// outcome NotSent.
func Plugin(name string, check Check) weft.Plugin {
	return weft.Plugin{Name: name, Server: check.serve, ServerStream: check.serveStream, Client: check.call, ClientStream: check.open}
}

func (check Check) serve(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	if err := check(ctx, info.Method, req); err != nil {
		return nil, err
	}
	return next(ctx, info, req)
}

func (check Check) call(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	if err := check.send(ctx, info.Method, req); err != nil {
		return nil, err
	}
	return next(ctx, info, req)
}

// send checks a message before it is sent.
func (check Check) send(ctx context.Context, method string, msg any) error {
	err := check(ctx, method, msg)
	if err == nil {
		return nil
	}
	e := *err
	e.Outcome = weft.NotSent
	return &e
}

func (check Check) serveStream(ctx context.Context, info *weft.CallInfo, stream weft.RawStream, next weft.StreamFunc) error {
	return next(ctx, info, received{stream, check, info.Method})
}

func (check Check) open(ctx context.Context, info *weft.CallInfo, next weft.OpenFunc) (weft.RawStream, error) {
	stream, err := next(ctx, info)
	if err != nil {
		return nil, err
	}
	return sent{stream, check, info.Method}, nil
}

// received checks what comes in.
type received struct {
	weft.RawStream
	check  Check
	method string
}

// Recv implements weft.RawStream.
func (r received) Recv(msg any) error {
	if err := r.RawStream.Recv(msg); err != nil {
		return err
	}
	if err := r.check(r.Context(), r.method, msg); err != nil {
		return err
	}
	return nil
}

// sent checks what goes out. The stream goes on after a message that is not valid.
type sent struct {
	weft.RawStream
	check  Check
	method string
}

// Send implements weft.RawStream.
func (s sent) Send(msg any) error {
	if err := s.check.send(s.Context(), s.method, msg); err != nil {
		return err
	}
	return s.RawStream.Send(msg)
}
