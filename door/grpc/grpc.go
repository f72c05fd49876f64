// Package grpc is gRPC over HTTP/2: a [Door] for its clients of any language, which call a weft server on the port that it has, and a [Wire] with
// which a weft client calls gRPC's servers. Both have an HTTP/2 engine of their own, in the style of weft's own wire; the module needs neither
// grpc-go nor golang.org/x/net.
//
// # Names
//
// The method "pkg.Service.Method" of weft is "/pkg.Service/Method" of gRPC, in both directions. A method whose name in a .proto is another one gets
// the option [Path] when it is registered.
//
// # Messages
//
// The content type says how messages are encoded: application/grpc and application/grpc+proto by
// weft's codec protobuf, application/grpc+json by the codec json, and so on by name.
//
// # Metadata
//
// Keys are in lower case. Values are printable ASCII, and any bytes under keys that end in "-bin". The metadata of a reply travels in the trailers,
// unless Config.Leading says that its key belongs in front of the first message. A caller gets both.
//
// # Errors
//
// The codes are gRPC's own. Message, reason and details travel in a google.rpc.Status: the reason as a google.rpc.ErrorInfo of the domain "weft",
// Error.WithRetryAfter as grpc-retry-pushback-ms. Whether a call that failed has run is told to weft's clients by the trailer weft-outcome, and
// otherwise follows from what HTTP/2 says: a stream that was refused, or is above the last one of a GOAWAY, has not.
package grpc

import (
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/grpc/internal/routes"
)

// Path gives a method a second path for gRPC's clients, such as "/helloworld.Greeter/SayHello", beside the one that follows from its name. A path
// that is not of the form "/pkg.Service/Method" is an error of the registration.
func Path(path string) weft.MethodOption {
	service, method, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !ok || path[0] != '/' || service == "" || method == "" || strings.Contains(method, "/") {
		return weft.InvalidOption(weft.Errorf(weft.InvalidArgument, "grpc: the path %q of a method is not of the form /pkg.Service/Method", path))
	}
	return weft.Annotate(routes.PathKey, path)
}

// Config configures a door. The zero value, and a nil pointer to one, give safe defaults.
type Config struct {
	// Leading reports whether metadata of a reply under a key travels in the header in front of
	// the first message and not in the trailers; nil: none does.
	Leading func(key string) bool
	// MaxAge is how old a connection may get: then it is drained, so that its client makes
	// another one, perhaps to another server; 0: as old as it gets.
	MaxAge time.Duration
	// Other makes, for each connection, what handles the requests of HTTP/2 that are none of gRPC.
	// Package door/connect sets it. nil: they are answered with 405 or 415 and a text.
	Other func(c *weft.DoorConn, p *weft.Peer) (Other, error)
}
