package msg

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weftrpc/weft/bench/idl/pb"
	"github.com/weftrpc/weft/bench/idl/vt"
)

// Responder is the service for a peer that carries bytes and has no codecs of
// its own: it decodes body, serves it, and appends the encoded reply to out.
// Nothing of body is kept. Many goroutines may call one at once.
//
// The policy is that of every peer: a server decodes into a fresh message, since
// a handler may keep it; a caller reuses its own.
type Responder func(out []byte, m Method, body []byte) ([]byte, error)

// Responder makes the responder for one codec.
func (s *Service) Responder(c Codec) (Responder, error) {
	switch c {
	case Raw:
		return func(out []byte, m Method, body []byte) ([]byte, error) {
			return append(out, s.AnswerRaw(m, body)...), nil
		}, nil
	case VT:
		return func(out []byte, m Method, body []byte) ([]byte, error) {
			message := new(vt.BenchmarkMessage)
			if err := message.UnmarshalVT(body); err != nil {
				return out, err
			}
			s.Answer(m, message)
			return AppendVT(out, message)
		}, nil
	case Google:
		return func(out []byte, m Method, body []byte) ([]byte, error) {
			message := new(pb.BenchmarkMessage)
			if err := proto.Unmarshal(body, message); err != nil {
				return out, err
			}
			s.Answer(m, message)
			return proto.MarshalOptions{}.MarshalAppend(out, message)
		}, nil
	}
	return nil, fmt.Errorf("unknown codec %q", c)
}

// Exchange is the pair of messages that one caller uses for all its calls.
// Request and reply may be handled by different goroutines, one after the other.
type Exchange interface {
	// AppendRequest appends the encoded request to out.
	AppendRequest(out []byte) ([]byte, error)

	// Accept decodes a reply to method m and checks it. It keeps nothing of body.
	Accept(m Method, body []byte) error
}

// NewExchange makes an exchange for one codec.
func NewExchange(c Codec) (Exchange, error) {
	switch c {
	case Raw:
		request, err := NewRaw()
		return &rawExchange{request: request}, err
	case VT:
		return &vtExchange{request: NewVT()}, nil
	case Google:
		return &googleExchange{request: NewGoogle()}, nil
	}
	return nil, fmt.Errorf("unknown codec %q", c)
}

type rawExchange struct{ request []byte }

func (e *rawExchange) AppendRequest(out []byte) ([]byte, error) {
	return append(out, e.request...), nil
}

func (e *rawExchange) Accept(m Method, body []byte) error { return CheckRaw(m, e.request, body) }

type vtExchange struct {
	request *vt.BenchmarkMessage
	reply   vt.BenchmarkMessage
}

func (e *vtExchange) AppendRequest(out []byte) ([]byte, error) { return AppendVT(out, e.request) }

func (e *vtExchange) Accept(m Method, body []byte) error {
	e.reply.Reset()
	if err := e.reply.UnmarshalVT(body); err != nil {
		return err
	}
	return Check(m, &e.reply)
}

type googleExchange struct {
	request *pb.BenchmarkMessage
	reply   pb.BenchmarkMessage
}

func (e *googleExchange) AppendRequest(out []byte) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(out, e.request)
}

func (e *googleExchange) Accept(m Method, body []byte) error {
	if err := proto.Unmarshal(body, &e.reply); err != nil { // resets the reply
		return err
	}
	return Check(m, &e.reply)
}

// Fast is what vtprotobuf generates for a message.
type Fast interface {
	SizeVT() int
	MarshalVT() ([]byte, error)
	MarshalToSizedBufferVT([]byte) (int, error)
	UnmarshalVT([]byte) error
	Reset()
}

// AppendVT encodes into the free end of out, without a buffer between.
func AppendVT(out []byte, m Fast) ([]byte, error) {
	size := m.SizeVT()
	start := len(out)
	out = slices.Grow(out, size)[:start+size]
	if _, err := m.MarshalToSizedBufferVT(out[start:]); err != nil {
		return out[:start], err
	}
	return out, nil
}
