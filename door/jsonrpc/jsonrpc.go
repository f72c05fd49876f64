// Package jsonrpc speaks JSON-RPC 2.0, and 1.0 as Go's net/rpc/jsonrpc has it: a door for its
// clients, and wires to its servers, over TCP, over the POST of HTTP and over WebSocket.
//
// Over TCP, objects stand one behind the other, with or without white space between them; an
// object with the member "jsonrpc" is one of 2.0, one without it of 1.0. A batch is an array of
// objects of 2.0. Over HTTP, [Handler] is given to package door/http; it serves WebSocket too, where each message is
// an object or a batch.
//
// A method is called Service.Method. The params are the request as an object, or an array: with
// one object in it that is the request, as net/rpc/jsonrpc sends it; otherwise its elements are
// the fields of the request in the order of their declaration. A request that is a slice takes the
// whole array.
//
// An error of weft has the code -32000 less the number of its code, from -32001 to -32016, or one
// of the specification: -32601 for a method that does not exist, -32602 for params that cannot be
// decoded, -32603 for Internal. Its member data has code, outcome, reason and details. In 1.0 an
// error is a text, as of package door/netrpc. What a server of another kind says of an error of its own, [Caught] finds.
package jsonrpc

import (
	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/webjson"
)

// Config configures a door. The zero value, and a nil pointer to one, give safe defaults.
type Config struct {
	// Service is the service of methods that are called by names without a dot; "": there are
	// none.
	Service string
	// MaxBatch is how many requests a batch may have. 0: DefaultMaxBatch.
	MaxBatch int
}

// DefaultMaxBatch is how many requests a batch may have.
const DefaultMaxBatch = 100

// Door returns a door for clients of JSON-RPC over TCP and the like.
func Door(cfg *Config) weft.Door { return newDoor(cfg) }

func newDoor(cfg *Config) *door {
	d := &door{codec: webjson.New(false)}
	if cfg != nil {
		d.cfg = *cfg
	}
	if d.cfg.MaxBatch <= 0 {
		d.cfg.MaxBatch = DefaultMaxBatch
	}
	return d
}
