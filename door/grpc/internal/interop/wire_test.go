package interop

import (
	"context"
	"errors"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftrpc/weft"
	weftgrpc "github.com/weftrpc/weft/door/grpc"
	"github.com/weftrpc/weft/door/wiretest"
)

// statusOf makes an error of grpc-go of one of weft.
func statusOf(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if e, ok := errors.AsType[*weft.Error](err); ok {
		text = e.Message
	}
	return status.Error(codes.Code(weft.CodeOf(err)), text)
}

// stockServer makes a server of grpc-go with the methods of the kit.
func stockServer(h *wiretest.Handlers) *grpc.Server {
	s := grpc.NewServer(grpc.MaxRecvMsgSize(64<<20), grpc.MaxSendMsgSize(64<<20))
	unary := func(name string, f func(m, reply *wiretest.Message) error) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in, out := new(wiretest.Message), new(wiretest.Message)
			if err := decode(in); err != nil {
				return nil, err
			}
			return out, statusOf(f(in, out))
		}}
	}
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "Test", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{unary("Echo", h.Echo), unary("Fail", h.Fail), unary("Wait", h.Wait)},
		Streams: []grpc.StreamDesc{{StreamName: "Count", ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
			in := new(wiretest.Message)
			if err := stream.RecvMsg(in); err != nil {
				return err
			}
			for n := range in.N {
				if err := stream.SendMsg(&wiretest.Message{N: n + 1}); err != nil {
					return err
				}
			}
			return nil
		}}},
	}, h)
	return s
}

func TestWire(t *testing.T) {
	wiretest.Run(t, wiretest.Kit{
		Wire: func() weft.Wire { return weftgrpc.Wire(nil) },
		Serve: func(conn net.Conn, h *wiretest.Handlers) {
			wiretest.ServeOne(conn, stockServer(h).Serve)
		},
		Codes: true, Metadata: true, Streams: true,
	})
}
