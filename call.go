package weft

import (
	"context"
	"errors"
	"io"
	"slices"
)

// Caller is what calls can be made with: a Client, a Peer, a cluster.Client.
type Caller interface {
	// Call makes a unary call; see Client.Call.
	Call(ctx context.Context, method string, args, reply any, opts ...CallOption) error
}

// StreamCaller is a Caller that can open streams: a Client, a Peer, a cluster.Client.
type StreamCaller interface {
	Caller
	// OpenStream opens a stream whose types are not known; see Client.OpenStream.
	OpenStream(ctx context.Context, method string, sample any, opts ...CallOption) (RawStream, error)
}

// Invoke makes a unary call and returns its reply.
func Invoke[R any](ctx context.Context, c Caller, method string, args any, opts ...CallOption) (*R, error) {
	reply := new(R)
	if err := c.Call(ctx, method, args, reply, opts...); err != nil {
		return nil, err
	}
	return reply, nil
}

// OpenStream opens a streaming call, which sends messages of type Req and receives messages of type Res. It does not
// wait for the server. The caller must receive until the end, or close the stream, or end its context; until then the
// stream holds a place among the calls of its connection.
func OpenStream[Req, Res any](ctx context.Context, c StreamCaller, method string, opts ...CallOption) (*Stream[Res, Req], error) {
	end, err := c.OpenStream(ctx, method, new(Req), append(slices.Clip(opts), receiving(new(Res)))...)
	if err != nil {
		return nil, err
	}
	return &Stream[Res, Req]{end}, nil
}

// Subscribe opens a call of a method that gets one request and sends many messages.
func Subscribe[Res, Req any](ctx context.Context, c StreamCaller, method string, req *Req, opts ...CallOption) (*Stream[Res, Req], error) {
	if req == nil {
		return nil, notSent(checkMessages(req, nil), method)
	}
	s, err := OpenStream[Req, Res](ctx, c, method, opts...)
	if err != nil {
		return nil, err
	}
	// A method that has ended well without the request may have sent something.
	if err := s.Send(req); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return s, s.CloseSend()
}

// Call is an asynchronous call made with Client.Go.
type Call struct {
	Method string
	Args   any
	Reply  any        // filled in when the call has ended well
	Error  error      // set when the call has ended
	Done   chan *Call // gets the call when it has ended
}

// checkDone panics if no call can be sent to a channel while its receiver is busy, as
// net/rpc does: it is a mistake in the program that would lose calls without a sign.
func checkDone(done chan *Call) {
	if done != nil && cap(done) == 0 {
		panic("weft: the done channel of Go is unbuffered")
	}
}

func (c *Call) done() {
	select {
	case c.Done <- c:
	default:
		// There is no room: as with net/rpc, the caller must have some.
	}
}
