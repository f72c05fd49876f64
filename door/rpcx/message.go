package rpcx

import (
	"fmt"

	"github.com/weftrpc/weft"
)

// Message is what a server has sent to its client without a call.
type Message struct {
	// Method is the path and the method, with a dot between them.
	Method string
	// Metadata is that of the message.
	Metadata weft.Metadata
	// Payload is its body, decompressed.
	Payload []byte

	conn   *clientConn
	serial byte
	size   int64 // bytes of the metadata and the payload
}

// Decode decodes the payload into v by the serialization that the message names. Messages of rpcx's
// SendMessage are raw bytes for rpcx: decode those with the codec that the program agreed upon.
func (m *Message) Decode(v any) error {
	c := m.conn.w.codecs[m.serial]
	if c == nil {
		return fmt.Errorf("rpcx: the message of %s has the number %d of a codec, which is none of rpcx's own", m.Method, m.serial)
	}
	return c.Decode(m.Payload, v)
}
