// Package thrift speaks Apache Thrift in both directions: a [Door] for its clients of any language, which call a weft server on the port
// that it has, and a [Wire] with which a weft client calls Thrift's servers.
//
// # Dialects
//
// The door tells by the first bytes of each message how it is encoded, and answers in the same way:
// the binary protocol, strict or not, the compact and the JSON one; with frames, without, and the first two with
// the headers of THeader. [Handler] and [WireHTTP] are for Thrift over HTTP.
//
// # Names
//
// The method "Service.Method" of weft is "Service:Method" of a client that multiplexes, and "Method"
// of one that does not. The first letter of the method may be a small one there.
//
// # Messages
//
// The fields of a request are the parameters of the method, and the reply is its result. Numbers and names of fields are those of tags such
// as `thrift:"name,1"`, or of weft's own, `weft:"1"`; without tags the fields are numbered from 1 on as they stand. Structs that the Thrift
// compiler has generated for Go read and write themselves. A request or a reply that is no struct is one parameter, or the result.
//
// # Errors
//
// An error of weft is a TApplicationException whose text begins with the code. [Throw] makes an exception that the method declares.
//
// # Generated code
//
// The command "weft generate" makes the Go code of a service from a .thrift file. It uses this package for what tags
// cannot say: [Set], [UUID], [BinaryKey] and [Exceptions].
package thrift

import (
	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/thrift/internal/plan"
)

// Config configures a door. The zero value, and a nil pointer to one, give safe defaults.
type Config struct {
	// Service is the service of methods that are called without a service's name. "": the only service that has a method of the name.
	Service string
	// Unordered lets replies go out as calls end. A client that has several calls open on a connection then must know their replies by
	// their sequence numbers, as those of Node.js do; other libraries take them for those of the first call that is open. Replies with
	// THeader always go out so.
	Unordered bool
}

// Door returns a door for clients of Thrift.
func Door(cfg *Config) weft.Door { return newDoor(cfg) }

// The keys of the annotations that the options make.
const (
	onewayKey = "thrift.oneway"
	singleKey = "thrift.parameter"
	nameKey   = "thrift.name"
)

// Oneway says that the method is declared oneway: its callers wait for no answer, and get none.
// Some clients, such as those of Go, do not say so in their calls.
func Oneway() weft.MethodOption { return weft.Annotate(onewayKey, "true") }

// Parameter says that the request is the only parameter of the method, under this name, as in "Reply method(1: Request name)". Without it
// the fields of the request are the parameters, unless the Thrift compiler has generated its type.
func Parameter(name string) weft.MethodOption {
	if !plan.Identifier(name) {
		return weft.InvalidOption(weft.Errorf(weft.InvalidArgument, "thrift: %q is no name of a parameter: letters, digits and _", name))
	}
	return weft.Annotate(singleKey, name)
}

// Name says what the method is called in Thrift, where that is not its name in Go.
func Name(name string) weft.MethodOption {
	if !plan.Identifier(name) {
		return weft.InvalidOption(weft.Errorf(weft.InvalidArgument, "thrift: %q is no name of a method: letters, digits and _", name))
	}
	return weft.Annotate(nameKey, name)
}
