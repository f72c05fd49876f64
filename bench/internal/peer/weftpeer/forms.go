package weftpeer

import (
	"context"
	"fmt"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/idl/coded"
	"github.com/weftrpc/weft/bench/idl/numbered"
	"github.com/weftrpc/weft/bench/idl/pb"
	"github.com/weftrpc/weft/bench/idl/thrift/wire"
	"github.com/weftrpc/weft/bench/internal/weftserver"
	"github.com/weftrpc/weft/bench/msg"
)

// own reports whether a codec is one that only weft has.
func own(c msg.Codec) bool {
	switch c {
	case msg.Plain, msg.PlainLibrary, msg.Numbered, msg.Compiled, msg.Generated, msg.Reuse, msg.GeneratedReuse:
		return true
	}
	return false
}

// registerOwn registers a method for such a codec.
func registerOwn(server *weft.Server, cfg harness.ServeConfig, m msg.Method) error {
	switch cfg.Codec {
	case msg.Plain, msg.PlainLibrary:
		return weftserver.Echo(server, m.Name(), func(message *wire.BenchmarkMessage) { cfg.Service.AnswerPlain(m, message) })
	case msg.Compiled:
		return weftserver.Echo(server, m.Name(), func(message *pb.BenchmarkMessage) { cfg.Service.Answer(m, message) })
	case msg.Numbered:
		return weftserver.Echo(server, m.Name(), func(message *numbered.BenchmarkMessage) {
			message.Field1, message.Field2 = cfg.Service.Text(m), msg.Answered
		})
	case msg.Generated:
		return weftserver.Echo(server, m.Name(), func(message *coded.BenchmarkMessage) {
			message.Field1, message.Field2 = cfg.Service.Text(m), msg.Answered
		})
	case msg.Reuse:
		return weft.HandleReuse(server, m.Name(), func(_ context.Context, req, res *numbered.BenchmarkMessage) error {
			*res = *req
			res.Field1, res.Field2 = cfg.Service.Text(m), msg.Answered
			return nil
		})
	case msg.GeneratedReuse:
		return weft.HandleReuse(server, m.Name(), func(_ context.Context, req, res *coded.BenchmarkMessage) error {
			*res = *req
			res.Field1, res.Field2 = cfg.Service.Text(m), msg.Answered
			return nil
		})
	}
	return fmt.Errorf("unknown codec %q", cfg.Codec)
}

// ownCaller makes a caller for such a codec.
func ownCaller(one weft.Caller, codec msg.Codec) (harness.Caller, error) {
	if balanced, ok := one.(balanced); ok {
		one = balanced.Client
	}
	numberedFields := func(m *numbered.BenchmarkMessage) (string, int32) { return m.Field1, m.Field2 }
	codedFields := func(m *coded.BenchmarkMessage) (string, int32) { return m.Field1, m.Field2 }
	switch codec {
	case msg.Plain, msg.PlainLibrary:
		return &ownCalls[wire.BenchmarkMessage]{client: one, request: msg.NewPlain(), fields: func(m *wire.BenchmarkMessage) (string, int32) { return m.Field1, m.Field2 }}, nil
	case msg.Compiled:
		return &ownCalls[pb.BenchmarkMessage]{client: one, request: msg.NewGoogle(), fields: func(m *pb.BenchmarkMessage) (string, int32) { return m.GetField1(), m.GetField2() }}, nil
	case msg.Numbered:
		return &ownCalls[numbered.BenchmarkMessage]{client: one, request: msg.NewNumbered(), fields: numberedFields}, nil
	case msg.Generated:
		return &ownCalls[coded.BenchmarkMessage]{client: one, request: msg.NewCoded(), fields: codedFields}, nil
	case msg.Reuse:
		return &ownCalls[numbered.BenchmarkMessage]{client: one, request: msg.NewNumbered(), fields: numberedFields, reuse: new(weft.Reuse[numbered.BenchmarkMessage])}, nil
	case msg.GeneratedReuse:
		return &ownCalls[coded.BenchmarkMessage]{client: one, request: msg.NewCoded(), fields: codedFields, reuse: new(weft.Reuse[coded.BenchmarkMessage])}, nil
	}
	return nil, fmt.Errorf("unknown codec %q", codec)
}

// ownCalls is a caller for messages of one type.
type ownCalls[M any] struct {
	client  weft.Caller
	request *M
	reply   M
	fields  func(*M) (text string, n int32)
	reuse   *weft.Reuse[M] // nil: replies are decoded into reply
}

func (c *ownCalls[M]) Call(m msg.Method) error {
	reply := &c.reply
	var err error
	if c.reuse != nil {
		reply, err = c.reuse.Invoke(context.Background(), c.client, name(m), c.request)
	} else {
		err = c.client.Call(context.Background(), name(m), c.request, reply)
	}
	if err != nil {
		return err
	}
	text, n := c.fields(reply)
	return msg.CheckFields(m, text, n)
}
