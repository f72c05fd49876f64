package cache

import (
	"fmt"
	"math"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/gencode"
	"github.com/weftrpc/weft/codec/gob"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/codec/raw"
)

// codecs are those that messages are kept and compared by.
type codecs struct {
	proto  codec.Codec
	other  codec.Codec            // of a client without a Codec
	byName map[string]codec.Codec // of messages that are not of Protocol Buffers
}

// newCodecs are the codecs that are known, and further ones.
func newCodecs(further []codec.Codec) (codecs, error) {
	c := codecs{proto: protobuf.New(), other: msgpack.New(), byName: make(map[string]codec.Codec)}
	for _, known := range []codec.Codec{c.other, json.New(), gob.New(), gencode.New(), raw.New()} {
		c.byName[known.Name()] = known
	}
	for i, one := range further {
		if one == nil {
			return c, weft.Errorf(weft.InvalidArgument, "cache: Config.Codecs[%d] is nil", i)
		}
		c.byName[one.Name()] = one
	}
	return c, nil
}

// of is the codec for a message of a call with the codec of that name; nil: it is unknown.
func (c *codecs) of(name string, v any) codec.Codec {
	if protobuf.Is(v) {
		return c.proto
	}
	return c.byName[name]
}

// comparing is the codec by which requests are compared. gob writes a map in any order.
func (c *codecs) comparing(name string, v any) codec.Codec {
	if with := c.of(name, v); with != nil && with.Name() != "gob" {
		return with
	}
	return c.other
}

// sizeOf is about how many bytes a reply has; one that cannot be encoded has too many to be kept.
func (c *codecs) sizeOf(name string, v any) int {
	b, err := encode(nil, c.comparing(name, v), v)
	if err != nil {
		return math.MaxInt
	}
	return len(b)
}

// encode appends a message. The type of a request may panic when it is written, which its call never does.
func encode(b []byte, with codec.Codec, v any) (_ []byte, err error) {
	defer recovered(&err, v)
	return with.Append(b, v)
}

// decode decodes what encode has made.
func decode(with codec.Codec, b []byte, v any) (err error) {
	defer recovered(&err, v)
	return with.Decode(b, v)
}

// recovered makes an error of a panic in code of a message's type.
func recovered(err *error, v any) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the code of a %T panicked: %v", v, p)
	}
}
