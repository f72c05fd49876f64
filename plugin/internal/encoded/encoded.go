// Package encoded carries messages as bytes: plugins that keep the messages of calls encode them once,
// and later make calls with the bytes, without their types.
package encoded

import (
	"fmt"
	"reflect"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/codec/raw"
)

// Message is a message as bytes.
type Message struct {
	Codec string // raw, protobuf, or what Encode was given for other types
	Body  []byte
}

// Encode encodes a message, a pointer: the bytes of a raw method as they are, a protobuf message as
// protobuf, and every other with a codec, of which it takes msgpack and json.
func Encode(v any, other string) (m Message, err error) {
	defer recovered(&err, v)
	c := codecOf(v, other)
	if c == nil {
		return Message{}, fmt.Errorf("there is no codec %q", other)
	}
	body, err := c.Append(nil, v)
	return Message{c.Name(), body}, err
}

// Decode decodes it into v, a pointer.
func (m Message) Decode(v any) (err error) {
	defer recovered(&err, v)
	if c := codecOf(v, m.Codec); c != nil && c.Name() == m.Codec {
		return c.Decode(m.Body, v)
	}
	return fmt.Errorf("a message of codec %q does not fit a %T", m.Codec, v)
}

// recovered makes an error of a panic in code of a message's type, which the call itself may never run: another codec is
// used here than on the wire.
func recovered(err *error, v any) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the code of a %T panicked: %v", v, p)
	}
}

func codecOf(v any, other string) codec.Codec {
	switch {
	case other == "raw":
		return raw.New()
	case protobuf.Is(v):
		return protobuf.New()
	case other == "json":
		return json.New()
	case other == "msgpack":
		return msgpack.New()
	}
	return nil
}

// Maker returns a function that makes a pointer to a new value of the type that v points to; nil when v
// is no pointer to a message, such as what an interceptor may return as a reply.
func Maker(v any) func() any {
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Pointer || r.IsNil() {
		return nil
	}
	of := r.Type().Elem()
	return func() any { return reflect.New(of).Interface() }
}

// JSON is a message in a form in which it can be compared.
func JSON(v any) (b []byte, err error) {
	defer recovered(&err, v)
	return json.New().Append(nil, v)
}

// Codec returns a codec of a name that carries the bytes in a *[]byte as they are.
func Codec(name string) codec.Codec { return ready{raw.New(), name} }

type ready struct {
	codec.Codec
	name string
}

func (r ready) Name() string { return r.name }
