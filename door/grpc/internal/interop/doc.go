// Package interop tries the door and the wire of gRPC against grpc-go, and the header
// compression against golang.org/x/net. It is a module of its own, so that neither reaches the
// builds of users.
package interop
