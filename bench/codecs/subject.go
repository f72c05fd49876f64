package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/weftrpc/weft/bench/idl/coded"
	generated "github.com/weftrpc/weft/bench/idl/gencode"
	"github.com/weftrpc/weft/bench/idl/numbered"
	"github.com/weftrpc/weft/bench/idl/pb"
	"github.com/weftrpc/weft/bench/idl/thrift/wire"
	"github.com/weftrpc/weft/bench/idl/vt"
	"github.com/weftrpc/weft/bench/idl/vt3"
	"github.com/weftrpc/weft/bench/internal/shamaton"
	"github.com/weftrpc/weft/bench/msg"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/cbor"
	"github.com/weftrpc/weft/codec/gencode"
	"github.com/weftrpc/weft/codec/gob"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
)

// subject is a codec of weft with the published message in the type that suits
// it, and what the server and the caller of Hello.Say do with that type.
type subject[M any] struct {
	name    string // in records; the two that are protobuf are called as everywhere in the comparison
	codec   codec.Codec
	message *M
	answer  func(*M)
	check   func(*M) error
}

// measurable is a subject with a message of any type.
type measurable interface {
	// operations starts a server and a client and lists what to measure; stop
	// ends the two.
	operations(ctx context.Context) (all []operation, stop func(), err error)
}

// subjects lists the codecs: first those that take any Go struct, here the same
// one, then those that need generated code.
func subjects() []measurable {
	service := msg.NewService()
	return []measurable{
		plain("gob", gob.New(), service),
		plain("json", json.New(), service),
		plain("cbor", cbor.New(), service),
		plain("msgpack", msgpack.New(), service),
		plain("shamaton", shamaton.New(), service), // MessagePack as weft had it before
		subject[pb.BenchmarkMessage]{
			name: string(msg.Google), codec: protobuf.New(), message: msg.NewGoogle(),
			answer: func(m *pb.BenchmarkMessage) { service.Answer(msg.Say, m) },
			check:  func(m *pb.BenchmarkMessage) error { return msg.Check(msg.Say, m) },
		},
		subject[pb.BenchmarkMessage]{
			name: string(msg.Compiled), codec: protobuf.NewCompiled(), message: msg.NewGoogle(),
			answer: func(m *pb.BenchmarkMessage) { service.Answer(msg.Say, m) },
			check:  func(m *pb.BenchmarkMessage) error { return msg.Check(msg.Say, m) },
		},
		subject[numbered.BenchmarkMessage]{
			name: string(msg.Numbered), codec: protobuf.New(), message: msg.NewNumbered(),
			answer: func(m *numbered.BenchmarkMessage) { m.Field1, m.Field2 = service.Text(msg.Say), msg.Answered },
			check: func(m *numbered.BenchmarkMessage) error {
				return msg.CheckFields(msg.Say, m.Field1, m.Field2)
			},
		},
		subject[coded.BenchmarkMessage]{
			name: string(msg.Generated), codec: protobuf.New(), message: msg.NewCoded(),
			answer: func(m *coded.BenchmarkMessage) { m.Field1, m.Field2 = service.Text(msg.Say), msg.Answered },
			check: func(m *coded.BenchmarkMessage) error {
				return msg.CheckFields(msg.Say, m.Field1, m.Field2)
			},
		},
		subject[vt.BenchmarkMessage]{
			name: string(msg.VT), codec: protobuf.New(), message: msg.NewVT(),
			answer: func(m *vt.BenchmarkMessage) { service.Answer(msg.Say, m) },
			check:  func(m *vt.BenchmarkMessage) error { return msg.Check(msg.Say, m) },
		},
		subject[vt3.BenchmarkMessage]{
			name: "vtproto3", codec: protobuf.New(), message: msg.NewVT3(),
			answer: func(m *vt3.BenchmarkMessage) { m.Field1, m.Field2 = service.Text(msg.Say), msg.Answered },
			check: func(m *vt3.BenchmarkMessage) error {
				return msg.CheckFields(msg.Say, m.Field1, m.Field2)
			},
		},
		subject[generated.BenchmarkMessage]{
			name: "gencode", codec: gencode.New(), message: msg.NewGencode(),
			answer: func(m *generated.BenchmarkMessage) { m.Field1, m.Field2 = service.Text(msg.Say), msg.Answered },
			check: func(m *generated.BenchmarkMessage) error {
				return msg.CheckFields(msg.Say, m.Field1, m.Field2)
			},
		},
	}
}

func plain(name string, c codec.Codec, service *msg.Service) measurable {
	return subject[wire.BenchmarkMessage]{
		name: name, codec: c, message: msg.NewPlain(),
		answer: func(m *wire.BenchmarkMessage) { service.AnswerPlain(msg.Say, m) },
		check:  func(m *wire.BenchmarkMessage) error { return msg.CheckPlain(msg.Say, m) },
	}
}

func (s subject[M]) operations(ctx context.Context) (all []operation, stop func(), err error) {
	body, err := s.roundTrip()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", s.name, err)
	}
	once, stop, err := s.calls(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("calls with %s: %w", s.name, err)
	}
	out := make([]byte, 0, len(body)+64)
	all = append(all, s.reuse(body)...)
	return append(all, []operation{
		{kind: encode, codec: s.name, size: len(body), once: func() error {
			_, err := s.codec.Append(out, s.message) // into memory that is there, as weft does
			return err
		}},
		{kind: decode, codec: s.name, size: len(body), once: func() error {
			return s.codec.Decode(body, new(M)) // fresh for each call, as a server's is
		}},
		{kind: call, codec: s.name, size: len(body), peer: "weft", once: once},
	}...), stop, nil
}

// reuse decodes over the last message, where the codec can.
func (s subject[M]) reuse(body []byte) []operation {
	c, ok := s.codec.(codec.Reuser)
	if !ok || s.name == string(msg.Google) || s.name == string(msg.VT) { // these have no such code
		return nil
	}
	m := new(M)
	once := func() error { return c.DecodeReuse(body, m) }
	if v, ok := any(m).(vtReuser); ok { // the codec decodes into fresh memory
		once = func() error { v.ResetVT(); return v.UnmarshalVTUnsafe(body) }
	}
	return []operation{{kind: reuse, codec: s.name, size: len(body), once: once}}
}

// vtReuser is what vtprotobuf has to decode over an older message.
type vtReuser interface {
	ResetVT()
	UnmarshalVTUnsafe(body []byte) error
}

// roundTrip is the encoded message, which decodes into what is encoded alike.
func (s subject[M]) roundTrip() ([]byte, error) {
	body, err := s.codec.Append(nil, s.message)
	if err != nil {
		return nil, err
	}
	message := new(M)
	if err := s.codec.Decode(body, message); err != nil {
		return nil, err
	}
	again, err := s.codec.Append(nil, message)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, body) {
		return nil, fmt.Errorf("the message of %d bytes has %d when it was decoded and encoded again, or others", len(body), len(again))
	}
	return body, nil
}
