// Package reuse decodes messages into memory that is used again.
package reuse

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/internal/poison"
)

// Keep is the longest body, in bytes, whose message is kept for later calls.
const Keep = 64 << 10

// By reports whether a codec uses the memory of messages again.
func By(c codec.Codec) bool {
	_, ok := c.(codec.Reuser)
	return ok
}

// Decode decodes body over v, into its memory if the codec can.
func Decode(c codec.Codec, body []byte, v any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if r, ok := c.(codec.Reuser); ok {
		return r.DecodeReuse(body, v)
	}
	// What v has may be parts of an older body, which another codec has decoded. This one could write there.
	if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && !p.IsNil() {
		p.Elem().SetZero()
	}
	return c.Decode(body, v)
}

// Memory is the memory behind a reply, and the codec that decodes into it. The zero value is ready. It is
// for one goroutine.
type Memory struct {
	body  []byte
	inner codec.Codec
	outer codec.Codec // inner, which decodes so
}

// Forget overwrites the last reply, with the race detector alone.
func (m *Memory) Forget(reply any) {
	if poison.Enabled {
		poison.Bytes(m.body)
		poison.Value(reply)
		m.body = nil
	}
}

// Around returns a codec that encodes as c does and decodes into the memory.
func (m *Memory) Around(c codec.Codec) codec.Codec {
	if !reflect.TypeOf(c).Comparable() || !same(m.inner, c) {
		m.inner, m.outer = c, replyCodec{c, m}
		if z, ok := c.(codec.Sizer); ok {
			m.outer = sizedReplyCodec{replyCodec{c, m}, z}
		}
	}
	return m.outer
}

// same reports whether two codecs are one. Whether they can be compared also depends on what interfaces in them hold, and package reflect
// allocates to find out; those that cannot are taken for different ones.
func same(a, b codec.Codec) (one bool) {
	defer func() { _ = recover() }()
	return a == b
}

// replyCodec is a codec that decodes into memory that is used again.
type replyCodec struct {
	codec.Codec
	memory *Memory
}

type sizedReplyCodec struct {
	replyCodec
	codec.Sizer
}

// Decode decodes over the last reply. The body is copied, since it is the reader's.
func (c replyCodec) Decode(body []byte, v any) error {
	if len(body) > Keep {
		c.memory.body = nil
		return Decode(c.Codec, bytes.Clone(body), v)
	}
	c.memory.body = append(c.memory.body[:0], body...)
	return Decode(c.Codec, c.memory.body, v)
}
