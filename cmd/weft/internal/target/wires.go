package target

import (
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/connect"
	"github.com/weftrpc/weft/door/grpc"
	"github.com/weftrpc/weft/door/jsonrpc"
	"github.com/weftrpc/weft/door/netrpc"
	"github.com/weftrpc/weft/door/rpcx"
	"github.com/weftrpc/weft/door/thrift"
)

// nameless stands for a service where a server of JSON-RPC over HTTP has methods without one.
const nameless = "_"

// wires are those that addresses can name beside weft's own.
func wires() []weft.Wire {
	all := []weft.Wire{
		grpc.Wire(nil), grpc.SecureWire(nil), jsonrpc.Wire(), jsonrpc.WireOne(), jsonrpc.WebSocketWire(""), jsonrpc.SecureWebSocketWire(""),
		jsonrpc.WireHTTP(&jsonrpc.HTTPConfig{Service: nameless}), jsonrpc.SecureWireHTTP(&jsonrpc.HTTPConfig{Service: nameless}), netrpc.Wire(), netrpc.WireHTTP(""), rpcx.Wire(nil), rpcx.WireHTTP(nil),
		httpWire{"http"}, httpWire{"https"},
		connect.Wire(nil), connect.SecureWire(nil), connect.Wire(&connect.WireConfig{Scheme: "connect+h2c", HTTP2: true}),
	}
	return append(all, thriftWires()...)
}

// thriftWires are those of all dialects of Thrift, which a server does not tell: "thrift" has the binary protocol
// with frames, and each word behind it changes one of that; with "+http" or "+https" it is over HTTP, without frames.
func thriftWires() (all []weft.Wire) {
	for _, protocol := range []struct {
		word string
		is   thrift.Protocol
	}{{"", thrift.Binary}, {"-compact", thrift.Compact}} {
		for _, framing := range []struct {
			word string
			is   thrift.Framing
		}{{"", thrift.Framed}, {"-unframed", thrift.Unframed}, {"-theader", thrift.THeader}} {
			for _, multiplexed := range []string{"", "-multiplexed"} {
				all = append(all, thrift.Wire(&thrift.WireConfig{
					Scheme: "thrift" + protocol.word + framing.word + multiplexed, Protocol: protocol.is, Framing: framing.is, Multiplexed: multiplexed != "", MaxConns: 64,
				}))
			}
		}
		for _, multiplexed := range []string{"", "-multiplexed"} {
			cfg := thrift.HTTPConfig{Protocol: protocol.is, Multiplexed: multiplexed != ""}
			plain, secure := cfg, cfg
			plain.Scheme, secure.Scheme = "thrift"+protocol.word+multiplexed+"+http", "thrift"+protocol.word+multiplexed+"+https"
			all = append(all, thrift.WireHTTP(&plain), thrift.SecureWireHTTP(&secure))
		}
	}
	return all
}

// Untyped reports whether a wire has no messages without types: of gob and Thrift, both ends know the types.
func Untyped(scheme string) bool {
	return strings.HasPrefix(scheme, "netrpc") || strings.HasPrefix(scheme, "thrift")
}
