package grpc

import "github.com/weftrpc/weft"

// near is a reply that has come whole in one frame and stays where it was read: most servers send the trailers along with it, and then it is
// decoded there and not copied. It is copied when another one comes, or when all of a read was handled.
type near struct{ x *exchange } // nil: there is none

// stays leaves a piece of a reply where it is, if that is a whole message of a unary call of which nothing has come before.
func (n *near) stays(x *exchange, p []byte) bool {
	if x.framed != nil || len(x.body) > 0 || len(p) < prefixSize || len(p)-prefixSize != sizeOf(p) || len(p)-prefixSize > x.c.limits.MaxMessage {
		return false
	}
	n.keep()
	n.x, x.framed = x, p
	return true
}

// keep copies the reply that has stayed where it was read, since that is used again, or its caller decodes it.
func (n *near) keep() {
	if x := n.x; x != nil {
		n.x = nil
		x.body, x.framed = append(x.body[:0], x.framed...), nil
	}
}

// decode decodes the reply that has stayed where it was read, while it is in the cache of the processor. A message that is compressed, or
// whose codec does not tell sizes, its caller decodes; that of a one-way call is not decoded.
func (n *near) decode() *weft.Error {
	x := n.x
	if x.oneway || len(x.framed) > largestInline || x.framed[0] != 0 || sizerOf(x.call.Codec) == nil {
		n.keep()
		return nil
	}
	e := x.decode(x.framed)
	n.x, x.framed, x.early = nil, nil, true
	return e
}
