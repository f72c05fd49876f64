package grpcpeer

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/weftrpc/weft/bench/idl/pb"
	"github.com/weftrpc/weft/bench/idl/vt"
	"github.com/weftrpc/weft/bench/msg"
)

// serviceName is the one of benchmark.proto. The description is written by hand
// because the published schema has only Say, and because the messages of two
// generated packages share it; it is what protoc-gen-go-grpc would write.
const serviceName = "main.Hello"

// path is the method as HTTP/2 carries it. It does not allocate.
func path(m msg.Method) string {
	switch m {
	case msg.Slow:
		return "/" + serviceName + "/Slow"
	case msg.Sleep:
		return "/" + serviceName + "/Sleep"
	case msg.Medium:
		return "/" + serviceName + "/Medium"
	case msg.Large:
		return "/" + serviceName + "/Large"
	}
	return "/" + serviceName + "/Say"
}

// service describes Hello for one codec.
func service(codec msg.Codec, s *msg.Service) (*grpc.ServiceDesc, error) {
	var handler func(msg.Method) grpc.MethodHandler
	switch codec {
	case msg.VT:
		handler = func(m msg.Method) grpc.MethodHandler {
			return unary(func() *vt.BenchmarkMessage { return new(vt.BenchmarkMessage) }, m, s)
		}
	case msg.Google:
		handler = func(m msg.Method) grpc.MethodHandler {
			return unary(func() *pb.BenchmarkMessage { return new(pb.BenchmarkMessage) }, m, s)
		}
	case msg.Raw:
		handler = func(m msg.Method) grpc.MethodHandler { return unaryRaw(m, s) }
	default:
		return nil, fmt.Errorf("unknown codec %q", codec)
	}
	description := &grpc.ServiceDesc{ServiceName: serviceName, HandlerType: (*any)(nil)}
	for _, m := range msg.Methods() {
		description.Methods = append(description.Methods, grpc.MethodDesc{
			MethodName: m.String(), Handler: handler(m),
		})
	}
	return description, nil
}

// mathName begins the path of MathService's method.
const mathName = "/main.MathService/"

// mathService describes MathService for one codec; for raw bytes it has no method.
func mathService(codec msg.Codec) *grpc.ServiceDesc {
	description := &grpc.ServiceDesc{ServiceName: "main.MathService", HandlerType: (*any)(nil)}
	var handler grpc.MethodHandler
	switch codec {
	case msg.VT:
		handler = func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			var r vt.AddRequest
			if err := decode(&r); err != nil {
				return nil, err
			}
			return &vt.AddReply{X: r.A + r.B}, nil
		}
	case msg.Google:
		handler = func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			var r pb.AddRequest
			if err := decode(&r); err != nil {
				return nil, err
			}
			return &pb.AddReply{X: r.A + r.B}, nil
		}
	default:
		return description
	}
	description.Methods = []grpc.MethodDesc{{MethodName: "Add", Handler: handler}}
	return description
}

// unary decodes into a fresh message and answers with it.
func unary[M msg.Message](fresh func() M, m msg.Method, s *msg.Service) grpc.MethodHandler {
	return func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		message := fresh()
		if err := decode(message); err != nil {
			return nil, err
		}
		s.Answer(m, message)
		return message, nil
	}
}

func unaryRaw(m msg.Method, s *msg.Service) grpc.MethodHandler {
	return func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		var request rawBody
		if err := decode(&request); err != nil {
			return nil, err
		}
		return &rawBody{s.AnswerRaw(m, request.bytes)}, nil
	}
}
