package main

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// serveGRPC serves the same methods with grpc-go, and returns where.
func serveGRPC(w *work) (string, error) {
	method := func(name string, f func(context.Context, *Job) (*Done, error)) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := new(wrapperspb.Int64Value)
			if err := decode(in); err != nil {
				return nil, err
			}
			if _, err := f(ctx, &Job{int(in.Value)}); err != nil {
				return nil, err
			}
			return in, nil
		}}
	}
	s := grpc.NewServer()
	s.RegisterService(&grpc.ServiceDesc{ServiceName: "Work", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{method("Burn", w.Burn), method("Sleep", w.Sleep), method("Pool", w.Pool)}}, w)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() { _ = s.Serve(l) }() // it ends with the process
	return l.Addr().String(), nil
}

// grpcCaller calls with grpc-go.
type grpcCaller struct{ conns []*grpc.ClientConn }

func dialGRPC(at string, conns int) (*grpcCaller, error) {
	c := &grpcCaller{}
	for range conns {
		conn, err := grpc.NewClient(at, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, err
		}
		c.conns = append(c.conns, conn)
	}
	return c, nil
}

func (c *grpcCaller) call(ctx context.Context, n uint64, method string, micros int) error {
	return c.conns[n%uint64(len(c.conns))].Invoke(ctx, "/Work/"+method, wrapperspb.Int64(int64(micros)), new(wrapperspb.Int64Value))
}
