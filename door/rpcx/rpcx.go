// Package rpcx is the wire of rpcx, versions 2 to 6: a door for its clients, which call a weft
// server on the port that it has, and a wire with which a weft client calls its servers.
//
// The path and the method of rpcx are weft's "Service.Method". Metadata travels both ways, and
// with it what rpcx has no other place for: the credential ("__AUTH"), the time that is left
// ("__ServerTimeout"), the text of an error ("__rpcx_error__"). Between two programs of weft the
// keys weft-code, weft-outcome, weft-reason, weft-message, weft-detail-N, weft-attempt,
// weft-priority and weft-wire carry what the wire lacks; a program of rpcx ignores them.
//
// Bodies are raw bytes, JSON, Protocol Buffers or MessagePack, as rpcx numbers them, and what a
// configuration adds. Generated messages of Protocol Buffers as JSON have the form that encoding/json gives them, as in rpcx. Payloads may be compressed by gzip, and by what a configuration adds.
//
// A server sends messages to its clients with Peer.Notify. The wire has no calls in that direction,
// no cancellation and no streams. A client that disconnects cancels its calls. Package transfer has the second
// connections that rpcx makes for streams and files.
package rpcx

import (
	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/codec/raw"
)

// Name is that of the wire in Peer.Wire, and the scheme of its addresses.
const Name = weft.WireRPCX

// The numbers of serializations. Up to 15 may be given by programs.
const (
	serialRaw = iota
	serialJSON
	serialProtobuf
	serialMsgpack
	serialThrift

	serials = 16
)

// The numbers of compressions. 2 to 7 may be given by programs.
const (
	compressNone = iota
	compressGzip

	compressions = 8
)

// serialNames are the names of codecs by their number, "" where there is none. thrift has no codec
// in weft's own packages.
func serialNames(more map[int]string) (names [serials]string) {
	names = [serials]string{serialRaw: "raw", serialJSON: "json", serialProtobuf: "protobuf", serialMsgpack: "msgpack", serialThrift: "thrift"}
	for n, name := range more {
		if n > serialMsgpack && n < serials {
			names[n] = name
		}
	}
	return names
}

// compressorNames are the names of compressors by their number, "" where there is none.
func compressorNames(more map[int]string) (names [compressions]string) {
	names[compressGzip] = "gzip"
	for n, name := range more {
		if n > compressGzip && n < compressions {
			names[n] = name
		}
	}
	return names
}

// numberOf is the number of a name; below zero: it has none.
func numberOf(names []string, name string) int {
	for n, other := range names {
		if other == name && name != "" {
			return n
		}
	}
	return -1
}

// ownCodecs are those that every rpcx program has.
func ownCodecs() [serials]codec.Codec {
	return [serials]codec.Codec{serialRaw: raw.New(), serialJSON: asRpcx(json.New()), serialProtobuf: protobuf.New(), serialMsgpack: msgpack.New()}
}

// asRpcx is a codec as rpcx has it: messages of Protocol Buffers as JSON have the form of encoding/json, and not that of protojson. A codec that a
// program has in place of weft's own stays as it is.
func asRpcx(c codec.Codec) codec.Codec {
	if c, ok := c.(interface{ Plain() codec.Codec }); ok {
		return c.Plain()
	}
	return c
}

// compressAbove is how many bytes a payload has at most that is not compressed: rpcx's own bound.
const compressAbove = 1024

// The keys of rpcx's metadata that have a meaning.
const (
	keyAuth    = "__AUTH"
	keyTimeout = "__ServerTimeout" // decimal milliseconds
	keyError   = "__rpcx_error__"
	keyServer  = "__ServerAddress" // a client sets it for itself
	keyAlias   = "__aliasAppliedKey"

	ownPrefix   = "weft-"
	keyCode     = ownPrefix + "code"
	keyOutcome  = ownPrefix + "outcome"
	keyReason   = ownPrefix + "reason"
	keyMessage  = ownPrefix + "message" // where the text of the error is another one
	keyDetail   = ownPrefix + "detail-" // and a number
	keyAttempt  = ownPrefix + "attempt"
	keyPriority = ownPrefix + "priority"

	authorization = "authorization" // of weft
)

// namesRoom is what the names of a frame, its lengths and what errors say may have beside the limits of
// metadata and messages.
const namesRoom = 16 << 10
