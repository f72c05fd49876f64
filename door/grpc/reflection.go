package grpc

import (
	"errors"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/grpc/internal/reflection"
	"github.com/weftrpc/weft/door/grpc/internal/routes"
)

// RegisterReflection registers the services grpc.reflection.v1.ServerReflection and grpc.reflection.v1alpha.ServerReflection, by which grpcurl,
// Postman and others list the methods of a server and call them without a .proto file. They are methods like others: authentication, limits and
// access rules of the server hold for them.
//
// A generated service is described by its own descriptor, every other one by the types of its messages, as package codec/protobuf/descriptors
// describes them. A method whose messages cannot be those of Protocol Buffers is left out.
func RegisterReflection(srv *weft.Server) error {
	r := reflection.New(srv, grpcNames)
	doc := weft.Doc("ServerReflectionInfo describes the services of the server.")
	return errors.Join(
		weft.HandleStream(srv, "grpc.reflection.v1.ServerReflection.ServerReflectionInfo", r.Serve, doc),
		weft.HandleStream(srv, "grpc.reflection.v1alpha.ServerReflection.ServerReflectionInfo", r.Serve, doc))
}

// grpcNames are the names that a method has for gRPC's clients.
func grpcNames(m weft.MethodInfo) []string {
	names := append([]string{m.Name}, m.Aliases...)
	if path := m.Annotations[routes.PathKey]; path != "" {
		names = append(names, routes.MethodOf(path))
	}
	return names
}
