// Package calls makes calls with messages in JSON, whatever the wire.
package calls

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
	"github.com/weftrpc/weft/codec"
	weftjson "github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/protobuf"
)

// shape is how the messages of a method become JSON and back.
type shape interface {
	// codec is that of the call.
	codec() codec.Codec
	// request makes a message of JSON.
	request(text json.RawMessage) (any, error)
	// reply makes an empty message.
	reply() any
	// show makes JSON of a reply.
	show(reply any) (json.RawMessage, error)
}

// asJSON sends messages as they are.
type asJSON struct{}

func (asJSON) codec() codec.Codec                        { return weftjson.New() }
func (asJSON) request(text json.RawMessage) (any, error) { return text, nil }
func (asJSON) reply() any                                { return new(json.RawMessage) }

func (asJSON) show(reply any) (json.RawMessage, error) {
	if text := *reply.(*json.RawMessage); len(text) > 0 {
		return text, nil
	}
	return json.RawMessage("null"), nil
}

// asProto sends messages of Protocol Buffers that the server has described.
type asProto struct {
	method   protoreflect.MethodDescriptor
	defaults bool // fields with their zero value are shown too
	discard  bool // fields that the message does not have are left out
}

func (*asProto) codec() codec.Codec { return protobuf.New() }

func (s *asProto) request(text json.RawMessage) (any, error) {
	m := dynamicpb.NewMessage(s.method.Input())
	if err := (protojson.UnmarshalOptions{DiscardUnknown: s.discard}).Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("the request is no %s: %w; 'weft describe' tells the fields; %w", s.method.Input().FullName(), err, shell.ErrUsage)
	}
	return m, nil
}

func (s *asProto) reply() any { return dynamicpb.NewMessage(s.method.Output()) }

func (s *asProto) show(reply any) (json.RawMessage, error) {
	text, err := protojson.MarshalOptions{EmitDefaultValues: s.defaults}.Marshal(reply.(proto.Message))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer // protojson puts blanks in at random
	if err := json.Compact(&b, text); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// shapeOf chooses the shape of a method by the wire. known says that kind is right.
func shapeOf(ctx context.Context, t *target.Target, o *options, method string) (s shape, kind weft.Kind, known bool, err error) {
	scheme := t.Scheme()
	switch {
	case strings.HasPrefix(scheme, "netrpc"):
		s, err := newGob(o.reply)
		return s, weft.Unary, true, err
	case strings.HasPrefix(scheme, "thrift"):
		s, err := newThrift(o.reply)
		return s, weft.Unary, true, err
	case strings.HasPrefix(scheme, "grpc"):
		r, err := target.Reflect(ctx, t)
		if weft.CodeOf(err) == weft.Unimplemented {
			return asJSON{}, 0, false, nil // a server of weft takes JSON
		}
		if err != nil {
			return nil, 0, false, err
		}
		m, err := r.Method(method)
		if err != nil {
			return nil, 0, false, err
		}
		return &asProto{m, o.defaults, o.unknown}, target.KindOf(m), true, nil
	}
	return asJSON{}, 0, false, nil
}
