package drpcpeer

import (
	"context"

	"storj.io/drpc"

	"github.com/weftrpc/weft/bench/idl/pb"
	"github.com/weftrpc/weft/bench/idl/vt"
	"github.com/weftrpc/weft/bench/msg"
)

// description is what drpc's generator would write. It is written by hand because
// messages of two generated packages share it.
type description struct {
	encoding drpc.Encoding
	methods  []method
}

type method struct {
	path     string
	receiver drpc.Receiver
	shape    any // a function of the method's signature, from which drpc takes the request's type
}

func (d *description) NumMethods() int { return len(d.methods) }

func (d *description) Method(n int) (string, drpc.Encoding, drpc.Receiver, any, bool) {
	m := d.methods[n]
	return m.path, d.encoding, m.receiver, m.shape, true
}

// path is the method as drpc carries it. It does not allocate.
func path(m msg.Method) string {
	switch m {
	case msg.Slow:
		return "/main.Hello/Slow"
	case msg.Sleep:
		return "/main.Hello/Sleep"
	case msg.Medium:
		return "/main.Hello/Medium"
	case msg.Large:
		return "/main.Hello/Large"
	case msg.Add:
		return "/main.MathService/Add"
	}
	return "/main.Hello/Say"
}

// describe lists the methods for one codec.
func describe(codec msg.Codec) *description {
	d := &description{encoding: encoding(codec)}
	for _, m := range msg.Methods() {
		if codec == msg.VT {
			d.methods = append(d.methods, say[*vt.BenchmarkMessage](m))
		} else {
			d.methods = append(d.methods, say[*pb.BenchmarkMessage](m))
		}
	}
	add := method{path: path(msg.Add)}
	if codec == msg.VT {
		add.shape = func(*msg.Service, context.Context, *vt.AddRequest) (*vt.AddReply, error) { return nil, nil }
		add.receiver = func(_ any, _ context.Context, in, _ any) (drpc.Message, error) {
			request := in.(*vt.AddRequest)
			return &vt.AddReply{X: request.A + request.B}, nil
		}
	} else {
		add.shape = func(*msg.Service, context.Context, *pb.AddRequest) (*pb.AddReply, error) { return nil, nil }
		add.receiver = func(_ any, _ context.Context, in, _ any) (drpc.Message, error) {
			request := in.(*pb.AddRequest)
			return &pb.AddReply{X: request.A + request.B}, nil
		}
	}
	d.methods = append(d.methods, add)
	return d
}

func say[M msg.Message](m msg.Method) method {
	return method{
		path: path(m),
		receiver: func(service any, _ context.Context, in, _ any) (drpc.Message, error) {
			message := in.(M)
			service.(*msg.Service).Answer(m, message)
			return message, nil
		},
		shape: func(*msg.Service, context.Context, M) (M, error) { var none M; return none, nil },
	}
}
