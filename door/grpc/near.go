package grpc

import "github.com/weftrpc/weft"

// A reply that comes whole in one frame stays where it was read: most servers send the trailers along with it, and then it is decoded there
// and not copied. The connection remembers one such reply, and copies it when another one comes, or when all of a read was handled.

// stays leaves a piece of a reply where it is, if that is a whole message of a unary call of which nothing has come before.
func (c *clientConn) stays(x *exchange, p []byte) bool {
	if x.framed != nil || len(x.body) > 0 || len(p) < prefixSize || len(p)-prefixSize != sizeOf(p) || len(p)-prefixSize > c.limits.MaxMessage {
		return false
	}
	c.keep()
	c.near, x.framed = x, p
	return true
}

// keep copies the reply that has stayed where it was read, since that is used again, or its caller decodes it.
func (c *clientConn) keep() {
	if x := c.near; x != nil {
		c.near = nil
		x.body, x.framed = append(x.body[:0], x.framed...), nil
	}
}

// decodeNear decodes the reply that has stayed where it was read, while it is in the cache of the processor. A message that is compressed, or
// whose codec does not tell sizes, its caller decodes; that of a one-way call is not decoded.
func (c *clientConn) decodeNear() *weft.Error {
	x := c.near
	if x.oneway || len(x.framed) > largestInline || x.framed[0] != 0 || sizerOf(x.call.Codec) == nil {
		c.keep()
		return nil
	}
	e := x.decode(x.framed)
	c.near, x.framed, x.early = nil, nil, true
	return e
}
