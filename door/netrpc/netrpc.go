// Package netrpc is the gob wire of Go's net/rpc: a door for its clients, which call a
// weft server on the port that it has, and a wire with which a weft client calls its
// servers.
//
// Both speak what rpc.Dial, rpc.NewClient and Server.ServeConn of the standard library
// speak. The door also takes what rpc.DialHTTP and rpc.DialHTTPPath send, a CONNECT of HTTP
// before the gob, and WireHTTP calls servers of rpc.HandleHTTP. What that wire lacks is missing here too: it carries no metadata, credentials,
// deadlines or cancellation, and of an error only the text. A call through the door has
// the timeout of ServerConfig.Timeout; a client that disconnects cancels its calls; the
// principal is that of the connection, by AuthenticateConn, such as from its TLS
// certificate. There are no streams, and a one-way call is a call whose answer is thrown
// away.
//
// The text of an error is its message, as net/rpc has it, if its code is Unknown, and
// otherwise begins with the code and, for a call that did not run, with the outcome:
// "NotFound: no order 7", "ResourceExhausted (Refused): …". The wire reads both back.
//
// Every body has the bounds of package codec/gob and of Limits.MaxMessage. A body that
// is longer ends its connection, since the next one cannot be found behind it.
package netrpc
