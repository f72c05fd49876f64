package weft

import (
	"fmt"
	"strings"

	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
)

// DetailOf makes a detail of a value, for Error.WithDetail: a protobuf message under its full name and in its own encoding, as gRPC has it;
// a value of any other type under the name of its Go type, such as "orders.Shortage", and as MessagePack. A package that is renamed renames
// its details; a type whose values live longer has a method DetailType that returns its name.
func DetailOf(v any) (Detail, error) {
	body, err := detailCodec(v).Append(nil, v)
	if err != nil {
		return Detail{}, Errorf(InvalidArgument, "weft: detail of type %T: %w", v, err)
	}
	return Detail{Type: detailType(v), Value: body}, nil
}

// Details returns the details of an error that are of type T, in order. A detail that
// bears the name of T and cannot be decoded is left out.
//
//	for _, s := range weft.Details[Shortage](err) {
func Details[T any](err error) []*T {
	e := (*Error)(nil)
	if !asWeft(err, &e) {
		return nil
	}
	var out []*T
	name := detailType(new(T))
	for _, d := range e.Details {
		if d.Type != name {
			continue
		}
		v := new(T)
		if detailCodec(v).Decode(d.Value, v) == nil {
			out = append(out, v)
		}
	}
	return out
}

// With returns a copy of the error with v as one more detail; see DetailOf. A value that
// cannot be encoded is left out, and the message says so.
func (e *Error) With(v any) *Error {
	d, err := DetailOf(v)
	if err != nil {
		c := *e
		c.Message += " (" + err.Error() + ")"
		return &c
	}
	return e.WithDetail(d.Type, d.Value)
}

func detailType(v any) string {
	if named, ok := v.(interface{ DetailType() string }); ok {
		return named.DetailType()
	}
	if name := protobuf.Name(v); name != "" {
		return name
	}
	return strings.TrimLeft(fmt.Sprintf("%T", v), "*")
}

// detailCodec is the codec of details like v.
func detailCodec(v any) interface {
	Append(dst []byte, v any) ([]byte, error)
	Decode(body []byte, v any) error
} {
	if protobuf.Is(v) {
		return protobuf.New()
	}
	return msgpack.New()
}
